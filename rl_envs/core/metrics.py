"""Ranges of metrics: the values that an episode's metric can have, so that no interval exceeds them.

A world declares them in `World.metric_ranges` next to `metric_names`, an experiment those of its own metrics in
`Experiment.metric_ranges`. A metric without a declaration can have any value.
"""

import math
from dataclasses import dataclass


@dataclass(frozen=True)
class MetricRange:
    """Range of a metric.

    Attributes:
        low: smallest value of an episode.
        high: largest value.
        is_share: whether it is 0 or 1 in each episode of one agent, so that its mean is a share of episodes.
    """

    low: float = -math.inf
    high: float = math.inf
    is_share: bool = False


ANY = MetricRange()
COUNT = MetricRange(0.0)
"""At least 0: counts, distances, times."""
PROPORTION = MetricRange(0.0, 1.0)
"""Between 0 and 1 in each episode."""
SHARE = MetricRange(0.0, 1.0, is_share=True)
"""0 or 1 in each episode: whether something happened."""
