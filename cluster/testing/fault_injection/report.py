"""The report on an injected fault."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

__all__ = ["Finding", "as_table"]


@dataclass(frozen=True)
class Finding:
    """Cost of one fault.

    Attributes:
        fault: what was broken.
        lost_env_steps: env steps that were trained again.
        seconds: time until training was past the point of the fault.
        seen: what the user sees.
        is_whole: whether the run ended with results and its log has no missing and no double row.
    """

    fault: str
    lost_env_steps: int
    seconds: float
    seen: str
    is_whole: bool


def as_table(findings: Sequence[Finding], interval: int) -> str:
    """All findings in Markdown; `interval` is the env steps between two checkpoints."""
    lost = f"env steps lost (a checkpoint every {interval:,})"
    lines = [f"| fault | {lost} | seconds until beyond it | the user sees | ended whole |", "|---|---:|---:|---|---|"]
    for one in findings:
        seen = " ".join(one.seen.split()).replace("|", "/")
        whole = "yes" if one.is_whole else "**no**"
        lines.append(f"| {one.fault} | {one.lost_env_steps:,} | {one.seconds:.0f} | {seen} | {whole} |")
    return "\n".join([*lines, ""])
