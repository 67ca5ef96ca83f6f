"""FrozenLake for two agents, each of which must reach its own target; planners do not see the map."""
