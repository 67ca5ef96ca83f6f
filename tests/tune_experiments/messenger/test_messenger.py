"""EMMA's experiment in MESSENGER: constants as released, stages, what is tested, what is told, and what is refused."""

import dataclasses

import numpy as np
import pytest

from rl_envs.messenger.corpus_file import FOLDER_VARIABLE
from rl_models.schedule import Progress
from rl_models.teams.constant_team import constant_team
from rl_models.text.choice import TextEncoderConfig
from rl_models.training.weight_transfer import matching
from tests.rl_models.text.small import save_bert
from tests.tune_experiments.fragments import update
from tune_experiments.experiment.finding import find_experiment
from tune_experiments.experiment.plan import RANDOM, Tested
from tune_experiments.messenger.config import MessengerConfig, make_world
from tune_experiments.messenger.evaluation import (
    RANDOM_SHARE,
    WithRandomMoves,
    as_tested,
    evaluate,
    random_play,
    validate,
)
from tune_experiments.messenger.tables import MOVING_NOT_IN_THE_PAPER, NOT_IN_THE_PAPER, endings_table, tables
from tune_experiments.messenger.trials import plan, training_sentences
from tune_experiments.results.rows import Result

EXPERIMENT = find_experiment("messenger_emma")
PRESETS = EXPERIMENT.presets
SMOKE, REFERENCE = PRESETS["smoke"], PRESETS["reference"]
ROWS = (*PRESETS["laptop"].methods, "emma_movement_grounding")


def small(preset, **changes):
    """A preset's run without a large encoder."""
    return dataclasses.replace(preset, encoder=TextEncoderConfig(word_features=4), max_sentences_per_cell=2, **changes)


@pytest.mark.parametrize("stage", [1, 2, 3])
@pytest.mark.parametrize("row", ROWS)
def test_every_row_learns_in_every_stage(row, stage):
    _, told = update(plan(SMOKE, row, 0).stages[stage - 1].plan)
    assert ("loss/grounding" in told) == row.endswith("_grounding")
    assert ("loss/movement_grounding" in told) == row.startswith("emma_movement")


def test_the_reference_preset_has_the_released_network_but_for_symbols_that_no_world_shows():
    """1,942,984 with tokens of 768 and a table of 25 symbols; 17 are in use, so eight rows of 256 are left out."""
    policy = plan(small(REFERENCE), "emma", 0).stages[0].plan.build_policy()
    words = policy.network.encoder.words.weight.numel()
    narrow = (768 - 4) * (2 * 256 + 2)  # projections and scores see tokens of 768 in place of 4
    assert sum(weights.numel() for weights in policy.parameters()) - words + narrow == 1_942_984 - 8 * 256


@pytest.mark.parametrize(
    ("script", "row", "agents"), [("messenger_emma", "emma", 1), ("endi_messenger", "endi_dis", 2)]
)
def test_attention_of_all_agents_is_frozen_after_the_first_stage_where_that_is_asked_for(script, row, agents):
    experiment = find_experiment(script)
    smoke = experiment.presets["smoke"]
    first, *later = experiment.plan(dataclasses.replace(smoke, freezes_attention=True), row, 0).stages
    assert first.frozen == () and len({stage.frozen for stage in later}) == 1
    policy = later[0].plan_at(1).build_policy()
    frozen = [name for name, weights in policy.named_parameters() if not weights.requires_grad]
    assert frozen == matching(later[0].frozen, dict(policy.named_parameters())) and len(frozen) == 5 * agents
    assert all(".reader.key_" in name or name.endswith(".body.symbols.weight") for name in frozen)
    assert not any("goal_symbols" in name for name in frozen)
    assert not any(stage.frozen for stage in experiment.plan(smoke, row, 0).stages)


def test_no_attention_is_frozen_of_a_row_that_has_none():
    assert REFERENCE.freezes_attention
    assert not any(stage.frozen for stage in plan(small(REFERENCE), "game_id", 0).stages)


def test_weights_are_chosen_by_the_win_rate_in_games_of_validation():
    trial = plan(SMOKE, "emma", 0).stages[1].plan
    assert trial.chosen_by == "win_rate"
    episodes = trial.validate(trial.build_policy())
    assert len(episodes["win_rate"]) == SMOKE.valid_episodes
    world = make_world(SMOKE, 2, SMOKE.valid_episodes, split="val")
    wanted = WithRandomMoves(world, trial.build_policy()).run(84)
    np.testing.assert_array_equal(episodes["length"], wanted["length"])


@pytest.mark.parametrize("stages", [(1,), (1, 2), (1, 2, 3)])
def test_words_are_those_of_the_sentences_that_training_shows(stages):
    config = small(PRESETS["laptop"], stages=stages)
    known, shown = set(training_sentences(config)), set()
    for stage in stages:
        world = make_world(config, stage, 400)
        shown |= {world.sentences[number] for number in np.unique(world.reset(0)["manual"])}
    assert shown <= known
    held_out = make_world(config, stages[0], 400, split="test")
    assert not known & {held_out.sentences[number] for number in np.unique(held_out.reset(0)["manual"])}


