"""FrozenLake for two agents, each with its own target; the map is hidden from planners."""
