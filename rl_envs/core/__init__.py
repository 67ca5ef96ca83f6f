"""What all worlds share: the contract, chance, specs and token tables."""
