"""Teams whose agents decide at different times, learning in the joint form: a slow recursion over joint decisions.

At each tick at which anybody decides the team decides; its decision lasts until anybody decides again, or until the
episode or the fragment ends. The team's value at a tick is the sum of the values of the agents in the game. This
recursion knows nothing of lambdas on steps or of carried values.
"""

import numpy as np
import pytest
import torch
from torch.utils._python_dispatch import TorchDispatchMode

from rl_models.algorithms.impala import Impala
from rl_models.algorithms.ppo import Ppo
from rl_models.distributions.mixture import MixtureOfMarginals
from rl_models.losses.policy_gradient import Steps, values_of_decisions
from rl_models.policy import TeamOutput
from rl_models.schedule import Progress

WORLDS, TIME, GAMMA = 8, 12, 0.9


def story(agents, seed, leave=0.08):
    """Fragments with macro actions, terminations, truncations and agents that leave the game."""
    random = np.random.default_rng(seed)
    ticks = (WORLDS, TIME)
    ended = random.random(ticks) < 0.15
    terminated = ended & (random.random(ticks) < 0.5)
    is_first = np.concatenate([np.ones((WORLDS, 1), bool), ended], axis=1)
    alive = np.ones((WORLDS, TIME + 1, agents), bool)
    for tick in range(TIME):
        stays = alive[:, tick] & (random.random((WORLDS, agents)) >= leave)
        stays[~stays.any(1)] = alive[:, tick][~stays.any(1)]
        alive[:, tick + 1] = stays | is_first[:, tick + 1, None]
    drawn = {"reward": ticks, "values": ticks, "final_values": ticks, "last_values": ticks[:1]}
    numbers = {name: random.normal(size=(*shape, agents)) for name, shape in drawn.items()}
    decides = random.random((WORLDS, TIME + 1, agents)) < 0.35
    masks = {"terminated": terminated, "truncated": ended & ~terminated, "is_first": is_first}
    return numbers | masks | {"obs/decides": decides, "obs/alive": alive}


def tensors(data):
    return {name: torch.from_numpy(value) for name, value in data.items()}


def acts(data, world, tick):
    return (data["obs/decides"] & data["obs/alive"])[world, tick].any()


def decision(data, world, tick):
    """Rewards [N] up to the next joint decision, discount, values [N] of what follows, and the next decision's tick.

    Whoever has left earns nothing more and nothing follows for it.
    """
    rewards, discount, alive = 0.0, 1.0, data["obs/alive"][world]
    while True:
        rewards = rewards + discount * data["reward"][world, tick] * alive[tick]
        discount *= GAMMA
        if data["terminated"][world, tick]:
            return rewards, discount, 0.0 * rewards, None
        if data["truncated"][world, tick]:
            return rewards, discount, data["final_values"][world, tick] * alive[tick], None
        tick += 1
        if tick == TIME:
            return rewards, discount, data["last_values"][world] * alive[tick], None
        if acts(data, world, tick):
            return rewards, discount, data["values"][world, tick] * alive[tick], tick


def slow_gae(data, world, tick, lambda_):
    """Advantages [N] at a joint decision; their sum is the team's."""
    rewards, discount, after, following = decision(data, world, tick)
    value = data["values"][world, tick] * data["obs/alive"][world, tick]
    rest = 0.0 if following is None else slow_gae(data, world, following, lambda_)
    return rewards + discount * after - value + discount * lambda_ * rest * data["obs/alive"][world, tick]


def slow_target(data, world, tick, lambda_):
    """What the agents' values [N] learn at any tick; where nobody decides, what is left of the joint decision."""
    rewards, discount, after, following = decision(data, world, tick)
    weight = lambda_ if acts(data, world, tick) else 1.0
    rest = 0.0 if following is None else weight * slow_gae(data, world, following, lambda_)
    return rewards + discount * (after + rest)


