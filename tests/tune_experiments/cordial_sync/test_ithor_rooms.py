"""Results on iTHOR's floors carry the name of the inferred masks, in the table."""

import dataclasses

from rl_envs.furnmove.start_file import save_starts
from tune_experiments.cordial_sync import evaluation
from tune_experiments.cordial_sync.trials import plan
from tune_experiments.experiment.finding import find_experiment

EXPERIMENT = find_experiment("furnmove_sync")
SMOKE = dataclasses.replace(EXPERIMENT.presets["smoke"], test_starts_per_room=1, max_episode_steps=3)
ITHOR = dataclasses.replace(SMOKE, train_rooms="ithor_train", valid_rooms=("ithor_valid",), test_rooms=("ithor_test",))


def worlds_of_the_table(config):
    policy = plan(SMOKE, "marginal", 0).build_policy()
    return list(evaluation.evaluate(config, policy))


def test_results_name_the_rooms_masks_and_frames_that_are_not_the_papers(tmp_path):
    assert worlds_of_the_table(ITHOR) == ["furnmove-ithor_floors_inferred_television_masks"]
    assert worlds_of_the_table(SMOKE) == ["furnmove-laptop"]
    save_starts(tmp_path / "mine.json", evaluation.test_starts(ITHOR))
    config = dataclasses.replace(SMOKE, test_starts=str(tmp_path / "mine.json"))
    assert worlds_of_the_table(config) == ["furnmove-mine-ithor_floors_inferred_television_masks"]
    three = dataclasses.replace(find_experiment("furnmove_visual").presets["smoke"], num_agents=3)
    assert evaluation.world_name(three) == "furnmove-laptop-42_pixel_frames-3_agents"
    evaluation.check_rooms_apart(ITHOR)
