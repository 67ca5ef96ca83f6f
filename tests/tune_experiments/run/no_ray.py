"""Run a command of this project with every import of Ray refused: `python -m tests...no_ray MODULE ARGUMENT...`."""

import importlib.abc
import runpy
import sys


class NoRay(importlib.abc.MetaPathFinder):
    """Finds no module of Ray's."""

    def find_spec(self, name, path=None, target=None):
        """Refuse what belongs to Ray."""
        if name.partition(".")[0] == "ray":
            raise ImportError(f"{name} is not installed here")
        return


if __name__ == "__main__":
    sys.meta_path.insert(0, NoRay())
    sys.argv = sys.argv[1:]
    runpy.run_module(sys.argv[0], run_name="__main__", alter_sys=True)
