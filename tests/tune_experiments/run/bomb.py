"""What a stranger could put into a file, for tests that it is never opened."""

import os


class Bomb:
    """Whoever unpickles it makes a folder."""

    def __init__(self, folder):
        self.folder = str(folder)

    def __reduce__(self):
        return os.mkdir, (self.folder,)
