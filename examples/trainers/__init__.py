"""Concord's environments in other trainers: Stable-Baselines3, stock RLlib and BenchMARL."""
