"""A game of two steps in which agents that add up their values choose the safe half of it."""
