"""What a team takes from another one: every weight is taken or named, and frozen ones are no optimiser's business."""

import pytest
import torch
from torch import nn

from rl_models.algorithms.optimiser import OptimiserSettings, load_optimiser, make_optimiser, optimiser_tensors
from rl_models.training.weight_transfer import (
    FrozenBuild,
    trainable_names,
    transfer_optimiser,
    transfer_weights,
)


class Team(nn.Module):
    """A table, a layer and a head; `extra` has one more layer."""

    def __init__(self, words=3, actions=2, extra=False):
        super().__init__()
        self.words = nn.Embedding(words, 4)
        self.layer = nn.Linear(4, 4)
        self.head = nn.Linear(4, actions)
        if extra:
            self.extra = nn.Linear(4, 1)

    def forward(self, words):
        return self.head(self.layer(self.words(words)))


def trained(team, settings, updates=3):
    """The optimiser of a team after a few steps on random targets."""
    optimiser = make_optimiser(settings, team.parameters())
    generator = torch.Generator().manual_seed(4)
    for _ in range(updates):
        optimiser.zero_grad(set_to_none=True)
        words = torch.arange(team.words.num_embeddings)
        output = team(words)
        (output * torch.randn(output.shape, generator=generator)).sum().backward()
        optimiser.step()
    return optimiser


def test_weights_of_one_name_and_shape_are_taken_and_every_other_is_named():
    old, new = Team(actions=2, extra=True), Team(words=5, actions=3)
    there, here = old.state_dict(), new.state_dict()
    del there["layer.bias"]
    transfer = transfer_weights(there, here)
    assert transfer.loaded == ("layer.weight",)
    assert transfer.other_shape == {
        "words.weight": ((3, 4), (5, 4)),
        "head.weight": ((2, 4), (3, 4)),
        "head.bias": ((2,), (3,)),
    }
    assert transfer.skipped == ("extra.weight", "extra.bias")
    assert transfer.new == ("layer.bias",)
    assert torch.equal(transfer.weights["layer.weight"], old.layer.weight)
    for name in ("words.weight", "head.weight", "head.bias", "layer.bias"):
        assert torch.equal(transfer.weights[name], here[name]), name


def test_transferred_weights_share_no_memory_with_either_team():
    old, new = Team(), Team(words=5)
    weights = transfer_weights(old.state_dict(), new.state_dict()).weights
    copies = {name: value.clone() for name, value in weights.items()}
    for parameter in [*old.parameters(), *new.parameters()]:
        parameter.data.fill_(9)
    assert all(torch.equal(value, copies[name]) for name, value in weights.items())


@pytest.mark.parametrize(
    "settings", [OptimiserSettings(amsgrad=True), OptimiserSettings(optimiser="rmsprop")], ids=["amsgrad", "rmsprop"]
)
def test_the_optimisers_state_follows_the_names_of_parameters_taken_whole(settings):
    old, new = Team(), Team(words=5, extra=True)
    old.layer.requires_grad_(False)  # so that numbers of parameters differ between the teams
    new.words.requires_grad_(False)
    before = trained(old, settings)
    transfer = transfer_weights(old.state_dict(), new.state_dict())
    tensors = transfer_optimiser(optimiser_tensors(before), trainable_names(old), trainable_names(new), transfer.loaded)
    new.load_state_dict(transfer.weights)
    after = make_optimiser(settings, new.parameters())
    load_optimiser(after, tensors)
    ours, theirs = dict(new.named_parameters()), dict(old.named_parameters())
    assert {name for name in ours if ours[name] in after.state} == {"head.weight", "head.bias"}
    for name in ("head.weight", "head.bias"):
        assert after.state[ours[name]].keys() == before.state[theirs[name]].keys()
        for entry, value in before.state[theirs[name]].items():
            assert torch.equal(torch.as_tensor(after.state[ours[name]][entry]), torch.as_tensor(value)), entry
    new.extra.requires_grad_(False)
    trained_on = {name: value.clone() for name, value in new.state_dict().items()}
    new(torch.arange(5)).sum().backward()
    after.step()
    assert not torch.equal(new.layer.weight, trained_on["layer.weight"])  # begins without a state
    assert torch.equal(new.words.weight, trained_on["words.weight"])


def test_a_frozen_build_freezes_what_is_named_and_nothing_else():
    policy = FrozenBuild(Team, ("words.*", "head.bias"))()
    assert trainable_names(policy) == ["layer.weight", "layer.bias", "head.weight"]
