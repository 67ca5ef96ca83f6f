"""Cross-play in Overcooked: every pair of trained teams, in both orders, compared with each team itself.

    python tune_experiments/overcooked_crossplay.py runs/overcooked_selfplay_laptop
    python tune_experiments/overcooked_crossplay.py runs/selfplay runs/fcp --methods selfplay fcp --out runs/crossplay
    python tune_experiments/overcooked_crossplay.py runs/selfplay runs/sama --kitchen cramped_room

Teams are all trained teams of runs of `overcooked_selfplay.py` and `sama_overcooked.py` in one kitchen; single trials,
such as the best of a search, can be named, too. A pair is chef 0 of one team and chef 1 of another; whole episodes with
sampled actions, without shaping. Chefs of SAMA and `mappo` choose cells, the others choose moves, each as in training.
A planner commands only its own team's chefs and cannot restore states, so SAMA does not reflect here, even with itself.
It writes `results.jsonl`, tables in `crossplay.md` and heat maps in `plots/`, by default in the folder `crossplay` of
the first run. It trains nothing and starts no Ray.
"""

import sys
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import tyro

from tune_experiments.core.drawing import describe_drawings, with_older
from tune_experiments.core.errors import UserError, exits_with_one_sentence
from tune_experiments.core.storage_uri import check_folders
from tune_experiments.core.terminal import Terminal


@dataclass(frozen=True)
class CrossPlay:
    """Command-line arguments: teams, number of episodes, and folder of the report."""

    runs: tyro.conf.Positional[tuple[Path, ...]]
    """Run folders of overcooked_selfplay.py and sama_overcooked.py, or folders of single trials."""
    methods: tuple[str, ...] = ()
    """Methods of the teams; all of them by default."""
    kitchen: str = ""
    """Name of the kitchen of the pairs, for runs of several kitchens; by default that of all teams."""
    episodes: int = 100
    """Number of episodes of each pair."""
    out: Path | None = None
    """Folder of the report; by default `crossplay` in the first run."""


@exits_with_one_sentence
def main(arguments: Sequence[str] | None = None, prog: str | None = None) -> None:
    """Play all pairs and write the report."""
    command = read_command(sys.argv[1:] if arguments is None else list(arguments), prog)
    import torch

    from tune_experiments.overcooked.crossplay import (
        check_out,
        in_markdown,
        load_teams,
        play_all,
        report_folder,
        write_report,
    )
    from tune_experiments.sama.overcooked.meetings import KITCHENS, meet

    torch.set_num_threads(1)
    console = Terminal()
    out = command.out or report_folder(command.runs[0], "crossplay")
    check_out(out)
    teams = load_teams(command.runs, KITCHENS, command.methods, command.kitchen)
    one = next(iter(teams.values()))
    matrix = play_all(teams, KITCHENS[one.experiment.name](one), command.episodes, meet)
    console.print(in_markdown(matrix))
    for line in describe_drawings(with_older(write_report(matrix, out), out / "plots")):
        console.print(line)


def read_command(words: Sequence[str], prog: str | None = None) -> CrossPlay:
    """Parse the command line; tyro reports its own errors."""
    command = tyro.cli(CrossPlay, prog=prog, args=words, description=__doc__)
    check_folders(command)
    if not command.runs or command.episodes < 1:
        raise UserError("cross-play needs one run folder or more, and --episodes of at least 1")
    return command


if __name__ == "__main__":
    sys.exit(main())
