"""Records of episodes in kitchens under the planner, and loaded teams that leave nothing behind when they play."""

import pytest

from rl_models.training.checkpoint import load_checkpoint, save_checkpoint
from tests.tune_experiments.play.teams import untrained
from tune_experiments import load_policy
from tune_experiments.play.loading import find_checkpoint
from tune_experiments.play.team_paths import PRETRAINED

METHOD = "sama-cramped_room"


@pytest.mark.long
@pytest.mark.parametrize(("most", "reflections", "is_whole"), [(9, 0, False), (60, 0, True), (60, 3, False)])
def test_a_record_has_metrics_unless_it_was_cut(most, reflections, is_whole):
    """Undone steps are in a record, so that one with as many steps as an episode is cut where rounds are undone."""
    loaded = untrained("sama_overcooked", METHOD, reflections=reflections)
    (episode,) = loaded.experiment.episodes(loaded, 3, 1, most)
    assert len(episode.steps) == most
    assert bool(episode.metrics) == is_whole


def test_a_loaded_team_records_nothing_where_its_run_did(tmp_path):
    stored = load_checkpoint(find_checkpoint(PRETRAINED / "sama_cramped_room"))
    stored.state["config"]["record"] = str(tmp_path / "asked")
    save_checkpoint(tmp_path / "team/checkpoints", stored.step, stored.tensors, stored.state)
    loaded = load_policy(tmp_path / "team")
    loaded.experiment.episodes(loaded, 3, 1, 4)
    assert [entry.name for entry in tmp_path.iterdir()] == ["team"]
