"""Policies and learning: networks, heads, distributions and losses in torch, and the loops that train them.

Worlds are not known here. Policies and worlds meet through documented observation keys and the callables that an
experiment hands in.
"""
