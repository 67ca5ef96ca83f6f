"""Trials in stages: what is transferred, what is frozen, how a stage ends, and that no death leaves a trace."""

import dataclasses
import functools
import json

import pytest
import torch

from rl_models.training.checkpoint import CheckpointError, get_checkpoint_path, newest_complete_checkpoint
from rl_models.training.local_algorithm import LocalAlgorithm
from tests.tune_experiments.rtfm.curriculum_runs import (
    ENDS,
    Died,
    assert_equal_runs,
    log_of,
    run,
    weights,
)
from tests.tune_experiments.run.stages import BATCH, Config, experiment, make_local, plan, three_stages
from tune_experiments import __main__ as commands
from tune_experiments.experiment.curriculum import Curriculum
from tune_experiments.experiment.plan import Promotion, Stage
from tune_experiments.play import loading as policies
from tune_experiments.play.loading import load_policy
from tune_experiments.results.tables import make_table
from tune_experiments.run import stage_training, trial
from tune_experiments.run.curriculum_state import check_transfers
from tune_experiments.run.final_evaluation import read_test_results


@pytest.fixture(scope="module")
def whole(tmp_path_factory):
    """A trial that nothing has interrupted, and what it reported."""
    folder = tmp_path_factory.mktemp("whole") / "walkers-seed0"
    return folder, run(folder)


def test_the_log_counts_all_env_steps_and_says_where_each_row_stands(whole):
    rows = log_of(whole[0])
    assert [row["env_steps"] for row in rows] == [BATCH * number for number in range(1, 9)]
    assert [row["curriculum/stage"] for row in rows] == [1, 1, 2, 2, 2, 3, 3, 3]
    assert [row["curriculum/stage_env_steps"] / BATCH for row in rows] == [1, 2, 1, 2, 3, 1, 2, 3]
    assert [row["env_steps"] for row in rows if row.get("curriculum/passed") == 1] == [ENDS[0]]
    assert [row["env_steps"] / BATCH for row in rows if "valid/sum" in row] == [2, 4, 5, 7, 8]


def test_schedules_begin_anew_with_each_stage(whole):
    rates = [row["schedule/learning_rate"] for row in log_of(whole[0])]
    assert rates[2:5] == rates[5:]
    assert rates[:2] == rates[2:4]
    assert rates[0] > rates[1] > rates[4]


