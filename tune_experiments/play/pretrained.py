"""Trained teams in the package: `load_policy("pretrained/NAME")`, and how one is made from a run.

    pretrained/NAME/checkpoints/checkpoint_NUMBER/   weights.safetensors and state.json, as training left them
    pretrained/NAME/language_model/                  of a team that has one
    pretrained/NAME/card.json                        command, extra inputs, results, first actions
    pretrained/NAME/README.md                        the same, readable

A card holds the first joint actions of one episode, so that a test detects changes of environments and networks.
"""

import contextlib
import shutil
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from rl_models.training.checkpoint import load_checkpoint, save_checkpoint
from tune_experiments.core.errors import UserError
from tune_experiments.core.files import read_json, write_atomically, write_json
from tune_experiments.play.loading import LoadedPolicy, chosen_checkpoint, find_checkpoint, load_policy
from tune_experiments.play.team_paths import PRETRAINED
from tune_experiments.results.rows import read_results
from tune_experiments.run.manifest import without_run_folder
from tune_experiments.run.run_folder import LANGUAGE_MODEL, MODELS, read_sessions
from tune_experiments.run.trial import CHECKPOINTS, DECLARED_FILE

CARD, MODEL_CARD = "card.json", "README.md"
MAX_BYTES = 18 * 2**20
"""Largest size of all teams in the package together, in bytes."""
_KEPT = (
    *("written_by", "experiment", "config", "models", "method", "seed"),
    *("progress", "validated_at", "curriculum", "choice"),
)
"""Parts of a checkpoint's state that are kept; the others are for resuming training."""
_HEADLINES = ("win_rate", "success", "soups")
"""Metrics among a card's metadata, by which the Hub compares models."""
_ACTION_SEED, _ACTION_STEPS = 7, 24


def read_card(name: str) -> dict[str, Any]:
    """The card of a team in the package; UserError where it is no JSON."""
    return read_json(PRETRAINED / name / CARD)


def first_actions(loaded: LoadedPolicy, seed: int = _ACTION_SEED) -> list[list[int]]:
    """Joint actions of the first 24 env steps in one world, `[steps][N]`; UserError for actions with factors."""
    found = []
    with contextlib.closing(loaded.make_world(1)) as world:
        obs, first = world.reset(seed), None
        loaded.reset(seed, world.texts)
        for _ in range(_ACTION_STEPS):
            actions = loaded.act(obs, first)
            if isinstance(actions, dict):
                raise UserError(f"{loaded.method} has factored actions, which a card cannot hold: pack another team")
            found.append(np.asarray(actions)[0].tolist())
            obs, _, terminated, truncated, _ = world.step(actions)
            first = terminated | truncated
    return found


def pack(
    path: Path,
    name: str,
    given: str,
    seed_choice: str,
    title: str = "",
    folder: Path = PRETRAINED,
    allow: Sequence[str] = (),
) -> Path:
    """Add a team of a finished run to the package; `given` and `seed_choice` are sentences for its card.

    `allow` as for `load_policy`.
    UserError if the name is taken or no name, a sentence is empty, the run is not finished, or all teams together
    become too large.
    """
    if not given.strip():
        raise UserError("--given is empty: write a sentence on the team's extra inputs, or `Nothing.`")
    if not seed_choice.strip():
        raise UserError("--seed-choice is empty: write a sentence on how the seed was chosen")
    if folder.is_file():
        raise UserError(f"{folder} is a file, not a folder: name a folder with --out")
    out = folder / name
    if not name.isidentifier():
        raise UserError(f"NAME must have letters, digits and _ only and begin with no digit, not {name!r}")
    if out.exists():
        raise UserError(f"{out} already exists: choose another name")
    checkpoint = find_checkpoint(path, allow)
    trial = checkpoint.parent.parent
    run = trial.parent.parent
    if checkpoint != (tested := chosen_checkpoint(trial)):
        raise UserError(f"{checkpoint} was not tested, so that it has no numbers: pack {tested}")
    loaded = load_policy(checkpoint, allow, "cpu")
    numbers = _numbers(run, loaded)
    sessions = read_sessions(run)
    whole = load_checkpoint(checkpoint)
    models: list[Any] = next((one[MODELS] for one in reversed(sessions) if one.get(MODELS)), [])
    state = {"models": models} | {key: whole.state[key] for key in _KEPT if key in whole.state}
    card = {
        "name": name,
        "title": title or name,
        "experiment": loaded.experiment.name,
        "caption": loaded.experiment.caption,
        "method": loaded.method,
        "seed": loaded.seed,
        "env_steps": loaded.env_steps,
        **_origin([one for one in sessions if loaded.seed in one.get("seeds", ())] or sessions),
        "given": given,
        "seed_choice": seed_choice,
        "numbers": numbers,
        "actions": {"seed": _ACTION_SEED, "joint": first_actions(loaded)},
    }
    unfinished = folder / f".{name}"
    try:
        save_checkpoint(unfinished / CHECKPOINTS, whole.step, {"weights": whole.tensors["weights"]}, state)
        if (trial / LANGUAGE_MODEL).exists():
            shutil.copytree(trial / LANGUAGE_MODEL, unfinished / LANGUAGE_MODEL)
        if (trial / DECLARED_FILE).exists():
            shutil.copy(trial / DECLARED_FILE, unfinished)
        write_json(unfinished / CARD, card)
        place = f"{PRETRAINED.name}/{name}" if folder.resolve() == PRETRAINED.resolve() else str(out)
        write_atomically(unfinished / MODEL_CARD, model_card(card, place))
        if (size := folder_bytes(folder)) > MAX_BYTES:
            raise UserError(f"{folder} holds {size:,} bytes, more than {MAX_BYTES:,}: delete a team of it")
        unfinished.rename(out)
    finally:
        shutil.rmtree(unfinished, ignore_errors=True)
    return out


