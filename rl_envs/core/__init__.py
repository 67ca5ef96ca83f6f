"""Core that all worlds share: the contract, chance, specs and token tables."""
