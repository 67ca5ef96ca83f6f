"""What the experiments on A Cordial Sync's gridworld share: `gridworld.gridworld_experiment` makes each of them."""
