"""Pictures of a run: learning curves, and what pairs of actions a team plays.

Matplotlib is imported inside the functions: it costs a second, and a training worker draws nothing. This folder must
not know an experiment.
"""

from tune_experiments.results.plots.curves import learning_curves
from tune_experiments.results.plots.figures import COLOURS, LineStyle
from tune_experiments.results.plots.joint_policy import joint_policy

__all__ = ["COLOURS", "LineStyle", "joint_policy", "learning_curves"]
