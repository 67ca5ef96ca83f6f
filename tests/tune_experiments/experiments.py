"""Names of the scripts, for tests of all of them."""

from tune_experiments.experiment.finding import known_experiments

UNTRAINED = frozenset({"overcooked_crossplay", "overcooked_returns", "sama_retest"})
"""Scripts that train nothing, so they have no experiment and no configuration."""
TRAINED = sorted({*known_experiments()} - UNTRAINED)
