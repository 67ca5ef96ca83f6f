"""RLlib's door to the minds: the only folder here that imports Ray. It adds no mathematics."""
