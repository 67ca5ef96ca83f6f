"""What the experiments on A Cordial Sync's gridworld share: each subclasses `gridworld.GridworldExperiment`."""
