"""EnDi with both backbones: a mask hides the masked entities only, and gradients reach the right weights."""

import pytest
import torch

from rl_models.layers.tracks import tracks
from rl_models.losses.division import AgentModellingLoss, DivisionLoss
from rl_models.losses.grounding import GroundingLoss
from rl_models.networks.entity_divider import (
    ENTITIES,
    MASK,
    OFFSETS,
    OTHERS,
    PROBABILITY,
    DividedReadingConfig,
    choose_first,
    nearest_agents,
)
from rl_models.networks.entity_divider_emma import NeighbourConvolution
from rl_models.networks.reading import ReadingSizes
from rl_models.schedule import Progress, Schedule
from rl_models.teams.emma_team import EmmaTeamConfig, emma_team
from rl_models.teams.reader_team import ReaderTeamConfig, reader_team
from tests.rl_models.networks import small, small_emma, small_matching
from tests.rl_models.networks.small import run
from tests.rl_models.networks.small_endi import (
    BACKBONES,
    EMMA,
    IS_ENTITY,
    MATCHING,
    READING,
    observations,
    team,
    with_masks,
)

both = pytest.mark.parametrize("backbone", BACKBONES)


def plain(backbone, policy, agents=2):
    """The backbone without a divider, with this divided team's weights."""
    if backbone == "reading":
        one = reader_team(ReaderTeamConfig(READING.backbone), small.sizes(agents), small.ACTIONS)
    elif backbone == "matching":
        one = reader_team(ReaderTeamConfig(MATCHING.backbone), small_matching.sizes(agents), small.ACTIONS)
    else:
        sizes = small_emma.sizes(agents)
        one = emma_team(EmmaTeamConfig(EMMA.backbone), sizes, small_emma.ACTIONS, small_emma.words)
    one.load_state_dict({name: policy.state_dict()[name] for name in one.state_dict()})
    return one.double()


def without(backbone, obs, gone):
    """Observations in which some entities, [B, T, N, E] bool, are not there at all: nothing else is changed."""
    if "grid" in obs:
        return obs | {"grid": obs["grid"].masked_fill(gone.view(obs["grid"].shape), 0)}
    track = tracks(obs["symbols"].flatten(0, 2), obs["cells"].flatten(0, 2), 10).view(obs["symbols"].shape)
    is_gone = torch.nn.functional.pad(gone, (0, 1))[..., None, :].expand(*track.shape[:-1], -1).gather(-1, track)
    return obs | {name: obs[name].masked_fill(is_gone, 0) for name in ("symbols", "cells")}


def expectations(policy, backbone, network, obs):
    """What a divided team expects of the others from these observations, as they are."""
    if "grid" in obs:
        return policy.network.others(network(obs, {}, None).features)
    seen = []
    network.body.register_forward_pre_hook(lambda _, inputs: seen.append(inputs))
    network(obs, {}, None)
    return policy.network.others(network.body.grid(*seen[0])).unflatten(0, obs["symbols"].shape[:3])


def masks_of(case, entities, seed=0):
    """Masks [K, E] of one kind: any, everything but one entity, all, none."""
    if case == "any":
        return torch.randint(2, entities.shape, generator=torch.Generator().manual_seed(seed)).double()
    mask = torch.full(entities.shape, float(case != "none"), dtype=torch.double)
    if case == "all but one":
        first = entities.int().argmax(-1, keepdim=True)
        mask.scatter_(-1, first, 0.0)
    return mask


@both
@pytest.mark.parametrize("case", ["any", "all but one", "all", "none"])
def test_a_mask_hides_exactly_what_it_masks(backbone, case, monkeypatch):
    """The policy sees a world without the others' entities; what is expected of them, one without one's own."""
    policy, obs = team(backbone), observations(backbone)
    with_masks(monkeypatch, lambda division: masks_of(case, division.entities))
    output = run(policy, obs)
    mask, entities = output.extras[MASK] > 0, output.extras[ENTITIES]
    alone = plain(backbone, policy)
    seen = run(alone, without(backbone, obs, entities & ~mask))
    torch.testing.assert_close(output.policy.log_marginals, seen.policy.log_marginals, atol=1e-12, rtol=0)
    torch.testing.assert_close(output.values, seen.values, atol=1e-12, rtol=0)
    expected = expectations(policy, backbone, alone.network, without(backbone, obs, mask))
    torch.testing.assert_close(output.extras[OTHERS], expected, atol=1e-12, rtol=0)
    if case == "all but one":
        assert not torch.allclose(output.values, run(alone, obs).values)


