"""Collecting, learning and keeping what was learned, without Ray. `rllib/` runs the same pieces on a cluster."""
