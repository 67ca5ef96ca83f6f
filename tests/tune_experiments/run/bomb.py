"""What a stranger could put into a file, for tests that it is never opened."""

import os
import pickle


class Bomb:
    """Whoever unpickles it makes a folder."""

    def __init__(self, folder):
        self.folder = str(folder)

    def __reduce__(self):
        return os.mkdir, (self.folder,)


class _Opened:
    def __reduce__(self):
        return exec, ("raise SystemExit('a pickle was opened')",)


BOMB = pickle.dumps(_Opened(), 0)
"""Whoever unpickles it exits, which no handler of errors holds; it is ASCII, so that it can stand in any text file."""
