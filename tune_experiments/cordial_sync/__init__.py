"""What the experiments on A Cordial Sync share: FurnMove on the grid and through cameras, FurnLift, and messages."""
