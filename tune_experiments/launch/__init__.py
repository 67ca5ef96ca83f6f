"""The front door: `Experiment` with `run`, the command line of scripts, and what a run gives back."""
