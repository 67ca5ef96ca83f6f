"""ASHA (Li et al. 2020, algorithm 2): many settings train a little, the best third of them thrice as long, and so on.

A setting stands on a rung when all of its seeds have trained so far, and is judged by the mean over them: seeds are an
axis of their own and never compete with each other. Whenever a process is free it takes the highest setting that is
among the best 1 / `FACTOR` of its rung, else a new one; no trial waits for a whole rung. The setting that the search
started from always goes on to the end. Promotions are written down as they are made.

Learning rates and loss weights fall with the budget, so a rank on a low rung says little about the end: searches do not
stop early unless asked to.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from pathlib import Path

import numpy as np

from tune_experiments.core.errors import UserError
from tune_experiments.core.files import read_json, write_json
from tune_experiments.search.scheduler import Reached, Request, RequestOf, late_value
from tune_experiments.search.settings import Setting

__all__ = ["FACTOR", "Halving", "rungs_of"]

FACTOR = 3
_RUNGS = 3


def rungs_of(budget: int) -> list[int]:
    """Env steps of the rungs: a ninth and a third of the budget, then all of it."""
    return [math.ceil(budget / FACTOR**power) for power in range(_RUNGS - 1, -1, -1)]


class Halving:
    """The scheduler of one method.

    Args:
        method, settings, seeds: what competes.
        rungs: env steps, rising; the last is the budget.
        objective: what should be large.
        request_of: makes requests, whose `folder` is the trial's.
        file: where promotions are written down.
    """

    def __init__(
        self,
        method: str,
        settings: Sequence[Setting],
        seeds: Sequence[int],
        rungs: Sequence[int],
        objective: str,
        request_of: RequestOf,
        file: Path,
    ) -> None:
        self._method, self._settings, self._seeds = method, {one.number: one for one in settings}, list(seeds)
        self._rungs, self._objective, self._request_of, self._file = list(rungs), objective, request_of, file
        self._promoted = {number: 0 for number in self._settings} | self._written()
        self._running: set[str] = set()
        self._failed: set[int] = set()
        self._has_reached = Reached()

    def next_request(self) -> Request | None:
        """The highest that may go on, else the first that has not begun."""
        self._promote()
        for rung in range(len(self._rungs) - 1, -1, -1):
            for number, highest in self._promoted.items():
                if highest == rung and number not in self._failed:
                    request = self._missing(number, rung)
                    if request is not None:
                        self._running.add(request["name"])
                        return request
        return None

    def ended(self, request: Request, failed: bool) -> None:
        """Free its place; a setting of which a seed failed for good goes no further."""
        self._running.discard(request["name"])
        if failed:
            self._failed.add(request["setting"])

    def scores(self, rung: int) -> dict[int, float]:
        """Setting -> mean over seeds, of the settings all of whose seeds stand on the rung."""
        return {number: self._score(number, rung) for number in self._settings if self._stands(number, rung)}

    def remarks(self) -> list[str]:
        """Lines of search.md: the settings that reached each rung, with their scores."""
        lines = [f"## {self._method}: rungs", "", "| env steps | setting (score), the best first |", "|---:|---|"]
        for rung, end in enumerate(self._rungs):
            scores = self.scores(rung)
            best = sorted(scores, key=lambda number: (-scores[number], number))
            lines.append(f"| {end:,} | {', '.join(f'{number} ({scores[number]:.4f})' for number in best)} |")
        return [*lines, ""]

    def _promote(self) -> None:
        before = dict(self._promoted)
        for rung in range(len(self._rungs) - 1):
            scores = self.scores(rung)
            going = len(self._settings) - len(self._failed)
            count = max(len(scores) // FACTOR, 1 if len(scores) >= going else 0)
            best = sorted(scores, key=lambda number: (-scores[number], number))[:count]
            for number in {*best, *({0} & scores.keys())}:
                self._promoted[number] = max(self._promoted[number], rung + 1)
        if self._promoted != before:
            write_json(self._file, self._document() | {self._method: self._promoted})

    def _missing(self, number: int, rung: int) -> Request | None:
        """The first seed that has not come to the rung and is not on its way."""
        for seed in self._seeds:
            request = self._request(number, seed, rung)
            if request["name"] not in self._running and not self._has_reached(request):
                return request
        return None

    def _request(self, number: int, seed: int, rung: int) -> Request:
        until = None if rung + 1 == len(self._rungs) else self._rungs[rung]
        return self._request_of(self._settings[number].config, self._method, number, seed, until)

    def _stands(self, number: int, rung: int) -> bool:
        return all(self._has_reached(self._request(number, seed, rung)) for seed in self._seeds)

    def _score(self, number: int, rung: int) -> float:
        end = self._rungs[rung]
        folders = [Path(self._request(number, seed, rung)["folder"]) for seed in self._seeds]
        return float(np.mean([late_value(folder, self._objective, end) for folder in folders]))

    def _document(self) -> dict[str, dict[str, int]]:
        return read_json(self._file) if self._file.exists() else {}

    def _written(self) -> dict[int, int]:
        document = self._document().get(self._method, {})
        numbers, rungs = {str(number): number for number in self._settings}, range(len(self._rungs))
        if not isinstance(document, dict) or any(number not in numbers for number in document):
            raise UserError(f"{self._file} is of no such search; restore it or give --out another folder")
        if any(type(rung) is not int or rung not in rungs for rung in document.values()):
            raise UserError(f"{self._file} names rungs that are none; restore it or give --out another folder")
        return {numbers[number]: rung for number, rung in document.items()}
