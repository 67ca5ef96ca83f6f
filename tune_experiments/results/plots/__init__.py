"""Figures of a run: learning curves, and joint policies. Matplotlib is imported inside the functions."""

from tune_experiments.results.plots.curves import learning_curves
from tune_experiments.results.plots.figures import COLOURS, LineStyle, save
from tune_experiments.results.plots.joint_policy import joint_policy

__all__ = ["COLOURS", "LineStyle", "joint_policy", "learning_curves", "save"]
