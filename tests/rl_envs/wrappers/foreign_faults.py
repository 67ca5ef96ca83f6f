"""Functions that a user may name by mistake: none builds an environment that can be played."""

A_NUMBER = 3


def broken():
    """The environment's own code raises."""
    return open("no_such_folder/no_such_file").read()


def nothing():
    """A forgotten return."""
