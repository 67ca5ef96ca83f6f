"""A person plays with a trained team in the browser: `python -m tune_experiments play TEAM --human AGENT`."""
