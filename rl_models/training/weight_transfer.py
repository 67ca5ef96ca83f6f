"""Transfer between stages: weights by name and shape, the optimiser's state by name, frozen parameters.

A curriculum's stages may have different networks (a larger vocabulary, another head). Weights that fit are loaded, all
others are reported.
"""

import difflib
import fnmatch
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field

import torch
from torch import Tensor, nn

from rl_models.policy import TeamPolicy

Shape = tuple[int, ...]


@dataclass(frozen=True)
class WeightTransfer:
    """Result of a weight transfer: the weights, and a report on each of them.

    Attributes:
        weights: name -> value, everything that the new team needs.
        loaded: names of the weights that were loaded.
        other_shape: name -> (shape there, shape here) of weights that keep their initial values, because their shapes
            differ.
        skipped: names that only the old team has.
        new: names that only the new team has; they keep their initial values.
    """

    weights: dict[str, Tensor] = field(repr=False)
    loaded: tuple[str, ...]
    other_shape: dict[str, tuple[Shape, Shape]]
    skipped: tuple[str, ...]
    new: tuple[str, ...]

    def sentence(self) -> str:
        """One sentence of counts: `31 of 33 weights loaded, 1 of another shape, 1 new, 2 left behind`."""
        counts = {
            "of another shape": len(self.other_shape),
            "new": len(self.new),
            "left behind": len(self.skipped),
        }
        rest = "".join(f", {count} {what}" for what, count in counts.items() if count)
        return f"{len(self.loaded)} of {len(self.weights)} weights loaded{rest}"


def transfer_weights(there: Mapping[str, Tensor], here: Mapping[str, Tensor]) -> WeightTransfer:
    """Load the old team's weights [...] that fit the new one, as built; raises ValueError where nothing fits."""
    taken: dict[str, Tensor] = {}
    other_shape = {}
    common = [name for name in here if name in there]
    for name in common:
        old, new = torch.as_tensor(there[name]), here[name]
        shapes = tuple(old.shape), tuple(new.shape)
        if shapes[0] == shapes[1]:
            taken[name] = old.detach().clone()
        else:
            other_shape[name] = shapes
    if not taken:
        raise ValueError("nothing can be transferred, because no weight has the same name and shape in both teams")
    return WeightTransfer(
        {name: taken.get(name, value.detach().clone()) for name, value in here.items()},
        tuple(taken),
        other_shape,
        tuple(name for name in there if name not in here),
        tuple(name for name in here if name not in there),
    )


def transfer_optimiser(
    there: Mapping[str, Tensor], names_there: Sequence[str], names_here: Sequence[str], loaded: Collection[str]
) -> dict[str, Tensor]:
    """The old team's `optimiser_tensors` of the loaded parameters for the new team; the others start without.

    Names are `trainable_names` of both.
    """
    place = {name: index for index, name in enumerate(names_here) if name in loaded}
    found = {}
    for key, value in there.items():
        index, entry = key.split(".", 1)
        if names_there[int(index)] in place:
            found[f"{place[names_there[int(index)]]}.{entry}"] = value
    return found


def trainable_names(policy: nn.Module) -> list[str]:
    """Names of the optimiser's parameters, in its order."""
    return [name for name, parameter in policy.named_parameters() if parameter.requires_grad]


def matching(patterns: Iterable[str], names: Iterable[str]) -> list[str]:
    """Names that fit any of the patterns, in order; raises ValueError for a pattern that fits none."""
    names, patterns = list(names), list(patterns)
    for pattern in patterns:
        if not any(fnmatch.fnmatchcase(name, pattern) for name in names):
            near = difflib.get_close_matches(pattern, names, n=3, cutoff=0.0)
            raise ValueError(f"no weight is called {pattern!r}; the nearest are {', '.join(near)}")
    return [name for name in names if any(fnmatch.fnmatchcase(name, pattern) for pattern in patterns)]


@dataclass(frozen=True)
class FrozenBuild:
    """Builds a team by `build_policy` and freezes the parameters whose names fit `patterns`."""

    build_policy: Callable[[], TeamPolicy]
    patterns: tuple[str, ...]

    def __call__(self) -> TeamPolicy:
        """Build; raises ValueError for a pattern that fits no parameter, or where nothing is left to train."""
        policy = self.build_policy()
        parameters = dict(policy.named_parameters())
        for name in matching(self.patterns, parameters):
            parameters[name].requires_grad_(False)
        if not trainable_names(policy):
            raise ValueError(f"{', '.join(self.patterns)} freezes every parameter; leave some to train")
        return policy
