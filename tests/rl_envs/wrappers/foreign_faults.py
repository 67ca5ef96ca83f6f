"""Functions that a user may name by mistake: none builds an environment that can be played."""

A_NUMBER = 3


def broken():
    """The environment's own code raises."""
    return open("no_such_folder/no_such_file").read()


def nothing():
    """A forgotten return."""


def in_turn():
    """PettingZoo's other kind of environment."""
    from mpe2 import simple_spread_v3

    return simple_spread_v3.env()
