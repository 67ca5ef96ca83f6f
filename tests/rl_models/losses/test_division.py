"""Regularisers of an entity divider, metrics of a division and agent modelling against hand numbers."""

import math

import pytest
import torch

from rl_models.losses.division import (
    AgentModellingLoss,
    DivisionLoss,
    TeamDivision,
    count_distribution,
    count_divergence,
    coverage,
    distance_gap,
    distance_sum,
    has_conflict,
    modelling_loss,
    number_gap,
    overlap,
    values_of_others,
)
from rl_models.networks import entity_divider
from rl_models.networks.entity_divider import OTHERS
from rl_models.policy import TeamOutput
from rl_models.schedule import Progress

HERE = torch.tensor([True, True, True, True, True, False])
MASK = torch.tensor([1.0, 1, 0, 1, 0, 0])
"""Three of five entities are one's own; the last place holds none."""
OFFSETS = torch.tensor(
    [
        [[0.1, -0.3], [0.0, 0.0]],
        [[-0.2, 0.0], [0.5, 0.5]],
        [[0.9, 0.9], [0.4, 0.0]],
        [[0.0, 0.2], [0.7, 0.7]],
        [[0.9, 0.9], [-0.1, 0.1]],
        [[0.8, 0.8], [0.8, 0.8]],
    ]
)
"""From oneself and from the nearest other."""
PARTS = entity_divider.MASK, entity_divider.PROBABILITY, entity_divider.ENTITIES, entity_divider.OFFSETS


def test_num_compares_ones_own_with_the_others_average():
    assert number_gap(MASK, HERE, 2).item() == 1  # 3 and 2
    assert number_gap(MASK, HERE, 3).item() == 2  # 3, and 2 for two others
    assert number_gap(torch.zeros(6), HERE, 2).item() == 5


def test_dis_adds_manhattan_distances_of_both_sides():
    """(0.4 + 0.2 + 0.2) of one's own and (0.4 + 0.2) of the others', halved: in widths plus heights."""
    assert distance_sum(MASK, HERE, OFFSETS).item() == pytest.approx((0.8 + 0.6) / 2)


def test_the_releases_dis_squares_the_difference_of_squared_distances():
    """0.10 + 0.04 + 0.04 of one's own against 0.16 + 0.02."""
    assert distance_gap(MASK, HERE, OFFSETS).item() == pytest.approx((0.18 - 0.18) ** 2, abs=1e-7)
    other = MASK.clone()
    other[0] = 0
    assert distance_gap(other, HERE, OFFSETS).item() == pytest.approx((0.08 - 0.18) ** 2)


def test_numbers_of_own_entities_have_the_distribution_of_single_draws():
    """Chances 1/2 and 1/5, and a place without an entity in between."""
    chance, here = torch.tensor([[0.5, 0.0, 0.2], [0.9, 0.0, 0.0]]), torch.tensor([[1, 0, 1], [1, 0, 0]]).bool()
    rho = count_distribution(chance, here)
    torch.testing.assert_close(rho, torch.tensor([[0.4, 0.5, 0.1], [0.1, 0.9, 0.0]]))


def test_kl_by_hand():
    """Two entities of chance 1/2 between two agents: rho = 1/4 1/2 1/4; heights of the target e^-2 1 e^-2."""
    total = 1 + 2 * math.exp(-2)
    target = [math.exp(-2) / total, 1 / total, math.exp(-2) / total]
    wanted = sum(rho * math.log(rho / p) for rho, p in zip((0.25, 0.5, 0.25), target, strict=True))
    both = torch.ones(1, 2).bool()
    assert count_divergence(torch.full((1, 2), 0.5), both, 2, 0.5).item() == pytest.approx(wanted, abs=1e-6)


def test_kl_counts_only_what_is_there_and_has_a_finite_gradient_at_certainty():
    """A frame of one entity beside one of two; three agents; chances of 0 and 1."""
    chance = torch.tensor([[0.3, 0.0], [1.0, 0.0]], requires_grad=True)
    here = torch.tensor([[True, False], [True, True]])
    kl = count_divergence(chance, here, 3, 1.0)
    heights = [math.exp(-0.5 * (count - 1 / 3) ** 2) for count in (0, 1)]
    wanted = 0.7 * math.log(0.7 * sum(heights) / heights[0]) + 0.3 * math.log(0.3 * sum(heights) / heights[1])
    assert kl[0].item() == pytest.approx(wanted, abs=1e-6)
    (gradient,) = torch.autograd.grad(kl.sum(), chance)
    assert gradient.isfinite().all()


