"""The page: template, style, script and data in one file that loads and runs nothing else.

A Content-Security-Policy allows the program and the style by their hashes, and pictures that the file itself holds. No
text in the data can end the element that holds it, and the program puts texts into the page as text only.
"""

import base64
import hashlib
import io
import json
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, TypeAlias

import numpy as np
from PIL import Image

from rl_envs.core.spec import Array
from tune_experiments.play.episode import AgentStep, Episode, Step

FOLDER = Path(__file__).parent
Curves: TypeAlias = Mapping[str, Sequence[tuple[float, float]]]
"""Name of a metric -> points (env steps, value)."""
KEY_EVERY = 32
Piece: TypeAlias = dict[str, Any] | None
"""`x`, `y`, `width`, `height` in pixels, `png` in base64, `whole`; None for a picture that is equal to the last one."""
_ESCAPES = {ord("<"): "\\u003c", ord(">"): "\\u003e", ord("&"): "\\u0026", 0x2028: "\\u2028", 0x2029: "\\u2029"}


@dataclass(frozen=True)
class ShownTeam:
    """One team on a page, with a line on its training, its curves, and what it is given beyond the game, if known."""

    name: str
    about: str
    episodes: Sequence[Episode]
    curves: Curves = field(default_factory=dict)
    given: str = ""


def render_page(title: str, teams: Sequence[ShownTeam], note: str = "", beside: bool = False) -> str:
    """The whole page as HTML; the first team is shown first, with `beside` the second team beside it."""
    shown = [vars(team) | {"episodes": [_episode(episode) for episode in team.episodes]} for team in teams]
    data = {"title": title, "note": note, "beside": beside and len(teams) > 1, "teams": shown}
    return filled(FOLDER / "viewer", _plain(data))


def filled(template: Path, data: Any, more_policy: str = "") -> str:
    """A template `NAME.html` with `NAME.css`, `NAME.js` and JSON data inside, and the policy that allows just these."""
    style, program = (template.with_suffix(end).read_text(encoding="utf-8") for end in (".css", ".js"))
    allowed = f"script-src {_hash(program)}; style-src {_hash(style)}; img-src data:"
    policy = f"default-src 'none'; {allowed}; base-uri 'none'; form-action 'none'"
    policy += f"; {more_policy}" if more_policy else ""
    text = template.with_suffix(".html").read_text(encoding="utf-8")
    # JSON that may stand inside an HTML element.
    shown = json.dumps(data, ensure_ascii=False, allow_nan=False, separators=(",", ":")).translate(_ESCAPES)
    # The data are inserted last, so that no text in them is replaced as a placeholder.
    for mark, value in (("POLICY", policy), ("STYLE", style), ("PROGRAM", program), ("DATA", shown)):
        text = text.replace(f"%{mark}%", value, 1)
    return text


def _hash(text: str) -> str:
    return f"'sha256-{base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()}'"


# ---- data ------------------------------------------------------------------------------------------------------------


def _episode(episode: Episode) -> dict[str, Any]:
    """An episode; texts, which repeat from step to step, are numbers of its `texts`."""
    texts: dict[str, int] = {}

    def number(text: str) -> int:
        return texts.setdefault(text, len(texts))

    shown = {name: value for name, value in vars(episode).items() if name not in ("last_picture", "missing")}
    return shown | {
        "steps": [_step(step, number) for step in episode.steps],
        "pictures": encode_pictures([*(step.picture for step in episode.steps), episode.last_picture]),
        "texts": list(texts),
        "last_notes": [[note.title, note.text] for note in episode.last_notes],
    }


def _step(step: Step, number: Callable[[str], int]) -> dict[str, Any]:
    return {name: value for name, value in vars(step).items() if name != "picture"} | {
        "agents": [_agent(agent, number) for agent in step.agents],
        "texts": {key: number(text) for key, text in step.texts.items()},
        "notes": [[note.title, number(note.text)] for note in step.notes],
    }


def _agent(agent: AgentStep, number: Callable[[str], int]) -> dict[str, Any]:
    words = [number("\n".join(" ".join(word.split()) for word in one.words)) for one in agent.attention]
    maps = [vars(one) | {"words": text} for one, text in zip(agent.attention, words, strict=True)]
    return vars(agent) | {"message": number(agent.message) if agent.message else None, "attention": maps}


def _plain(value: Any) -> Any:
    """Data as JSON: floats with four digits, or None where they are not finite; arrays of shares as text."""
    if isinstance(value, Mapping):
        return {name: _plain(one) for name, one in value.items()}
    if isinstance(value, Sequence) and not isinstance(value, str):
        return [_plain(one) for one in value]
    if isinstance(value, np.ndarray):
        return _bytes(value)
    value = value.item() if isinstance(value, np.generic) else value
    return (float(f"{value:.4g}") if np.isfinite(value) else None) if isinstance(value, float) else value


def _bytes(shares: Array) -> str:
    """Numbers in [0, 1] as square roots in a byte each, row by row, in base64."""
    return base64.b64encode((np.sqrt(np.clip(shares, 0, 1)) * 255).round().astype(np.uint8).tobytes()).decode()


# ---- pictures --------------------------------------------------------------------------------------------------------


def encode_pictures(pictures: Iterable[Array | None]) -> list[Piece]:
    """One PNG patch for each picture, [H, W, 3] uint8; None for a missing picture.

    Each patch is the rectangle that changed since the picture before; the page draws them over one another. Every
    `KEY_EVERY`-th picture is whole, so that a jump draws few of them.
    """
    found: list[Piece] = []
    before: Array | None = None
    since_key = 0
    for picture in pictures:
        since_key += 1
        if picture is None:
            found.append(None)
            continue
        is_whole = before is None or before.shape != picture.shape or since_key >= KEY_EVERY
        found.append(_piece(picture, None if is_whole else before))
        since_key, before = 0 if is_whole else since_key, picture
    return found


def _piece(picture: Array, before: Array | None) -> Piece:
    if before is None:
        return _cut(picture, 0, 0, is_whole=True)
    changed = (picture != before).any(-1)
    rows, columns = np.flatnonzero(changed.any(1)), np.flatnonzero(changed.any(0))
    if not len(rows):
        return None
    return _cut(picture[rows[0] : rows[-1] + 1, columns[0] : columns[-1] + 1], int(columns[0]), int(rows[0]))


def _cut(part: Array, x: int, y: int, is_whole: bool = False) -> dict[str, Any]:
    height, width = part.shape[:2]
    return {"x": x, "y": y, "width": width, "height": height, "png": encode_png(part), "whole": is_whole}


def encode_png(picture: Array) -> str:
    """PNG of a picture [H, W, 3] uint8 in base64."""
    file = io.BytesIO()
    Image.fromarray(np.ascontiguousarray(picture)).save(file, "PNG")
    return base64.b64encode(file.getvalue()).decode()
