"""What the parts share: figures, the CPU's clock, and the loops that are timed."""
