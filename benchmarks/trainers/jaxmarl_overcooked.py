"""IPPO on JaxMARL's Overcooked: CPU-seconds until two chefs serve 11 soups, the peer of `time_to_result.cramped_room`.

    python -m benchmarks.trainers.jaxmarl_overcooked --seeds 0 1 2 --out jaxmarl.jsonl

It needs an environment of its own: `pip install "jaxmarl[algs]" distrax`. JaxMARL's package has worlds and no training
script, so the loop is ours; the constants are those that JaxMARL publishes for feed-forward IPPO in Overcooked
(`CONSTANTS`). Playing, learning and the resets of episodes are one compiled function, as JAX code is meant to be.
It runs on one core. The protocol is that of `time_to_result.py`: sampled actions, 500 episodes a validation, the first
of two consecutive validations with 11 soups, and no validation in the clock. Compilation has a clock of its own. Rows
have wall seconds, too, which count where jax has a GPU.
"""

import argparse
import functools
import json
import os
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from types import SimpleNamespace
from typing import Any, NamedTuple

import flax.linen as nn
import jax
import jax.numpy as jnp
import jaxmarl
import numpy as np
import optax
from flax.training.train_state import TrainState
from jaxmarl.environments.overcooked import overcooked_layouts
from numpy.typing import NDArray

CONSTANTS = SimpleNamespace(
    hidden=64, envs=16, fragment=128, epochs=4, minibatches=4, learning_rate=2.5e-4, gamma=0.99, gae_lambda=0.95,
    clip_range=0.2, entropy_coef=0.01, value_coef=0.5, max_grad_norm=0.5, budget=5_000_000, shaping_env_steps=2_500_000,
)  # fmt: skip
"""Published constants; the learning rate falls linearly over `budget`, shaped rewards over `shaping_env_steps`."""
BATCH = CONSTANTS.envs * CONSTANTS.fragment
SECONDS = "cpu_seconds", "wall_seconds"
SOUP, SOUPS, EPISODES, EPISODE_STEPS = 20.0, 11.0, 500, 400


class Chef(nn.Module):
    """Policy and value of one chef, two dense layers of `hidden` each; both chefs share the weights."""

    actions: int

    @nn.compact
    def __call__(self, planes: jax.Array) -> tuple[jax.Array, jax.Array]:
        """Planes [..., H, W, 26] -> log-probabilities [..., A] and values [...]."""

        def tower(out: int, scale: float) -> jax.Array:
            x = planes.reshape(*planes.shape[:-3], -1).astype(jnp.float32)
            for _ in range(2):
                x = nn.tanh(nn.Dense(CONSTANTS.hidden, kernel_init=nn.initializers.orthogonal(2**0.5))(x))
            return nn.Dense(out, kernel_init=nn.initializers.orthogonal(scale))(x)

        return jax.nn.log_softmax(tower(self.actions, 0.01)), tower(1, 1.0)[..., 0]


class Step(NamedTuple):
    """Data of a fragment for the learner; each [T, B, N] or [T, B, N, ...]."""

    planes: jax.Array
    action: jax.Array
    log_prob: jax.Array
    value: jax.Array
    reward: jax.Array
    done: jax.Array


class Playing(NamedTuple):
    """Kitchens in play and how far training is."""

    train: TrainState
    state: Any
    planes: jax.Array
    env_steps: jax.Array
    key: jax.Array


