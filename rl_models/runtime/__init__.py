"""Caches, graphs and devices of a process that acts or learns; no network."""