def test_five_of_a_hundred_actions_are_random_when_a_team_is_tested():
    team = constant_team(1, 1, 5)
    world = make_world(MessengerConfig(), 1, 6000)
    taken, step = [], world.step
    world.step = lambda actions: taken.append(actions) or step(actions)
    WithRandomMoves(world, team).run(1)
    counts = np.bincount(taken[0].flatten(), minlength=5) / 6000
    likeliest = int(counts.argmax())
    each = RANDOM_SHARE / 5
    for action, share in enumerate(counts):
        wanted = each + (1 - RANDOM_SHARE) * (action == likeliest)
        assert abs(share - wanted) < 4 * (wanted * (1 - wanted) / 6000) ** 0.5


@pytest.mark.long
@pytest.mark.parametrize("stage", [pytest.param(1, marks=pytest.mark.slow), 2, pytest.param(3, marks=pytest.mark.slow)])
def test_a_stage_is_tested_on_training_and_new_games_with_and_without_true_manuals_beside_random_play(stage):
    policy = plan(SMOKE, "emma", 0).stages[stage - 1].plan.build_policy()
    played = evaluate(SMOKE, stage, policy)
    own = ["train", "test", *["test_se"] * (stage == 2), "train_permuted", "test_permuted"]
    chance = [dataclasses.replace(as_tested(stage, name), method=RANDOM) for name in own if "permuted" not in name]
    assert list(played) == [*(as_tested(stage, name) for name in own), *chance]
    assert as_tested(stage, "test_permuted") == Tested(f"stage_{stage}_test", "permuted")
    assert all(len(episodes["win_rate"]) == SMOKE.test_episodes for episodes in played.values())


def test_random_play_wins_as_often_as_is_known():
    """8.0 % of training games in stage 1, by the authors' engine."""
    wins = random_play(MessengerConfig(), 1, 6000)["train"]["win_rate"]
    assert abs(wins.mean() - 0.080) < 3 * (0.08 * 0.92 / 6000) ** 0.5


def line(method, world, value, condition=""):
    rest = ("test", 0, "win_rate", value, value, value, 10, 7)
    return Result("x", "caption", method, world, *rest, condition=condition)


def test_tables_say_which_rows_the_paper_does_not_have():
    lines = [line(row, "stage_1_test", 0.3) for row in ("emma", "emma_grounding")]
    (found,) = tables(lines, "caption")
    assert NOT_IN_THE_PAPER in found.caption
    assert MOVING_NOT_IN_THE_PAPER not in found.caption
    (moving,) = tables([line("emma_movement_grounding", "stage_1_test", 0.3)], "caption")
    assert MOVING_NOT_IN_THE_PAPER in moving.caption
    (alone,) = tables(lines[:1], "caption")
    assert NOT_IN_THE_PAPER not in alone.caption


def test_the_last_table_says_what_games_are_lost_to():
    def ends(metric, value, world="stage_3_test", method="emma", condition=""):
        return dataclasses.replace(line(method, world, value, condition=condition), metric=metric)

    played = [ends("win_rate", 0.1), ends("lost_to_enemy", 0.3), ends("lost_to_goal_decoy", 0.6)]
    elsewhere = [ends("win_rate", 0.2, condition="permuted"), ends("win_rate", 0.02, method=RANDOM)]
    earlier = ends("lost_to_time", 0.5, "stage_1_train", condition="after stage_1")
    (table,) = endings_table([*played, *elsewhere, earlier], "caption")
    rows = {label: [cell and cell.value for cell in cells] for label, cells in table.rows}
    shown = [dict(zip(table.metrics, values, strict=True)) for values in rows.values()]
    assert [row["lost_to_goal_decoy"] for row in shown] == [0.6, None]
    assert [row["lost_to_time"] for row in shown] == [None, 0.5]
    assert endings_table([ends("win_rate", 0.1)], "caption") == []


def test_the_movement_contrast_has_a_weight_and_0_leaves_it_out():
    row = "emma_movement_grounding"
    halved, without = (dataclasses.replace(SMOKE, movement_grounding_coef=weight) for weight in (0.5, 0.0))
    losses = plan(halved, row, 0).stages[1].plan.objective.extra_losses
    assert [loss.weight.at(Progress()) for loss in losses] == [1.0, 0.5]
    assert len(plan(without, row, 0).stages[1].plan.objective.extra_losses) == 1


def test_a_run_on_the_published_corpus_says_which_folder_it_had(monkeypatch, tmp_path):
    monkeypatch.setenv(FOLDER_VARIABLE, "corpus")
    monkeypatch.chdir(tmp_path)
    config = MessengerConfig(texts="published")
    monkeypatch.delenv(FOLDER_VARIABLE)
    assert config.texts == str(tmp_path / "corpus")
    assert dataclasses.replace(config).texts == config.texts


def test_a_frozen_encoder_from_a_local_folder_learns_and_is_tested(tmp_path):
    encoder = TextEncoderConfig(save_bert(tmp_path / "bert", positions=64), folder=str(tmp_path / "encodings"))
    config = dataclasses.replace(SMOKE, encoder=encoder, max_sentences_per_cell=1, stages=(1,))
    trial = plan(config, "emma_grounding", 0).stages[0].plan
    policy, _ = update(trial)
    assert not any("encoder" in name for name, _ in policy.named_parameters())
    assert len(validate(config, 1, policy)["win_rate"]) == config.valid_episodes
