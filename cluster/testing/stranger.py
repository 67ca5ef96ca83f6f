"""Somebody who asks a cluster on this machine without the right token, and what he is told."""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
from collections.abc import Mapping, Sequence

from cluster.testing.local_cluster import ROOT, LocalCluster

__all__ = ["STRANGERS", "refusal"]

STRANGERS: Mapping[str, str | None] = {"no token": None, "a wrong token": "0" * 64}
"""Who asks -> the token that he shows."""


def refusal(cluster: LocalCluster, experiment: str, flags: Sequence[str], token: str | None) -> str:
    """What he is told who submits with this token, or none; empty unless it is one sentence and all there is."""
    with tempfile.TemporaryDirectory() as home:  # Ray would find a token in ~/.ray
        command = [sys.executable, "-m", "cluster.submit", experiment, *flags, "--out", f"{home}/out"]
        environment = _environment(cluster, home, token)
        done = subprocess.run(command, env=environment, cwd=ROOT, capture_output=True, text=True)
    told = done.stderr.strip()
    is_refused = done.returncode != 0 and not done.stdout and told.startswith("error: ") and "\n" not in told
    return told.replace(cluster.api_address, "http://HOST:PORT") if is_refused else ""


def _environment(cluster: LocalCluster, home: str, token: str | None) -> dict[str, str]:
    """The user's own but for what holds a token."""
    known = os.environ | cluster.environment | {"HOME": home}
    variables = {name: value for name, value in known.items() if not name.startswith("RAY_AUTH_TOKEN")}
    return variables if token is None else variables | {"RAY_AUTH_TOKEN": token}
