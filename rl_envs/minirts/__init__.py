"""MiniRTS: a real-time strategy game of two sides on a 32 x 32 map, as a batched world."""
