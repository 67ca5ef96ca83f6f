"""Tables follow the policy to its device. `meta` stands for one: its tensors have shapes and a place, but no values."""

import torch

from rl_models.distributions.mixture import MixtureOfMarginals
from rl_models.losses.cordial import CoordinationProbe
from rl_models.policy import TeamOutput
from rl_models.schedule import Progress
from tests.rl_models.training.small import cordial, rooms


def output_elsewhere():
    policy = MixtureOfMarginals(torch.zeros(5, 1, 3, device="meta"), torch.zeros(5, 1, 2, 3, 13, device="meta"))
    return TeamOutput(policy, torch.zeros(5, 1, 2, device="meta"), {}, {})


def test_the_coordination_loss_works_where_the_batch_is():
    loss = cordial(rooms(1))
    zeros = torch.zeros(5, 1, 2, device="meta")
    found, statistics = loss(output_elsewhere(), {"obs/coordination": zeros.byte(), "reward": zeros}, Progress())
    assert {found.device.type, statistics["policy/invalid_probability"].device.type} == {"meta"}
    assert {table.device.type for table in loss.coordination.buffers()} == {"meta"}


def test_the_probe_works_where_the_policy_is():
    probe = CoordinationProbe(cordial(rooms(1)).coordination)
    metrics = probe(output_elsewhere(), {"coordination": torch.zeros(5, 1, 2, dtype=torch.uint8)})
    assert {(name, value.device.type, value.shape) for name, value in metrics.items()} == {
        ("invalid_probability", "meta", (5, 1)),
        ("tvd", "meta", (5, 1)),
    }
    # A CUDA index into a table on the CPU is refused; `meta` is more patient, so look where the tables are.
    assert {table.device.type for table in probe.coordination.buffers()} == {"meta"}
