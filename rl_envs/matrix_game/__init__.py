"""Single-step games of coordination, the smallest worlds on which joint policies differ from marginal ones."""
