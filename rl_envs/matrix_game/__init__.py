"""Single-step games of coordination, the smallest worlds in which joint policies differ from marginal ones."""
