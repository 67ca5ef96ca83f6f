"""Tables follow the policy to its device. `meta` stands for one: its tensors have shapes and a place, but no values."""

import torch

from rl_models.distributions.mixture import MixtureOfMarginals
from rl_models.losses.cordial import CoordinationProbe
from rl_models.policy import TeamOutput
from tests.rl_models.training.small import cordial, rooms


def test_the_probe_works_where_the_policy_is():
    policy = MixtureOfMarginals(torch.zeros(5, 1, 3, device="meta"), torch.zeros(5, 1, 2, 3, 13, device="meta"))
    output = TeamOutput(policy, torch.zeros(5, 1, 2, device="meta"), {}, {})
    probe = CoordinationProbe(cordial(rooms(1)).coordination)
    metrics = probe(output, {"coordination": torch.zeros(5, 1, 2, dtype=torch.uint8)})
    assert {(name, value.device.type, value.shape) for name, value in metrics.items()} == {
        ("invalid_probability", "meta", (5, 1)),
        ("tvd", "meta", (5, 1)),
    }
    # A CUDA index into a table on the CPU is refused; `meta` is more patient, so look where the tables are.
    assert {table.device.type for table in probe.coordination.buffers()} == {"meta"}