def test_the_live_line_hears_how_stages_end_and_what_was_handed_over(whole):
    said = [row["notice"] for row in whole[1] if "notice" in row]
    for words, sentence in zip(
        (("calm", "40"), ("7 of 8", "stages/2_windy/weight_transfer.json"), ("windy", "60"), ("crowd", "7 of 8")),
        said,
        strict=False,
    ):
        assert all(word in sentence for word in words), sentence
    assert [row["budget_env_steps"] // BATCH for row in whole[1]] == [9, 9, 8, 8, 8, 8, 8, 8, 8, 8]


def test_the_report_of_a_weight_transfer_names_every_weight(whole):
    windy, crowd = (
        json.loads((whole[0] / f"stages/{name}/weight_transfer.json").read_text()) for name in ("2_windy", "3_crowd")
    )
    assert windy["from"] == {"stage": "calm", "passed": True, "env_steps": ENDS[0]}
    assert windy["of_another_shape"] == {"network.cells.weight": {"there": [3, 6], "here": [5, 6]}}
    assert windy["frozen"] == ["network.mix.weight", "network.mix.bias"]
    assert set(windy["optimiser_state_kept"]) == set(windy["loaded"]) - set(windy["frozen"])
    assert crowd["of_another_shape"] == {"network.names": {"there": [2, 6], "here": [3, 6]}}
    for report, env_steps in ((windy, ENDS[1]), (crowd, ENDS[2])):
        named = [*report["loaded"], *report["of_another_shape"], *report["new"]]
        assert sorted(named) == sorted(weights(whole[0], env_steps))


def test_results_tell_stages_apart_by_their_conditions(whole):
    results = {result.place: result for result in read_test_results(whole[0])}
    assert {world: result.env_steps for world, result in results.items()} == {
        "calm after calm": ENDS[0],
        "windy after windy": ENDS[1],
        "crowd": ENDS[2],
    }
    for env_steps, world in zip(ENDS, results, strict=True):
        total = sum(float(torch.as_tensor(value).sum()) for value in weights(whole[0], env_steps).values())
        assert results[world].value == pytest.approx(total, abs=1e-4)
    figures = {path.name for path in whole[0].glob("*_figures.npz")}
    assert figures == {"calm_after_calm_figures.npz", "windy_after_windy_figures.npz", "crowd_figures.npz"}


class Fuse:
    """Counts what a trial does, and ends it before or after deed number `blows_at`."""

    def __init__(self, blows_at):
        self.blows_at, self.deeds = blows_at, 0

    def burn(self, *_):
        self.deeds += 1
        if self.deeds == self.blows_at:
            raise Died

    def around(self, function):
        def watched(*arguments, **keywords):
            self.burn()
            result = function(*arguments, **keywords)
            self.burn()
            return result

        return watched


def run_with(fuse, folder):
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(stage_training, "save_checkpoint", fuse.around(stage_training.save_checkpoint))
        patch.setattr(stage_training, "prune", fuse.around(stage_training.prune))
        patch.setattr(trial, "transfer_stage", fuse.around(trial.transfer_stage))
        patch.setattr(trial.Trial, "evaluate", fuse.around(trial.Trial.evaluate))
        patch.setattr(trial.Trial, "evaluate_checkpoint", fuse.around(trial.Trial.evaluate_checkpoint))
        run(folder, report=fuse.burn)


def assert_equal_trials(one, other):
    assert_equal_runs(one, other, *ENDS)
    assert read_test_results(one) == read_test_results(other)
    for report in ("stages/2_windy/weight_transfer.json", "stages/3_crowd/weight_transfer.json"):
        assert (one / report).read_text() == (other / report).read_text()


@pytest.mark.slow
def test_a_trial_that_dies_at_any_moment_ends_as_if_it_had_not(whole, tmp_path):
    fuse = Fuse(0)
    run_with(fuse, tmp_path / "counted")
    assert fuse.deeds > 40
    for moment in range(1, fuse.deeds + 1):
        folder = tmp_path / str(moment)
        with pytest.raises(Died):
            run_with(Fuse(moment), folder)
        assert read_test_results(folder) is None
        run(folder)
        assert_equal_trials(whole[0], folder)


def test_a_stage_whose_last_checkpoint_is_damaged_is_trained_to_its_end_again(whole, tmp_path):
    def die_in_the_second_stage(row):
        if row["env_steps"] == ENDS[0] + BATCH:
            raise Died

    with pytest.raises(Died):
        run(tmp_path, report=die_in_the_second_stage)
    (get_checkpoint_path(tmp_path / "checkpoints", ENDS[0]) / "weights.safetensors").write_bytes(b"torn")
    run(tmp_path)
    assert_equal_trials(whole[0], tmp_path)


def test_an_older_checkpoint_is_never_handed_over_in_place_of_a_stages_last(whole, tmp_path, monkeypatch):
    prune = stage_training.prune

    def prune_and_tear(folder, *arguments, **keywords):
        prune(folder, *arguments, **keywords)
        last = get_checkpoint_path(folder, ENDS[1]) / "weights.safetensors"
        if last.exists():
            last.write_bytes(b"torn")

    with monkeypatch.context() as patch:
        patch.setattr(stage_training, "prune", prune_and_tear)
        with pytest.raises(CheckpointError, match="checkpoint_000100"):
            run(tmp_path)
    run(tmp_path)
    assert_equal_trials(whole[0], tmp_path)


class LearnsOn(LocalAlgorithm):
    """Learns once more before a checkpoint is taken, as IMPALA's thread may."""

    def checkpoint(self):
        self.train()
        return super().checkpoint()


def test_a_row_is_of_the_moment_of_its_checkpoint_and_the_last_one_is_validated(tmp_path):
    """Its third update, which spends the budget, comes between the second update and the checkpoint due there."""
    declared = Curriculum((Stage(name="a", plan=plan(make_algorithm=functools.partial(make_local, kind=LearnsOn))),))

    def die_at_the_end(row):
        if row["env_steps"] > 2 * BATCH:
            raise Died

    with pytest.raises(Died):
        run(tmp_path, declared, die_at_the_end, "calm")
    run(tmp_path, declared, game="calm")
    assert [row["env_steps"] for row in log_of(tmp_path)] == [BATCH, 3 * BATCH]
    assert "valid/sum" in log_of(tmp_path)[-1]
    assert newest_complete_checkpoint(tmp_path / "checkpoints") == get_checkpoint_path(
        tmp_path / "checkpoints", 3 * BATCH
    )


def test_a_budget_smaller_than_a_fragment_is_one_update(tmp_path):
    declared = Curriculum(tuple(Stage(name=name, plan=plan(budget_env_steps=3)) for name in ("first", "second")))
    run(tmp_path, declared, game="calm")
    assert [row["env_steps"] for row in log_of(tmp_path)] == [BATCH, 2 * BATCH]
    assert all("valid/sum" in row for row in log_of(tmp_path))
    assert [result.env_steps for result in read_test_results(tmp_path)] == [2 * BATCH]


def test_a_stage_is_passed_by_episodes_of_training_and_still_validated(tmp_path):
    rule = Promotion("episode/length", 1, over=2)
    declared = Curriculum((Stage(name="a", plan=plan(validate_every_env_steps=10**6), promotion=rule),))
    run(tmp_path, declared, game="calm")
    rows = log_of(tmp_path)
    assert [row["env_steps"] for row in rows] == [BATCH, 2 * BATCH]
    assert rows[-1]["curriculum/passed"] == 1
    assert "valid/sum" in rows[-1]


@pytest.mark.parametrize(("frozen", "named"), [("network.mixx.*", r"windy.*network\.mixx\.\*"), ("*", "windy")])
def test_an_impossible_weight_transfer_is_refused_before_the_first_stage(frozen, named):
    first, second, third = three_stages().stages
    check_transfers(three_stages().stages)
    with pytest.raises(ValueError, match=named):
        check_transfers((first, dataclasses.replace(second, frozen=(frozen,)), third))


@pytest.fixture
def known(monkeypatch):
    """The toy experiment under the name that its checkpoints say."""
    made = experiment(three_stages())
    made.tables = lambda results: [make_table(results, "Walkers on a line", ("success",))]
    monkeypatch.setattr(policies, "find_stored", lambda name, data, *trust: (made, Config()))
    return made


@pytest.mark.parametrize(("number", "agents", "cells"), [(0, 2, 3), (1, 2, 5), (2, 3, 5)])
def test_the_team_of_any_stage_is_loaded_and_plays_in_worlds_that_fit_it(whole, known, number, agents, cells, capsys):
    path = get_checkpoint_path(whole[0] / "checkpoints", ENDS[number])
    loaded = load_policy(path)
    assert (loaded.policy.num_agents, loaded.policy.network.cells.num_embeddings) == (agents, cells)
    assert loaded.env_steps == ENDS[number]
    assert loaded.act(loaded.make_world(3).reset(0)).shape == (3, agents)
    assert commands.main(["play", str(path)]) == 0
    assert f"walker_{agents - 1}: " in capsys.readouterr().out
    assert commands.main(["render", str(path), "--out", str(whole[0] / f"{number}.gif")]) == 0


@pytest.mark.parametrize("number", [0, 1, 2])
def test_evaluate_finds_the_numbers_that_the_trial_found_in_each_stage(whole, known, number, capsys):
    assert commands.main(["evaluate", str(get_checkpoint_path(whole[0] / "checkpoints", ENDS[number]))]) == 0
    said = capsys.readouterr().out
    value = read_test_results(whole[0])[number].value
    assert f"stage {('1_calm', '2_windy', '3_crowd')[number]}" in said
    assert f"{value:.1f}" in said if abs(value) >= 10 else f"{value:.3f}" in said
