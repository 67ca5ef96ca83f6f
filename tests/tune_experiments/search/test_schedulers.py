"""Tune's ASHA, which is told again what it was told before, and its PBT for the generations that are left."""

import dataclasses
import random
from types import SimpleNamespace

import numpy as np
import pytest
from ray import tune
from ray.tune.experiment import Trial
from ray.tune.schedulers import TrialScheduler

from rl_models.training.checkpoint import save_checkpoint
from tests.tune_experiments.run.bomb import BOMB
from tests.tune_experiments.search.pretended import CONFIG, SPACE
from tune_experiments import matrix_game
from tune_experiments.core.config_json import config_to_json
from tune_experiments.core.errors import UserError
from tune_experiments.experiment.search_space import SearchSpace
from tune_experiments.results.trial_log import SCORE
from tune_experiments.run.population import GENERATION
from tune_experiments.run.reports import with_scores
from tune_experiments.search import schedulers
from tune_experiments.search.schedulers import Asha, population

NAMES = [f"trial{number}" for number in range(9)]


class Named(SimpleNamespace):
    def __str__(self):
        return self.name


def validate(asha, name, env_steps, value):
    row = {"env_steps": env_steps} | ({} if value is None else {SCORE: value})
    return asha.on_trial_result(None, Named(name=name), row)


def test_trials_below_the_best_third_stop_at_a_ninth_and_a_third_of_the_budget(tmp_path):
    asha = Asha(NAMES, 900, tmp_path / "asha.jsonl")
    assert validate(asha, "trial0", 100, None) == TrialScheduler.CONTINUE, "no validation"
    assert not (tmp_path / "asha.jsonl").exists()
    assert validate(asha, "trial0", 50, -9.0) == TrialScheduler.CONTINUE, "there is no rung yet"
    for number, name in enumerate(NAMES):
        validate(asha, name, 100, -float(number))
    assert asha.stopped == set(NAMES[1:]), "each is worse than those before it"
    assert validate(asha, "trial0", 900, -99.0) == TrialScheduler.CONTINUE, "at its end nobody is stopped"


def test_an_asha_that_is_killed_decides_as_one_that_was_not(tmp_path):
    rows = [(name, end, (number * 7 % 9) / 9) for end in (100, 310) for number, name in enumerate(NAMES)]
    whole = Asha(NAMES, 900, tmp_path / "whole.jsonl")
    decisions = [validate(whole, *row) for row in rows]
    file = tmp_path / "asha.jsonl"
    before = [validate(Asha(NAMES, 900, file), *row) for row in rows[:11]]  # a new one each time
    with file.open("ab") as torn:
        torn.write(b'{"trial": "tri')
    again = Asha(NAMES, 900, file)
    assert again.stopped == {name for (name, *_), said in zip(rows, before, strict=False) if said == "STOP"}
    assert before + [validate(again, *row) for row in rows[11:]] == decisions
    assert again.stopped == whole.stopped
    assert {TrialScheduler.STOP, TrialScheduler.CONTINUE} == set(decisions)


@pytest.mark.parametrize(
    "line", ["5", "{}", '{"trial": "other", "env_steps": 100, "search/score": 1}', "\x80", BOMB.decode()]
)
def test_what_no_asha_has_written_is_told(tmp_path, line):
    (tmp_path / "asha.jsonl").write_text(f"{line}\n")
    with pytest.raises(UserError, match=r"asha\.jsonl"):
        Asha(NAMES, 900, tmp_path / "asha.jsonl")


def requests(tmp_path, count=3):
    found = []
    for number in range(count):
        folder = tmp_path / f"sync-setting{number:02}-seed0"
        folder.mkdir(exist_ok=True)
        config = dataclasses.replace(CONFIG, learning_rate=0.01 * (number + 1))
        found.append({"name": folder.name, "folder": str(folder), "config": config_to_json(config)})
    return found


def members(tmp_path, space=SPACE, paths=("learning_rate",), seed=0):
    return population(matrix_game.EXPERIMENT, requests(tmp_path), space, paths, 800, [seed])


def test_what_a_population_draws_depends_on_its_seed_and_the_generation_alone(tmp_path, monkeypatch):
    def draw(*_):
        return f"{random.random()} {np.random.random()}"

    monkeypatch.setattr(schedulers.PopulationBasedTraining, "on_trial_result", draw)
    places, before = [(seed, generation) for seed in (0, 1) for generation in (1, 2)], random.getstate()
    drawn, again = (
        [members(tmp_path, seed=seed)[1].on_trial_result(None, None, {GENERATION: now}) for seed, now in places]
        for _ in range(2)
    )
    assert drawn == again and len(set(drawn)) == 4
    assert random.getstate() == before, "those of the user's process stay"


def test_members_whose_update_is_longer_than_a_generation_go_on(tmp_path):
    (request, *_), scheduler = members(tmp_path)
    member = Trial("member", config={"request": request}, stub=True)
    controller = SimpleNamespace(search_alg=None, get_trials=lambda: [member], get_live_trials=lambda: [member])
    scheduler.on_trial_add(controller, member)
    for generation in (1, 5, 7):
        member.set_status(Trial.RUNNING)
        scheduler.on_trial_result(controller, member, {GENERATION: generation, SCORE: 0.5})
        member.set_status(Trial.PAUSED)
        assert scheduler.choose_trial_to_run(controller) is member


def test_a_population_that_begins_has_the_drawn_values_and_all_generations(tmp_path):
    found, _ = members(tmp_path)
    assert [one["values"]["learning_rate"] for one in found] == [0.01, 0.02, 0.03]
    assert {one["first"] for one in found} == {1}
    assert found[0]["ends"] == {number: 100 * number for number in range(1, 8)}


def test_a_population_that_is_killed_goes_on_with_what_it_learned_with_at_the_first_generation_not_reached(tmp_path):
    for request, (env_steps, rate) in zip(requests(tmp_path), {230: 0.5, 300: 0.6, 310: 0.7}.items(), strict=True):
        config = config_to_json(dataclasses.replace(CONFIG, learning_rate=rate))
        save_checkpoint(tmp_path / request["name"] / "checkpoints", env_steps, {}, {"config": config})
    found, _ = members(tmp_path)
    assert [one["values"]["learning_rate"] for one in found] == [0.5, 0.6, 0.7]
    assert {one["first"] for one in found} == {3}


def test_explored_values_stay_in_their_domains(tmp_path, monkeypatch):
    monkeypatch.setattr(schedulers, "Pbt", lambda _, **settings: settings["custom_explore_fn"])
    space = SearchSpace({"learning_rate": tune.uniform(0.01, 0.03), "games": tune.randint(8, 17)})
    _, explore = members(tmp_path, space, ("learning_rate", "games"))
    for values, wanted in (
        ({"learning_rate": 0.0361234, "games": 19}, (0.03, 16)),
        ({"learning_rate": 0.0123456, "games": 2}, (0.0123, 8)),
    ):
        found = explore({"request": {"values": values}})["request"]["values"]
        assert (found["learning_rate"], found["games"]) == wanted


def test_an_objective_that_validation_does_not_log_ends_the_trial_at_its_first_validation():
    reported = []
    report = with_scores(reported.append, "valid/win_rate")
    report({"episode/success": 0.1})
    with pytest.raises(UserError, match=r"--search-objective valid/win_rate .*valid/success"):
        report({"valid/success": 0.1})
    with_scores(reported.append, "valid/success")({"valid/success": 0.1})
    assert reported[-1][SCORE] == 0.1
