"""Load, evaluate, show and play a trained team."""
