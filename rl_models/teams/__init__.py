"""Ready-made teams: a network with its heads."""