def model_card(card: dict[str, Any], place: str = "") -> str:
    """Model card of the Hugging Face Hub; `place` is the path by which commands open the team."""
    from huggingface_hub import EvalResult, ModelCardData

    place = place or f"{PRETRAINED.name}/{card['name']}"
    metadata = ModelCardData(
        license="apache-2.0",
        library_name="concord",
        tags=["multi-agent", "reinforcement-learning", "ray-rllib", card["experiment"]],
        model_name=card["name"],
        eval_results=[
            EvalResult(
                task_type="reinforcement-learning",
                dataset_type=row["world"],
                dataset_config=row.get("condition"),  # otherwise all conditions would be one data set
                dataset_name=" ".join(filter(None, (row["world"], row.get("condition")))),
                metric_type=row["metric"],
                metric_value=round(row["value"], 3),
            )
            for row in card["numbers"]
            if "method" not in row and row["metric"] in _HEADLINES
        ],
    )
    lines = [
        "---",
        metadata.to_yaml(),
        "---",
        "",
        f"# {card['name']}",
        "",
        f"{card['caption']}: `{card['method']}`, seed {card['seed']}, trained for {card['env_steps']:,} env steps.",
        "",
        f"* Given: {card['given']}",
        f"* Seed: {card['seed_choice']}",
        f"* Command: `{card['command']}`",
        f"* Commit: `{card['commit']}`, with " + ", ".join(f"{key} {value}" for key, value in card["versions"].items()),
        f'* Use: `load_policy("{place}")`, `python -m tune_experiments show {place}`',
        "",
        "| tested in | metric | value | 95 % interval | episodes |",
        "|---|---|---:|---:|---:|",
    ]
    for row in card["numbers"]:
        ends = "" if row["ci_low"] is None else f"[{row['ci_low']:.3f}, {row['ci_high']:.3f}]"
        episodes = "" if row["n_episodes"] is None else f"{row['n_episodes']:,}"
        player = f"({row['method']})" if "method" in row else ""
        place = " ".join(filter(None, (row["world"], row.get("condition"), player)))
        lines.append(f"| {place} | {row['metric']} | {row['value']:.3f} | {ends} | {episodes} |")
    return "\n".join([*lines, "", "Intervals are over the episodes of this one seed.", ""])


def _origin(sessions: Sequence[Mapping[str, Any]]) -> dict[str, str | dict[str, str]]:
    """Commands, commits (with `+` for local changes) and versions of sessions: which one trained is not known."""
    gits = [session["git"] or {"commit": None, "dirty": False} for session in sessions]
    commits = (f"{git['commit'] or 'unknown'}{'+' * git['dirty']}" for git in gits)
    return {
        "command": "; ".join(dict.fromkeys(without_run_folder(one["command"]) for one in sessions)),
        "commit": ", ".join(dict.fromkeys(commits)),
        "versions": {
            key: ", ".join(dict.fromkeys(str(one["versions"].get(key, "unknown")) for one in sessions))
            for key in ("python", "torch", "numpy")
        },
    }


def _numbers(run: Path, loaded: LoadedPolicy) -> list[dict[str, Any]]:
    """The team's own rows of its run's results; then those of players without a seed, which name the player."""
    tested = [row for row in read_results(run) if row.split != "train"]
    own = [row for row in tested if (row.method, row.seed) == (loaded.method, loaded.seed)]
    if not own:
        raise UserError(f"{run} has no test results of {loaded.method} with seed {loaded.seed}; let its run end first")
    numbers = []
    for row in [*own, *(row for row in tested if row.seed is None)]:
        kept = ("world", *["condition"] * bool(row.condition), "metric", "value", "ci_low", "ci_high", "n_episodes")
        player = {"method": row.method} if row.seed is None else {}
        numbers.append(player | {key: getattr(row, key) for key in kept})
    return numbers


def folder_bytes(folder: Path) -> int:
    """Bytes of all files below a folder."""
    return sum(path.stat().st_size for path in folder.rglob("*") if path.is_file())
