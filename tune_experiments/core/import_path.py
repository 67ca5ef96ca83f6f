"""Makes modules of the current folder importable, after all installed ones.

Python looks first in the current folder (`python -m`) or in that of the script, where files such as `random.py` or our
folder `play` would hide other modules. This file must import nothing that such a file could hide.
"""

import os
import sys

_SCRIPTS = os.path.dirname(os.path.dirname(os.path.realpath(__file__)))


def append_current_folder() -> None:
    """Move the current folder to the end of `sys.path`, and remove the folder of our scripts.

    The folder that holds this package keeps its place, because its packages are of one version.
    """
    here, first = os.getcwd(), os.path.realpath(sys.path[0] if sys.path else "")
    if first == _SCRIPTS or (first == os.path.realpath(here) != os.path.dirname(_SCRIPTS)):
        del sys.path[0]
    if not {"", here} & set(sys.path):
        sys.path.append(here)
