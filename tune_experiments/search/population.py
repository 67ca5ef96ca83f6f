"""Population based training (Jaderberg et al. 2017): members train side by side, losers take over winners' weights.

After each generation the worst quarter of a population copies the checkpoints of the best quarter, with perturbed
values of what the search varies, and all members train on. Each seed is a population of its own, so what a method gains
by it can be judged over seeds. A copy is a checkpoint like any other; its configuration is the target's, so the trial
that continues from it learns with the new values from its first update on.

Every decision is written down before it is carried out, and carrying it out twice changes nothing.
"""

from __future__ import annotations

import math
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from rl_models.training.checkpoint import (
    delete_checkpoint,
    load_checkpoint,
    load_state,
    newest_whole_checkpoint,
    numbered_checkpoints,
    path_of,
    prune,
    save_checkpoint,
)
from tune_experiments.core.config_json import DataclassInstance, config_from_json, config_to_json
from tune_experiments.core.config_path import replaced
from tune_experiments.core.errors import UserError
from tune_experiments.core.files import read_json, write_json
from tune_experiments.experiment.search_space import SearchSpace
from tune_experiments.search.scheduler import Reached, Request, RequestOf, value_between
from tune_experiments.search.settings import Setting, sampled

__all__ = ["GENERATIONS", "Copy", "Population", "decide", "exploit"]

GENERATIONS = 8
_SHARE = 0.25
_RESAMPLED = 0.25
_FACTORS = (0.8, 1.25)


@dataclass(frozen=True)
class Copy:
    """A member that goes on from another's checkpoint.

    Attributes:
        target, source: numbers of the members.
        values: path -> what the target learns with from now on.
    """

    target: int
    source: int
    values: dict[str, Any]


@dataclass(frozen=True)
class _Generation:
    """How `Population` writes a generation down."""

    env_steps: int
    scores: tuple[float | None, ...]
    copies: tuple[Copy, ...]
    is_done: bool


