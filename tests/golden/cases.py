"""Which recordings the golden tests replay: our own small ones, and those of GOLDEN_DIR where it is set."""

import os
from pathlib import Path

import pytest

OWN = Path(__file__).parent / "recordings"
GOLDEN = Path(os.environ["GOLDEN_DIR"]) if "GOLDEN_DIR" in os.environ else None


def own_or_golden(pattern, world="furnmove"):
    """Files of a world: ours lie in a folder of its name, FurnMove's beside those folders."""
    ours = OWN / world if world != "furnmove" else OWN
    files = sorted(ours.glob(pattern)) + (sorted((GOLDEN / world).glob(pattern)) if GOLDEN else [])
    return [pytest.param(path, id=f"{path.parent.name}-{path.stem}") for path in files]
