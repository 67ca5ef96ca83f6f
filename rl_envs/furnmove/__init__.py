"""Gridworld-FurnMove: agents carry a lifted television through a living room (A Cordial Sync, section 3)."""
