"""What a drill found out."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

__all__ = ["Finding", "as_table"]


@dataclass(frozen=True)
class Finding:
    """One drill.

    Attributes:
        fault: what was broken.
        lost_env_steps: training that had to be done again.
        seconds: until training was beyond the point where it was broken.
        seen: what the user sees.
        is_whole: whether the run ended with results, no row missing or double.
    """

    fault: str
    lost_env_steps: int
    seconds: float
    seen: str
    is_whole: bool


def as_table(findings: Sequence[Finding], interval: int) -> str:
    """All drills in Markdown."""
    lost = f"env steps lost (a checkpoint every {interval:,})"
    lines = [
        f"| fault | {lost} | seconds until beyond it | the user sees | ended whole |",
        "|---|---:|---:|---|---|",
    ]
    for one in findings:
        seen = " ".join(one.seen.split()).replace("|", "/")
        whole = "yes" if one.is_whole else "**no**"
        lines.append(f"| {one.fault} | {one.lost_env_steps:,} | {one.seconds:.0f} | {seen} | {whole} |")
    return "\n".join([*lines, ""])
