"""Rollouts, updates and checkpoints without Ray; `rllib/` runs the same classes on a cluster."""
