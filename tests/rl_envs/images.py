"""What tests of images look at: the patch of a cell, which share of it has a colour, and the classes of a frame."""

import numpy as np

from rl_envs.furnmove.frame_palette import SHADES


def patch_of(image, place, cell):
    """The pixels of the cell at a place (row, column), which may lie between two cells; a cell has so many pixels."""
    row, column = (round(part * cell) for part in place)
    return image[row : row + cell, column : column + cell].astype(int)


def share(pixels, colour):
    """Share of the pixels that have nearly this colour."""
    return (abs(pixels - np.array(colour)).max(-1) <= 4).mean()


def classes_of(drawn):
    """Classes of a frame's bytes, of the same shape (`rl_envs/furnmove/frame_palette.py`)."""
    return (drawn // SHADES).astype(np.uint8)
