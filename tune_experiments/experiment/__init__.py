"""What an experiment is: its methods to write, plans, curricula, search space and command line."""
