"""One run from its start to its test: trials, log, checkpoints, storage, progress, Ray."""
