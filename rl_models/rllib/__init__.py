"""RLlib's door to the policies: the only folder here that imports Ray. It adds no mathematics."""
