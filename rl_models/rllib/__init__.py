"""RLlib integration of the policies: the only folder of this package that imports Ray."""
