"""The names of all scripts of experiments."""

from pathlib import Path

NAMES = sorted(path.stem for path in Path("tune_experiments").glob("*.py") if "\nEXPERIMENT = " in path.read_text())
