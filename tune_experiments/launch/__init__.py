"""Entry points: `Experiment` with `run`, the command line of scripts, and the object that a run returns."""
