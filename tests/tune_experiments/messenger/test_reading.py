"""Whose sentence a sprite reads: counted against a slow loop, and shown in a table of its own."""

import dataclasses

import numpy as np
import pytest
import torch

from rl_envs.messenger.corpus_file import build_corpus
from rl_envs.messenger.symbols import ENEMY, FIRST_ENTITY, GOAL, MESSAGE, SIDE
from tune_experiments.experiment.finding import find_experiment
from tune_experiments.experiment.plan import Tested
from tune_experiments.messenger.config import make_world
from tune_experiments.messenger.evaluation import EVALUATION_SEED, GIVEN_ROLES, ReadingEvaluation, WithRandomMoves
from tune_experiments.messenger.evaluation import evaluate_reading as evaluate
from tune_experiments.messenger.tables import reading_table
from tune_experiments.messenger.trials import build_policy
from tune_experiments.results.rows import Result

EXPERIMENT = find_experiment("messenger_emma")
SMOKE = EXPERIMENT.presets["smoke"]
ROLES_IN_ORDER = (ENEMY, MESSAGE, GOAL, ENEMY, ENEMY)


def corpus():
    return build_corpus(SMOKE.texts, SMOKE.repair_quotes, SMOKE.max_sentences_per_cell)[0]


def slow_readings(reading, attention, manual):
    """[B, 1, E] bool twice, sprite by sprite: it counts; it reads its own sentence."""
    world, about = reading.world, corpus().about
    shape = world.state["entity_symbols"].shape
    counted, right = np.zeros(shape, bool), np.zeros(shape, bool)
    shown = world.observe()
    for game, entity in np.ndindex(shape):
        symbol = world.state["entity_symbols"][game, entity]
        row, column = world.state["entity_places"][game, entity] // 2
        here = [
            index
            for index, cell in enumerate(shown["cells"][game, 0, -1])
            if cell == row * SIDE + column and shown["symbols"][game, 0, -1, index]
        ]
        if not world.state["entity_here"][game, entity] or len(here) != 1:
            continue
        counted[game, entity] = True
        told, role, _ = about[manual[game, attention[game, here[0]].argmax()]]
        right[game, entity] = told + FIRST_ENTITY == symbol and role == ROLES_IN_ORDER[entity]
    return counted[:, None], right[:, None]


@pytest.mark.long
@pytest.mark.parametrize(("stage", "entities"), [(2, 3), (3, 5)])
def test_readings_are_those_of_a_slow_loop_over_sprites(stage, entities):
    world = make_world(SMOKE, stage, 40, split="test")
    compared = []

    class Compared(ReadingEvaluation):
        def readings(self, output, obs):
            found = super().readings(output, obs)
            attention, manual = output.extras["attention/manual"][:, 0, 0].numpy(), obs["manual"][:, 0, 0].numpy()
            compared.append([(found["_counted"], found["_right"]), slow_readings(self, attention, manual)])
            return found

    reading = Compared(corpus().about, world, build_policy(SMOKE, "emma", 0))
    reading.policy.network.shows_attention = True
    reading.run(3)
    assert len(compared) > 5
    for ours, slow in compared:
        for one, other in zip(ours, slow, strict=True):
            np.testing.assert_array_equal(one.numpy(), other)
    counted = np.concatenate([ours[0].numpy() for ours, _ in compared])
    assert counted.shape[-1] == entities
    assert not counted.all()
    assert counted.any((0, 1)).all()


@pytest.mark.long
def test_what_is_played_is_the_same_whether_readings_are_counted_or_not():
    policy = build_policy(SMOKE, "emma", 0)
    plain = WithRandomMoves(make_world(SMOKE, 3, 20, split="test"), policy).run(EVALUATION_SEED)
    read = ReadingEvaluation(corpus().about, make_world(SMOKE, 3, 20, split="test"), policy).run(EVALUATION_SEED)
    assert set(read) - set(plain) == set(GIVEN_ROLES)
    for name, values in plain.items():
        np.testing.assert_array_equal(read[name], values)
    assert not policy.network.shows_attention
    for name in GIVEN_ROLES:
        assert ((read[name] >= 0) & (read[name] <= 1)).all()


def test_a_team_that_attends_to_one_sentence_reads_it_in_all_moments_of_an_episode():
    """Attention on the sentence about the enemy: its sprite reads its own one always, and no other sprite does."""
    world = make_world(SMOKE, 2, 30, split="test")

    class AtTheEnemy(ReadingEvaluation):
        def readings(self, output, obs):
            attention = output.extras["attention/manual"]
            roles = torch.from_numpy(corpus().about[obs["manual"][:, 0, 0].numpy(), 1])
            attention[:, 0, 0] = (roles == ENEMY).float()[:, None]
            return super().readings(output, obs)

    read = AtTheEnemy(corpus().about, world, build_policy(SMOKE, "emma", 0)).run(3)
    assert (read["length"] > 1).any()
    assert {name: set(values) for name, values in read.items() if name in GIVEN_ROLES} == {
        "reads_enemy": {1.0},
        "reads_message": {0.0},
        "reads_goal": {0.0},
    }


def test_readings_are_counted_where_the_manual_is_that_of_the_game():
    tested = evaluate(SMOKE, 1, build_policy(SMOKE, "emma", 0))
    counted = {test for test, episodes in tested.items() if "reads_enemy" in episodes}
    assert counted == {Tested("stage_1_train"), Tested("stage_1_test")}
    assert "reads_message_decoy" not in tested[Tested("stage_1_test")]
    tested = EXPERIMENT.evaluate(dataclasses.replace(SMOKE, stages=(1,)), "game_id", build_policy(SMOKE, "game_id", 0))
    assert not any("reads_enemy" in episodes for episodes in tested.values())


def test_the_table_shows_each_stages_training_and_test_games():
    def reads(metric, value, world="stage_3_test", condition=""):
        rest = ("test", 0, metric, value, value, value, 10, 7)
        return Result("x", "caption", "emma", world, *rest, condition=condition)

    lines = [reads("reads_message", 0.9), reads("reads_message_decoy", 0.2), reads("win_rate", 0.1)]
    (table,) = reading_table([*lines, reads("reads_goal", 0.7, "stage_2_train", "after stage_2")], "caption")
    rows = {
        label: dict(zip(table.metrics, [cell and cell.value for cell in cells], strict=True))
        for label, cells in table.rows
    }
    assert sorted(rows) == ["emma · S2, train", "emma · S3, test"]
    assert rows["emma · S3, test"]["reads_message_decoy"] == 0.2
    assert rows["emma · S2, train"]["reads_message_decoy"] is None
    assert reading_table([reads("win_rate", 0.1)], "caption") == []
    (without,) = reading_table([reads("reads_goal", 0.7, "stage_2_train")], "caption")
    assert without.metrics == ("reads_goal",)
