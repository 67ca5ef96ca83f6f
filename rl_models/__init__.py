"""Policies and learning: networks, heads, distributions and losses in torch, and the loops that train them.

No environment is imported here. Policies and environments are connected by documented observation keys and by callables
that an experiment passes.
"""