@both
def test_only_entities_have_a_mask(backbone):
    obs = observations(backbone)
    extras = run(team(backbone), obs).extras
    is_grid = "grid" in obs
    wanted = IS_ENTITY[backbone][obs["grid"].long()].flatten(3) if is_grid else obs["symbols"][..., -1, :] > 0
    assert torch.equal(extras[ENTITIES], wanted)
    assert 0 < extras[MASK][wanted].mean() < 1
    assert not extras[MASK][~wanted].any()
    assert not extras[PROBABILITY][~wanted].any()


@both
def test_noise_decides_the_mask_and_without_it_the_likelier_side_is_taken(backbone):
    policy, obs = team(backbone), observations(backbone)
    likely = run(policy, observations(backbone, noise=False)).extras
    assert torch.equal(likely[MASK] > 0, likely[PROBABILITY] > 0.5)
    again, other = (run(policy, obs | {"noise": noise}).extras for noise in (obs["noise"], 1 - obs["noise"]))
    assert torch.equal(run(policy, obs).extras[MASK], again[MASK])
    assert not torch.equal(other[MASK], again[MASK])
    torch.testing.assert_close(other[PROBABILITY], likely[PROBABILITY])
    never = run(policy, obs | {"noise": torch.full_like(obs["noise"], 1e-6)}).extras
    assert never[MASK].sum() == 0


@both
def test_an_agents_noise_is_its_own(backbone):
    policy, obs = team(backbone, agents=3), observations(backbone, agents=3)
    other = obs["noise"].clone()
    other[:, :, 1] = 1 - other[:, :, 1]
    ours, theirs = (run(policy, obs | {"noise": noise}).extras[MASK] for noise in (obs["noise"], other))
    for agent in range(3):
        assert torch.equal(ours[:, :, agent], theirs[:, :, agent]) == (agent != 1)


@both
@pytest.mark.parametrize("agents", [2, 3])
def test_offsets_are_from_oneself_and_from_the_nearest_other(backbone, agents):
    obs = observations(backbone, agents, batch=2, time=2)
    extras = run(team(backbone, agents), obs).extras
    height, width = obs["grid"].shape[3:5] if "grid" in obs else (10, 10)
    for b, t, n, e in (extras[ENTITIES]).nonzero().tolist():
        cell = e // 2 if "grid" in obs else int(obs["cells"][b, t, n, -1, e])
        if "grid" in obs:
            places = obs["position"][b, t, n].tolist()
        else:
            places = [divmod(avatar, 10) for avatar in obs["agent_cells"][b, t, n, -1].tolist()]
        row, column = divmod(cell, width)
        offsets = [((column - x) / width, (row - y) / height) for y, x in places]
        found = extras[OFFSETS][b, t, n, e]
        torch.testing.assert_close(found[0].double(), torch.tensor(offsets[0]).double())
        nearest = min(abs(x) + abs(y) for x, y in offsets[1:])
        assert found[1].abs().sum().item() == pytest.approx(nearest, abs=1e-6)


@both
def test_attention_that_is_shown_is_the_policys(backbone, monkeypatch):
    """Where nothing is hidden it is the backbone's own."""
    policy, obs = team(backbone), observations(backbone)
    alone = plain(backbone, policy)
    with_masks(monkeypatch, lambda division: masks_of("all", division.entities))
    maps = []
    for one in (policy, alone):
        one.network.shows_attention = True
        maps.append({name: value for name, value in run(one, obs).extras.items() if name.startswith("attention/")})
    assert maps[0].keys() == maps[1].keys() != set()
    torch.testing.assert_close(maps[0], maps[1], atol=1e-12, rtol=0)


def batch_of(obs):
    shape = obs["noise"].shape[:3]
    actions = torch.randint(5, shape, generator=torch.Generator().manual_seed(3))
    return {"reward": torch.zeros(shape), "actions": actions}


def gradients(policy, loss):
    policy.zero_grad(set_to_none=True)
    loss.backward()
    return {name for name, weight in policy.named_parameters() if weight.grad is not None and weight.grad.any()}


DIVIDER = {
    "reading": {"network.goal_stack", "network.division"},
    "matching": {"network.goal.place", "network.goal.with_goal", "network.goal.of_pair", "network.division"},
    "emma": {"network.goal_symbols", "network.goal_values", "network.goal_offsets", "network.goal_agents"}
    | {"network.division"},
}


def parts_in(names, backbone):
    return {part for part in DIVIDER[backbone] if any(name.startswith(part) for name in names)}


