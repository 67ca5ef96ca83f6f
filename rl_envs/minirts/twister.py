"""The scripts' random numbers: a 32-bit Mersenne twister a side (golden README, "Scripts")."""

import numpy as np

from rl_envs.core.compiled import kernel
from rl_envs.minirts.game import TWISTER

_MIDDLE = 397
_UPPER, _LOWER = np.uint32(0x80000000), np.uint32(0x7FFFFFFF)
_MATRIX = np.uint32(0x9908B0DF)
_WORD = np.uint64(0xFFFFFFFF)
THREAD_BITS = 20
"""Seed of a side's generator: player * 2**20 + thread number."""


@kernel
def seed_twister(g, player, seed):
    """Start a side's generator from one number."""
    state = g.twister[player]
    state[0] = np.uint32(seed)
    for k in range(1, TWISTER):
        before = np.uint64(state[k - 1])
        mixed = before ^ (before >> np.uint64(30))
        state[k] = np.uint32((np.uint64(1812433253) * mixed + np.uint64(k)) & _WORD)
    g.twister_at[player] = TWISTER


@kernel
def refill(state):
    """Compute the next 624 words."""
    for k in range(TWISTER):
        joined = (state[k] & _UPPER) | (state[(k + 1) % TWISTER] & _LOWER)
        word = state[(k + _MIDDLE) % TWISTER] ^ (joined >> np.uint32(1))
        state[k] = word ^ _MATRIX if joined & np.uint32(1) else word


@kernel
def next_word(g, player):
    """The next 32 random bits of a side, as int64."""
    state = g.twister[player]
    if g.twister_at[player] >= TWISTER:
        refill(state)
        g.twister_at[player] = 0
    word = np.uint64(state[g.twister_at[player]])
    g.twister_at[player] += 1
    word ^= word >> np.uint64(11)
    word ^= (word << np.uint64(7)) & np.uint64(0x9D2C5680)
    word ^= (word << np.uint64(15)) & np.uint64(0xEFC60000)
    word ^= word >> np.uint64(18)
    return np.int64(word & _WORD)


@kernel
def draw_between(g, player, low, high):
    """A whole number from low .. high, by multiplication and rejection."""
    count = high - low + 1
    least = (4294967296 - count) % count
    while True:
        product = next_word(g, player) * count
        if product & 0xFFFFFFFF >= least:
            return low + (product >> 32)


@kernel
def shuffle(g, player, order):
    """Write a random order of 0 .. 15."""
    for k in range(len(order)):
        order[k] = k
    for k in range(1, len(order)):
        other = next_word(g, player) % (k + 1)
        order[k], order[other] = order[other], order[k]
