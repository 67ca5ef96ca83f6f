"""Shared code of the experiments on A Cordial Sync: FurnMove on the grid and through cameras, FurnLift, messages."""