@both
def test_agent_modelling_reaches_the_divider_through_the_mask_and_no_other_way(backbone, monkeypatch):
    policy, obs = team(backbone), observations(backbone)
    loss, statistics = AgentModellingLoss()(run(policy, obs), batch_of(obs), Progress())
    reached = gradients(policy, loss)
    assert parts_in(reached, backbone) == DIVIDER[backbone]
    assert not any(name.startswith(("policy_head", "value_head")) for name in reached)
    with_masks(monkeypatch, lambda division: division.mask.detach())
    loss, same = AgentModellingLoss()(run(policy, obs), batch_of(obs), Progress())
    reached = gradients(policy, loss)
    assert parts_in(reached, backbone) == set()
    assert any(name.startswith("network.others") for name in reached)
    assert same["loss/agent_modelling"] == statistics["loss/agent_modelling"]


@both
def test_the_policys_own_loss_reaches_the_divider_too(backbone):
    policy, obs = team(backbone), observations(backbone)
    output = run(policy, obs)
    reached = gradients(policy, output.policy.log_prob(batch_of(obs)["actions"]).clamp(min=-50).sum())
    assert parts_in(reached, backbone) == DIVIDER[backbone]
    assert not any(name.startswith("network.others") for name in reached)


@both
@pytest.mark.parametrize("regulariser", ["num", "dis", "dis_balance", "kl"])
def test_every_regulariser_trains_the_divider_and_none_trains_nothing(backbone, regulariser):
    policy, obs = team(backbone), observations(backbone)
    loss, statistics = DivisionLoss(regulariser)(run(policy, obs), batch_of(obs), Progress())
    reached = gradients(policy, loss)
    assert parts_in(reached, backbone) == DIVIDER[backbone]
    assert not any(name.startswith(("network.others", "policy_head")) for name in reached)
    half, _ = DivisionLoss(regulariser, 0.5)(run(policy, obs), batch_of(obs), Progress())
    torch.testing.assert_close(half, 0.5 * loss)
    nothing, logged = DivisionLoss("none")(run(policy, obs), batch_of(obs), Progress())
    assert not nothing.requires_grad
    assert logged.keys() == statistics.keys() - {f"loss/{regulariser}"}


@pytest.mark.parametrize("has_own_goal_table", [True, False])
def test_the_grounding_loss_grounds_the_divider_if_it_has_no_symbols_of_its_own(has_own_goal_table):
    policy, obs = team("emma", has_own_goal_table=has_own_goal_table), observations("emma")
    loss, _ = GroundingLoss(Schedule.constant(1.0))(run(policy, obs), batch_of(obs), Progress())
    assert "network.body.symbols.weight" in gradients(policy, loss)
    divided, _ = DivisionLoss("kl")(run(policy, obs), batch_of(obs), Progress())
    reached = gradients(policy, divided)
    assert ("network.body.symbols.weight" in reached) == (not has_own_goal_table)
    assert ("network.goal_symbols.weight" in reached) == has_own_goal_table


@both
def test_a_team_without_agent_modelling_has_no_heads_for_others(backbone):
    policy, obs = team(backbone, models_others=False), observations(backbone)
    assert OTHERS not in run(policy, obs).extras
    assert not any("others" in name for name, _ in policy.named_parameters())
    with pytest.raises(ValueError, match="models_others=True"):
        AgentModellingLoss()(run(policy, obs), batch_of(obs), Progress())


def test_agents_and_others_are_summed_and_steps_averaged():
    """Untrained heads of zeros expect every action alike: log 5 for each of two others of each of three agents."""
    policy, obs = team("emma", agents=3), observations("emma", agents=3)
    for weight in policy.network.others[-1].parameters():
        weight.data.zero_()
    loss, statistics = AgentModellingLoss(2.0)(run(policy, obs), batch_of(obs), Progress())
    assert loss.item() == pytest.approx(2 * 6 * torch.tensor(5.0).log().item(), abs=1e-6)
    assert statistics["loss/agent_modelling"].item() == pytest.approx(loss.item() / 2)


def test_actions_of_agents_that_do_not_decide_are_not_learned():
    policy, obs = team("emma"), observations("emma")
    batch = batch_of(obs)
    decides = torch.ones_like(batch["actions"], dtype=torch.bool)
    decides[:, 1:, 0] = False
    batch["obs/decides"] = decides
    losses = []
    for actions in (batch["actions"], torch.where(decides, batch["actions"], 4 - batch["actions"])):
        loss, statistics = AgentModellingLoss()(run(policy, obs), batch | {"actions": actions}, Progress())
        losses.append((loss.item(), statistics["division/others_accuracy"].item()))
    assert losses[0] == losses[1]


