"""Core of all worlds: base class, random numbers, specs and token tables."""