@pytest.mark.parametrize("lambda_", [0.0, 0.7, 1.0])
@pytest.mark.parametrize("agents", [2, 3])
def test_gae_of_a_team_is_that_of_its_joint_decisions(agents, lambda_):
    data = story(agents, seed=agents)
    prepared = Ppo(gamma=GAMMA, gae_lambda=lambda_, normalize_advantages=False).prepare(tensors(data))
    for world, tick in np.ndindex(WORLDS, TIME):
        present = data["obs/alive"][world, tick]
        target = slow_target(data, world, tick, lambda_)
        np.testing.assert_allclose(prepared["value_targets"][world, tick][present], target[present], atol=1e-5)
        if acts(data, world, tick):
            advantage = slow_gae(data, world, tick, lambda_).sum()
            np.testing.assert_allclose(prepared["advantages"][world, tick], [advantage], atol=1e-5)


def slow_vtrace(data, ratio, clips, world, tick):
    """Targets and advantages [N] at a joint decision or a first step; the ratio is that of the joint action."""
    rho, trace = (min(clip, ratio[world, tick]) for clip in clips)
    rewards, discount, after, following = decision(data, world, tick)
    value = data["values"][world, tick] * data["obs/alive"][world, tick]
    better = after if following is None else slow_vtrace(data, ratio, clips, world, following)[0]
    better = better * (after != 0)  # who left on the way has no target there
    if not acts(data, world, tick):  # what is left of the joint decision of the fragment before
        return rewards + discount * better, None
    error = rho * (rewards + discount * after - value)
    return value + error + discount * trace * (better - after), rho * (rewards + discount * better - value)


@pytest.mark.parametrize("clips", [(1.0, 1.0), (1.4, 0.6), (1e9, 1e9)])
@pytest.mark.parametrize("agents", [2, 3])
def test_vtrace_of_a_team_is_that_of_its_joint_decisions(agents, clips):
    """Read off the losses: the policy gradient of joint actions, the error of values at decisions and first steps."""
    data = story(agents, seed=10 + agents)
    random = np.random.default_rng(agents)
    sampled = random.normal(size=(WORLDS, TIME))
    logits = torch.from_numpy(random.normal(size=(WORLDS, TIME + 1, agents, 1, 2)))
    policy = MixtureOfMarginals.from_logits(torch.zeros(WORLDS, TIME + 1, 1, dtype=logits.dtype), logits)
    values = np.concatenate([data["values"], data["last_values"][:, None]], axis=1)
    actions = torch.from_numpy(random.integers(2, size=(WORLDS, TIME, agents)))
    batch = tensors(data) | {"actions": actions, "log_prob": torch.from_numpy(sampled)}
    chosen = logits.log_softmax(-1)[:, :-1, :, 0].gather(-1, actions[..., None])[..., 0].numpy()
    log_prob = (chosen * (data["obs/decides"] & data["obs/alive"])[:, :-1]).sum(-1)
    ratio = np.exp(log_prob - sampled)

    objective = Impala(gamma=GAMMA, clip_rho=clips[0], clip_c=clips[1], value_loss_at="decisions")
    output = TeamOutput(policy, torch.from_numpy(values), {}, {})
    statistics = objective.loss(output, objective.prepare(batch), Progress())[1]

    moments = [moment for moment in np.ndindex(WORLDS, TIME) if acts(data, *moment) or moment[1] == 0]
    slow = [(moment, *slow_vtrace(data, ratio, clips, *moment)) for moment in moments]
    wanted = np.mean([-log_prob[moment] * advantages.sum() for moment, _, advantages in slow if acts(data, *moment)])
    np.testing.assert_allclose(statistics["loss/policy"], wanted, rtol=1e-5)
    assert any(advantages is None for _, _, advantages in slow)
    errors = [((targets - data["values"][at]) ** 2)[data["obs/alive"][at]].sum() for at, targets, _ in slow]
    np.testing.assert_allclose(statistics["loss/value"], np.mean(errors), rtol=1e-5)


def test_carrying_values_back_costs_as_much_per_step_in_a_long_fragment_as_in_a_short_one():
    class Written(TorchDispatchMode):
        numbers = 0

        def __torch_dispatch__(self, function, types, args=(), kwargs=None):
            found = function(*args, **(kwargs or {}))
            self.numbers += found.numel() if isinstance(found, torch.Tensor) else 0
            return found

    def cost(time):
        ones = torch.ones(4, time, 2)
        steps = Steps(ones, ones, ones, ones, torch.arange(time)[None, :, None].expand(4, time, 2) % 3 == 0)
        with Written() as written:
            values_of_decisions(steps, ones, lambda values: values)
        return written.numbers

    assert cost(160) <= 10 * cost(16)
