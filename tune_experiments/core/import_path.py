"""A user's own modules: those of the current folder are found, behind all that is installed.

Python looks first where it was started: in the current folder for `python -m`, in that of the script for
`python tune_experiments/NAME.py`. So a file `random.py` there would hide Python's own, and our folder `play` would hide
a module `play` of the user. This file must import nothing that such a file could hide.
"""

from __future__ import annotations

import os
import sys

__all__ = ["current_folder_last"]

_SCRIPTS = os.path.dirname(os.path.dirname(os.path.realpath(__file__)))


def current_folder_last() -> None:
    """Look for modules in the current folder after all others, and not in the folder of our scripts.

    The folder that holds this package stays where it is, for its packages are of one version.
    """
    here, first = os.getcwd(), os.path.realpath(sys.path[0] if sys.path else "")
    if first == _SCRIPTS or (first == os.path.realpath(here) != os.path.dirname(_SCRIPTS)):
        del sys.path[0]
    if not {"", here} & set(sys.path):
        sys.path.append(here)
