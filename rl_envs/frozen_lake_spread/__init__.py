"""FrozenLake for two agents, each of which must reach a target of its own; who plans for them is told no map."""