def decide(
    scores: Sequence[float], values: Sequence[Mapping[str, Any]], space: SearchSpace, chance: np.random.Generator
) -> list[Copy]:
    """Pairs (target, source): each of the worst quarter copies a random one of the best; one pair at least."""
    order = sorted(range(len(scores)), key=lambda member: (-scores[member], member))
    count = min(max(1, int(_SHARE * len(order))), len(order) // 2)
    best, worst = order[:count], order[len(order) - count :]
    copies = []
    for target in worst:
        source = best[int(chance.integers(len(best)))]
        changed = {path: _perturbed(value, space.domains[path], chance) for path, value in values[source].items()}
        copies.append(Copy(target, source, changed))
    return copies


def exploit(source: Path, target: Path, config: DataclassInstance) -> None:
    """Put the source's newest checkpoint in place of all of the target's, with the target's configuration.

    Where weights are chosen by validation the source's choice so far comes along, for the newest one names it.

    Args:
        source: trial folder.
        target: another.
        config: what the target learns with from now on.
    """
    newest = newest_whole_checkpoint(source / "checkpoints")
    if newest is None:
        raise UserError(f"{source} has no whole checkpoint to copy; run the same command again to train it anew")
    choice = load_state(newest).get("choice")
    # Else a checkpoint of the target's that a killed process was about to replace would come back.
    prune(target / "checkpoints", keep=sys.maxsize)
    # The newest last: a crash before leaves the target's own past.
    wanted = dict.fromkeys([path_of(newest.parent, choice["env_steps"]), newest] if choice else [newest])
    kept = [_copied(one, target / "checkpoints", config) for one in wanted]
    for _, path in numbered_checkpoints(target / "checkpoints"):
        if path not in kept:
            delete_checkpoint(path)


def _copied(checkpoint: Path, folder: Path, config: DataclassInstance) -> Path:
    found = load_checkpoint(checkpoint)
    return save_checkpoint(folder, found.step, found.tensors, found.state | {"config": config_to_json(config)})


class Population:
    """The scheduler of one method and one seed.

    Args:
        method, settings, seed: the members to begin with.
        budget: env steps of every member.
        space: what is perturbed, and what should be large.
        search_seed: of perturbations.
        request_of: makes requests, whose `folder` is the trial's.
        file: where generations are written down.
    """

    def __init__(
        self,
        method: str,
        settings: Sequence[Setting],
        seed: int,
        budget: int,
        space: SearchSpace,
        search_seed: int,
        request_of: RequestOf,
        file: Path,
    ) -> None:
        self.method, self.seed, self._space, self._search_seed = method, seed, space, search_seed
        self._request_of, self._file = request_of, file
        self._ends = [math.ceil(budget * (number + 1) / GENERATIONS) for number in range(GENERATIONS)]
        self._configs = [one.config for one in settings]
        self._values = [dict(one.values) for one in settings]
        self._running: set[str] = set()
        self._has_failed = False
        self._has_reached = Reached()
        self._generation = 0
        for generation in self._written():
            self._take(generation)

    def next_request(self) -> Request | None:
        """A member that has not come to the end of the generation; the next generation when all have."""
        while not self._has_failed:
            for request in self._requests():
                if request["name"] not in self._running and not self._has_reached(request):
                    self._running.add(request["name"])
                    return request
            if self._running or self._generation + 1 == GENERATIONS:
                return None
            self._evolve()
        return None

    def ended(self, request: Request, failed: bool) -> None:
        """Free its place; a population that has lost a member for good stops, and the same command continues it."""
        self._running.discard(request["name"])
        self._has_failed = self._has_failed or failed

    def _requests(self) -> list[Request]:
        until = None if self._generation + 1 == GENERATIONS else self._ends[self._generation]
        return [
            self._request_of(config, self.method, member, self.seed, until)
            for member, config in enumerate(self._configs)
        ]

    def _evolve(self) -> None:
        folders = [Path(request["folder"]) for request in self._requests()]
        end, scores = self._ends[self._generation], [self._score(folder, self._generation) for folder in folders]
        chance = np.random.default_rng([self._search_seed, self.seed, self._generation, *self.method.encode()])
        copies = decide(scores, self._values, self._space, chance)
        generation = {
            "env_steps": end,
            "scores": [score if math.isfinite(score) else None for score in scores],
            "copies": [vars(copy) for copy in copies],
            "is_done": False,
        }
        self._write(generation)
        self._take(generation)

    def _take(self, generation: dict[str, Any]) -> None:
        """Carry out what was decided, unless that has been done, and stand in the next generation."""
        folders = [Path(request["folder"]) for request in self._requests()]
        for copy in (Copy(**one) for one in generation["copies"]):
            config = self._configs[copy.source]
            for path, value in copy.values.items():
                config = replaced(config, path, value)
            self._configs[copy.target] = config_from_json(type(config), config_to_json(config))
            self._values[copy.target] = dict(copy.values)
            if not generation["is_done"]:
                exploit(folders[copy.source], folders[copy.target], self._configs[copy.target])
        if not generation["is_done"]:
            self._write(generation | {"is_done": True})
        self._generation += 1

    def _score(self, folder: Path, generation: int) -> float:
        since = self._ends[generation - 1] if generation else 0
        return value_between(folder, self._space.objective, since, self._ends[generation])

    def score(self, folder: Path) -> float:
        """Mean of a finished member's validations since it could last have copied another; -inf if it diverged.

        What it validated before then may be of weights that it has not any more.
        """
        return self._score(folder, GENERATIONS - 1)

    # ---- what is written down ----------------------------------------------------------------------------------------

    def remarks(self) -> list[str]:
        """Lines of search.md: scores and copies of each generation."""
        lines = [f"## {self.method}, seed {self.seed}: generations", ""]
        lines += ["| env steps | scores of members 0, 1, ... | copies |", "|---:|---|---|"]
        for one in self._written():
            scores = ", ".join("diverged" if score is None else f"{score:.4f}" for score in one["scores"])
            copies = "; ".join(f"{copy['target']} copies {copy['source']}, {copy['values']}" for copy in one["copies"])
            lines.append(f"| {one['env_steps']:,} | {scores} | {copies} |")
        return [*lines, ""]

    @property
    def members(self) -> list[Setting]:
        """Members with the values with which they learn now."""
        pairs = zip(self._configs, self._values, strict=True)
        return [Setting(number, config, values) for number, (config, values) in enumerate(pairs)]

    @property
    def _name(self) -> str:
        return f"{self.method}-seed{self.seed}"

    def _document(self) -> dict[str, list[dict[str, Any]]]:
        return read_json(self._file) if self._file.exists() else {}

    def _written(self) -> list[dict[str, Any]]:
        """Stored generations of this population; they are checked, because the folder may come from another user."""
        written = self._document().get(self._name, [])
        where, members = f"{self._file}: a generation", range(len(self._configs))
        if not isinstance(written, list) or len(written) >= GENERATIONS:
            raise UserError(f"{self._file} is of no such search; restore it or give --out another folder")
        for copy in (copy for one in written for copy in config_from_json(_Generation, one, where).copies):
            if copy.target not in members or copy.source not in members or set(copy.values) - set(self._space.domains):
                raise UserError(f"{where} copies what is not there; restore it or give --out another folder")
        return written

    def _write(self, generation: dict[str, Any]) -> None:
        document = self._document()
        document[self._name] = [*document.get(self._name, [])[: self._generation], generation]
        write_json(self._file, document)


def _perturbed(value: Any, domain: Any, chance: np.random.Generator) -> Any:
    """Another value near by, or any of the domain's now and then."""
    if isinstance(domain, dict):
        return domain["grid_search"][int(chance.integers(len(domain["grid_search"])))]
    is_number = isinstance(value, int | float) and not isinstance(value, bool) and hasattr(domain, "lower")
    if not is_number or chance.random() < _RESAMPLED:
        return sampled(domain, chance)
    moved = min(max(value * _FACTORS[int(chance.integers(2))], domain.lower), domain.upper)
    # The upper end of Tune's whole numbers is not in the domain.
    return min(round(moved), domain.upper - 1) if isinstance(value, int) else float(f"{moved:.3g}")