@pytest.mark.parametrize("name", ["num", "kl"])
def test_entities_are_divided_among_the_agents_that_are_there(name):
    """Three agents, five entities: all are there, then two, then one, to which all entities fall."""
    here = torch.tensor([[True, True, True], [True, False, True], [False, True, False]])[None]
    chance = (0.2 + 0.1 * torch.arange(5.0)) * torch.tensor([0.5, 1.0, 1.5])[:, None]
    parts = (chance > 0.4).float(), chance, torch.ones(3, 5).bool(), torch.zeros(3, 5, 2, 2)
    extras = {key: part.expand(1, 3, *part.shape) for key, part in zip(PARTS, parts, strict=True)}
    found = DivisionLoss(name)(
        TeamOutput(None, torch.zeros(1, 3, 3), {}, extras),
        {"reward": torch.zeros(1, 3, 3), "obs/alive": here},
        Progress(),
    )[0]
    wanted = 0.0
    for step, count in enumerate((3, 2, 1)):
        for agent in here[0, step].nonzero().flatten():
            own = parts[0][agent].sum()
            gap = abs(own - (5 - own) / (count - 1)) if count > 1 else 5 - own
            wanted += gap if name == "num" else count_divergence(chance[agent], parts[2][agent], count, 0.5)
    assert float(found) == pytest.approx(float(wanted) / 3)


def test_overlap_and_coverage_by_hand():
    """Two of four taken entities are taken twice; the agents take two, three and one of five."""
    masks = torch.tensor([[1.0, 1, 0, 0, 0, 0], [0, 1, 1, 1, 0, 0], [0, 0, 1, 0, 0, 0]])
    assert overlap(masks).item() == 0.5
    assert coverage(masks, HERE.expand(3, -1)).tolist() == pytest.approx([0.4, 0.6, 0.2])
    assert overlap(torch.zeros(2, 4)).item() == 0
    assert coverage(torch.zeros(2, 4), torch.zeros(2, 4).bool()).tolist() == [0, 0]


def test_a_conflict_is_one_nearest_entity_of_two_agents():
    offsets = torch.zeros(2, 3, 2, 2)
    offsets[:, :, 0, 0] = torch.tensor([[0.1, 0.2, 0.3], [-0.3, 0.2, 0.1]])
    masks = torch.tensor([[[1.0, 1, 1], [1, 1, 1]], [[0, 1, 1], [1, 1, 0]], [[0, 0, 0], [0, 0, 0]]])
    assert has_conflict(masks, offsets.expand(3, -1, -1, -1, -1)).tolist() == [False, True, False]


def test_an_agent_that_has_left_takes_nothing_and_does_not_count_in_the_coverage():
    """Two agents, four entities, the second agent leaves: it takes three, one of them with the first, which takes 2."""
    mask = torch.tensor([[1.0, 1, 0, 0], [0, 1, 1, 1]]).expand(2, 1, 2, 4)
    offsets = torch.zeros(2, 1, 2, 4, 2, 2)
    offsets[..., 0, 0, 0, 0] = offsets[..., 0, 2:, 0, 0] = offsets[..., 1, 2:, 0, 0] = 1
    divided = TeamDivision(mask, mask / 2, torch.ones(2, 1, 2, 4).bool(), offsets)
    found = divided.metrics(torch.tensor([[[True, True]], [[True, False]]]))
    assert {name: value[:, 0].tolist() for name, value in found.items()} == {
        "own_entities_0": [2, 2],
        "own_entities_1": [3, 0],
        "overlap": [0.25, 0],
        "coverage": [0.625, 0.5],
        "taken": [1, 0.5],
        "conflicts": [1, 0],
    }


def test_others_come_in_the_order_of_an_observation_oneself_left_out():
    assert values_of_others(torch.tensor([10, 11, 12])).tolist() == [[11, 12], [12, 10], [10, 11]]
    assert values_of_others(torch.tensor([[3, 4]])).tolist() == [[[4], [3]]]


def test_two_agents_by_hand():
    """Agent 0 gives probability 3/4 to what agent 1 did, agent 1 gives 1/4 to what agent 0 did."""
    logits = torch.tensor([[[0.0, math.log(3)]], [[math.log(3), 0.0]]])
    actions = torch.tensor([1, 1])
    error = modelling_loss(logits, actions)
    assert error.flatten().tolist() == pytest.approx([-math.log(3 / 4), -math.log(1 / 4)])
    batch = {"actions": actions[None, None], "reward": torch.zeros(1, 1, 2)}
    output = TeamOutput(None, torch.zeros(1, 1, 2), {}, {OTHERS: logits[None, None]})
    assert AgentModellingLoss()(output, batch, Progress())[1]["division/others_accuracy"] == 0.5


def test_agents_that_have_left_predict_nothing_and_are_not_predicted():
    logits = torch.zeros(1, 1, 3, 2, 4, requires_grad=True)
    here = torch.tensor([[[True, False, True]]])
    batch = {"actions": torch.ones(1, 1, 3).long(), "reward": torch.zeros(1, 1, 3), "obs/alive": here}
    output = TeamOutput(None, torch.zeros(1, 1, 3), {}, {OTHERS: logits})
    AgentModellingLoss()(output, batch, Progress())[0].backward()
    assert (logits.grad != 0).any(-1)[0, 0].tolist() == [[False, True], [False, False], [True, False]]