class Ippo:
    """IPPO in one kitchen; `begin`, `update` and `soups` are compiled."""

    def __init__(self, layout: str) -> None:
        self.env = jaxmarl.make("overcooked", layout=overcooked_layouts[layout], max_steps=EPISODE_STEPS)
        self.chef = Chef(self.env.action_space(self.env.agents[0]).n)
        self.begin, self.update = jax.jit(self._begin), jax.jit(self._update)
        self.soups = jax.jit(self._soups)

    def _reset(self, key: jax.Array, envs: int) -> tuple[jax.Array, Any]:
        planes, state = jax.vmap(self.env.reset)(jax.random.split(key, envs))
        return self._join(planes), state

    def _join(self, by_agent: dict[str, jax.Array]) -> jax.Array:
        return jnp.stack([by_agent[name] for name in self.env.agents], axis=1)

    def _step(
        self, key: jax.Array, state: Any, action: jax.Array
    ) -> tuple[jax.Array, Any, jax.Array, jax.Array, jax.Array]:
        """Actions [B, N] -> planes, state, soups' reward, shaped reward, end of the episode, each [B, N]."""
        keys = jax.random.split(key, len(action))
        by_agent = {name: action[:, row] for row, name in enumerate(self.env.agents)}
        planes, state, reward, done, info = jax.vmap(self.env.step)(keys, state, by_agent)
        return self._join(planes), state, *map(self._join, (reward, info["shaped_reward"], done))

    def _begin(self, seed: jax.Array) -> Playing:
        """Fresh weights and kitchens."""
        key, for_weights, for_kitchens = jax.random.split(jax.random.PRNGKey(seed), 3)
        planes, state = self._reset(for_kitchens, CONSTANTS.envs)
        updates = CONSTANTS.budget // BATCH
        each = CONSTANTS.epochs * CONSTANTS.minibatches
        optimiser = optax.chain(
            optax.clip_by_global_norm(CONSTANTS.max_grad_norm),
            optax.adam(lambda count: CONSTANTS.learning_rate * (1 - (count // each) / updates), eps=1e-5),
        )
        train = TrainState.create(apply_fn=self.chef.apply, params=self.chef.init(for_weights, planes), tx=optimiser)
        return Playing(train, state, planes, jnp.int32(0), key)

    def _play(self, playing: Playing, _: None) -> tuple[Playing, Step]:
        """One env step of all kitchens."""
        key, for_action, for_step = jax.random.split(playing.key, 3)
        log_probs, value = self.chef.apply(playing.train.params, playing.planes)
        action = jax.random.categorical(for_action, log_probs)
        planes, state, reward, shaped, done = self._step(for_step, playing.state, action)
        share = jnp.clip(1 - playing.env_steps / CONSTANTS.shaping_env_steps, 0, 1)
        step = Step(playing.planes, action, _taken(log_probs, action), value, reward + share * shaped, done)
        return Playing(playing.train, state, planes, playing.env_steps + CONSTANTS.envs, key), step

    def _update(self, playing: Playing) -> Playing:
        """A fragment, and its epochs of PPO."""
        playing, steps = jax.lax.scan(self._play, playing, None, CONSTANTS.fragment)
        advantages = _gae(steps, self.chef.apply(playing.train.params, playing.planes)[1])
        samples = jax.tree.map(
            lambda x: x.reshape(-1, *x.shape[3:]), (steps.planes, steps.action, steps.log_prob, steps.value, advantages)
        )
        key, *for_epochs = jax.random.split(playing.key, CONSTANTS.epochs + 1)
        train, _ = jax.lax.scan(functools.partial(self._epoch, samples=samples), playing.train, jnp.stack(for_epochs))
        return playing._replace(train=train, key=key)

    def _epoch(self, train: TrainState, key: jax.Array, samples: tuple[jax.Array, ...]) -> tuple[TrainState, None]:
        order = jax.random.permutation(key, len(samples[1])).reshape(CONSTANTS.minibatches, -1)

        def learn(train: TrainState, rows: jax.Array) -> tuple[TrainState, None]:
            minibatch = [part[rows] for part in samples]
            return train.apply_gradients(grads=jax.grad(self._loss)(train.params, *minibatch)), None

        return jax.lax.scan(learn, train, order)

    def _loss(self, params: Any, *minibatch: jax.Array) -> jax.Array:
        """PPO's clipped loss, with the clipped value error."""
        planes, action, log_prob, old_value, advantage = minibatch
        log_probs, value = self.chef.apply(params, planes)
        target = old_value + advantage
        near = old_value + jnp.clip(value - old_value, -CONSTANTS.clip_range, CONSTANTS.clip_range)
        value_error = 0.5 * jnp.maximum((value - target) ** 2, (near - target) ** 2).mean()
        ratio = jnp.exp(_taken(log_probs, action) - log_prob)
        normal = (advantage - advantage.mean()) / (advantage.std() + 1e-8)
        clipped = jnp.clip(ratio, 1 - CONSTANTS.clip_range, 1 + CONSTANTS.clip_range)
        policy_loss = -jnp.minimum(ratio * normal, clipped * normal).mean()
        entropy = -(jnp.exp(log_probs) * log_probs).sum(-1).mean()
        return policy_loss + CONSTANTS.value_coef * value_error - CONSTANTS.entropy_coef * entropy

    def _soups(self, params: Any, key: jax.Array) -> jax.Array:
        """Mean number of soups in `EPISODES` whole episodes, with sampled actions."""
        key, for_kitchens = jax.random.split(key)

        def play(carry: tuple[jax.Array, Any], key: jax.Array) -> tuple[tuple[jax.Array, Any], jax.Array]:
            for_action, for_step = jax.random.split(key)
            action = jax.random.categorical(for_action, self.chef.apply(params, carry[0])[0])
            planes, state, reward, *_ = self._step(for_step, carry[1], action)
            return (planes, state), reward[:, 0].mean()

        keys = jax.random.split(key, EPISODE_STEPS)
        return jax.lax.scan(play, self._reset(for_kitchens, EPISODES), keys)[1].sum() / SOUP


def _taken(log_probs: jax.Array, action: jax.Array) -> jax.Array:
    return jnp.take_along_axis(log_probs, action[..., None], axis=-1)[..., 0]


def _gae(steps: Step, last_value: jax.Array) -> jax.Array:
    """Generalised advantage estimates, [T, B, N]."""

    def back(carry: tuple[jax.Array, jax.Array], step: Step) -> tuple[tuple[jax.Array, jax.Array], jax.Array]:
        following, next_value = carry
        alive = 1 - step.done
        delta = step.reward + CONSTANTS.gamma * next_value * alive - step.value
        advantage = delta + CONSTANTS.gamma * CONSTANTS.gae_lambda * alive * following
        return (advantage, step.value), advantage

    return jax.lax.scan(back, (jnp.zeros_like(last_value), last_value), steps, reverse=True)[1]


def timed(call: Callable[..., Any], *arguments: Any) -> tuple[Any, NDArray[np.float64]]:
    """The result, and the seconds until it is there, [2] float64: CPU time of this process, wall time."""
    began = np.array([time.process_time(), time.perf_counter()])
    result = jax.block_until_ready(call(*arguments))
    return result, np.array([time.process_time(), time.perf_counter()]) - began


def time_to(ippo: Ippo, seed: int, every: int) -> dict[str, Any]:
    """Train a seed: seconds and env steps to the first of two validations in a row with `SOUPS`; None if never."""
    playing = ippo.begin(seed)
    seconds, validated_at, first = np.zeros(2), 0, None
    for update in range(1, CONSTANTS.budget // BATCH + 1):
        playing, spent = timed(ippo.update, playing)
        seconds += spent
        if update * BATCH - validated_at < every:
            continue
        validated_at = update * BATCH
        soups = float(ippo.soups(playing.train.params, jax.random.PRNGKey(400)))
        print(f"seed {seed}: {validated_at} env steps, {seconds[0]:.1f} CPU-seconds, {soups:.2f} soups", flush=True)
        if soups < SOUPS:
            first = None
        elif first is not None:
            return first
        else:
            first = dict(zip(SECONDS, seconds.round(1).tolist(), strict=True)) | {"env_steps": validated_at}
    return dict.fromkeys((*SECONDS, "env_steps"))


def main(arguments: Sequence[str] | None = None) -> None:
    """Train each seed, one after the other, and add a line of JSON for each."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--layout", default="cramped_room", choices=sorted(overcooked_layouts), help="Kitchen's name.")
    parser.add_argument("--seeds", type=int, nargs="+", default=[0, 1, 2, 3, 4], help="Seeds of the trials.")
    parser.add_argument("--every", type=int, default=20_000, help="Number of env steps between validations.")
    parser.add_argument("--out", type=Path, required=True, help="File to which each trial that ends adds a line.")
    flags = parser.parse_args(arguments)
    os.sched_setaffinity(0, {min(os.sched_getaffinity(0))})  # one core, whatever XLA starts
    ippo = Ippo(flags.layout)
    compilation = timed(ippo.update.lower(ippo.begin(0)).compile)[1][0]
    timed(ippo.update, ippo.begin(0))  # a compiled function's first call is slow, too
    for seed in flags.seeds:
        row = {"layout": flags.layout, "seed": seed, **time_to(ippo, seed, flags.every), "compilation": compilation}
        with flags.out.open("a", encoding="utf-8") as file:
            file.write(json.dumps(row) + "\n")


if __name__ == "__main__":
    main()
