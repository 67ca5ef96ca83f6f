"""Learning without Ray: checkpoints and the thin loop that tests, benchmarks and measurements share."""
