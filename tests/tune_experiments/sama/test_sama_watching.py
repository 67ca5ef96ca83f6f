"""Records of episodes in kitchens under the planner."""

import pytest

from tests.tune_experiments.play.teams import untrained

METHOD = "sama-cramped_room"


@pytest.mark.long
@pytest.mark.parametrize(("most", "reflections", "is_whole"), [(9, 0, False), (60, 0, True), (60, 3, False)])
def test_a_record_has_metrics_unless_it_was_cut(most, reflections, is_whole):
    """Undone steps are in a record, so that one with as many steps as an episode is cut where rounds are undone."""
    loaded = untrained("sama_overcooked", METHOD, reflections=reflections)
    (episode,) = loaded.experiment.episodes(loaded, 3, 1, most)
    assert len(episode.steps) == most
    assert bool(episode.metrics) == is_whole
