"""Our worlds in the trainers of others: Stable-Baselines3, stock RLlib and BenchMARL. One file is one trainer."""