def test_the_observation_after_the_last_step_counts_in_no_loss():
    policy, obs = team("reading"), observations("reading")
    batch = {name: value[:, :3] for name, value in batch_of(obs).items()}
    other = obs | {"grid": torch.cat([obs["grid"][:, :3], obs["grid"][:, 3:].flip(0)], 1)}
    for loss in (AgentModellingLoss(), DivisionLoss("dis")):
        ours, theirs = (loss(run(policy, one), batch, Progress())[0] for one in (obs, other))
        torch.testing.assert_close(ours, theirs)


def test_a_divided_txt2pi_has_the_papers_size():
    """Each agent has txt2π without output layer, two layers for the goal, a convolution, and a head for the other."""
    size = ReadingSizes(2, 262, torch.ones(12, 2, dtype=torch.long))
    config = ReaderTeamConfig(DividedReadingConfig(), shares_network=False)
    policy = reader_team(config, size, 5, is_entity=IS_ENTITY["reading"])
    one = reader_team(ReaderTeamConfig(config.network.backbone), size, 5)
    text = 200 + 2 * 20 + 200
    goal = 16 * 3 * (32 * 9 + 1 + text + 1) + 4 * 3 * (18 * 9 + 1 + text + 1) + 33 * 200 + 17 * 200
    backbone = sum(weight.numel() for weight in one.parameters())
    others = 64 * 5 + 5
    wanted = backbone + goal + 8 * 9 * 2 + 2 + others
    assert sum(weight.numel() for weight in policy.parameters()) == 2 * wanted


def test_the_first_class_is_drawn_as_often_as_softmax_says():
    logits = torch.tensor([0.7, -0.5]).expand(20_000, 2)
    drawn = choose_first(logits, torch.rand(20_000, generator=torch.Generator().manual_seed(0)))
    assert set(drawn.tolist()) == {0.0, 1.0}
    assert drawn.mean().item() == pytest.approx(logits[0].softmax(-1)[0].item(), abs=0.01)


def test_the_gradient_is_that_of_the_soft_sample():
    logits = torch.tensor([[0.2, 0.1], [-1.0, 0.4]], dtype=torch.double, requires_grad=True)
    uniforms = torch.tensor([0.3, 0.8], dtype=torch.double)
    (hard,) = torch.autograd.grad(choose_first(logits, uniforms).sum(), logits)
    soft = (logits + torch.stack([uniforms.logit(), torch.zeros(2)], -1)).softmax(-1)[:, 0]
    torch.testing.assert_close(hard, torch.autograd.grad(soft.sum(), logits)[0])


def test_uniforms_at_the_ends_are_finite():
    logits = torch.tensor([[3.0, 1.0], [1.0, 3.0]], requires_grad=True)
    drawn = choose_first(logits, torch.tensor([0.0, 1.0]))
    assert drawn.tolist() == [0, 1]
    drawn.sum().backward()
    assert logits.grad.isfinite().all()


def test_an_agent_that_has_left_is_nearest_to_nothing_and_one_that_is_alone_keeps_everything():
    offsets = torch.zeros(10, 3, 2)
    offsets[..., 0] = torch.arange(10)[:, None] - torch.tensor([4, 0, 9])
    here = torch.tensor([[True, False, True]] * 5 + [[True, False, False]] * 5)
    assert nearest_agents(offsets, here)[:, 1].tolist() == [2] * 5 + [0] * 5


def test_a_convolution_read_where_something_stands_is_the_dense_one_there():
    torch.manual_seed(0)
    layer, side = NeighbourConvolution(5, 2).double(), 6
    cells = torch.cat([torch.randint(side * side, (7, 4)), torch.tensor([[0, 1, 6, 7], [35, 34, 35, 29]])])
    features = torch.randn(9, 4, 5).double()
    features[:, 3] *= torch.arange(9)[:, None] % 2  # some are gone
    dense = torch.zeros(9, side * side, 5).double()
    for frame in range(9):
        dense[frame].index_add_(0, cells[frame], features[frame])
    wanted = layer.convolution(dense.view(9, side, side, 5).permute(0, 3, 1, 2)).flatten(2).mT
    wanted = torch.take_along_dim(wanted, cells[..., None], 1)
    torch.testing.assert_close(layer(features, cells, side), wanted, atol=1e-12, rtol=0)
