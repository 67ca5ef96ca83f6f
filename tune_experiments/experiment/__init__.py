"""Definition of an experiment: methods to implement, plans, curricula, search space and command line."""
