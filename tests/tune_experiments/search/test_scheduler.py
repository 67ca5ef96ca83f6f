"""Searches that decide as they go: who is trained next follows from logs alone, whenever a search was broken off."""

import dataclasses
import itertools
import json
import math
from pathlib import Path

import numpy as np
import pytest
from ray import tune

from rl_models.training.checkpoint import load_checkpoint, newest_whole_checkpoint, save_checkpoint
from tune_experiments import matrix_game
from tune_experiments.core.config_json import config_from_json, config_to_json
from tune_experiments.experiment.search_space import SearchSpace
from tune_experiments.play.loading import chosen_checkpoint
from tune_experiments.results.trial_log import read_metrics
from tune_experiments.run.final_evaluation import read_test_results, write_test_results
from tune_experiments.run.trial import Trial
from tune_experiments.search import population as search_population
from tune_experiments.search.population import Population, decide, exploit
from tune_experiments.search.scheduler import SearchSchedulers
from tune_experiments.search.settings import all_settings, draw_settings
from tune_experiments.search.successive_halving import Halving, rungs_of

SPACE = SearchSpace({"learning_rate": tune.loguniform(1e-4, 1e-1)}, objective="valid/value_against_adversary")
CONFIG = dataclasses.replace(
    matrix_game.SMOKE,
    games=8,
    updates_per_row=2,
    budget_env_steps=512,
    checkpoint_every_env_steps=10_000,
    hold_share=0.5,
)


@pytest.fixture(autouse=True)
def few_generations(monkeypatch):
    monkeypatch.setattr(search_population, "GENERATIONS", 3)


@pytest.fixture
def request_of(tmp_path):
    return maker(tmp_path)


def maker(tmp_path):
    def make(config, method, number, seed, until):
        folder = tmp_path / "trials" / f"{method}-setting{number:02}-seed{seed}"
        folder.mkdir(parents=True, exist_ok=True)
        return {
            "name": folder.name,
            "folder": str(folder),
            "setting": number,
            "until": until,
            "config": config,
            "seed": seed,
        }

    return make


def pretend(request, quality):
    """What a trial leaves that has come so far: its log, and a checkpoint or an outcome."""
    folder, end = Path(request["folder"]), request["until"] or 900
    value = quality(request)
    rows = [{"env_steps": step, "valid/success": value} for step in range(50, end + 1, 50)]
    (folder / "metrics.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    if request["until"] is None:
        write_test_results(folder, [])
    else:
        save_checkpoint(folder / "checkpoints", end, {"weights": {"a": np.zeros(1)}}, {})


def run(scheduler, do, most=1000):
    """Do what the scheduler asks for, one request at a time; (setting, seed, until) of each."""
    done = []
    while len(done) < most and (request := scheduler.next_request()) is not None:
        done.append((request["setting"], request["seed"], request["until"]))
        do(request)
        scheduler.ended(request, False)
    return done


# ---------------------------------------------------------------------------------------------------------------- ASHA


def halving(request_of, tmp_path, count=9, seeds=(0, 1)):
    space = SearchSpace({"learning_rate": tune.loguniform(1e-4, 1e-1)})
    settings = draw_settings(space, CONFIG, "sync", count, 0)
    return Halving("sync", settings, seeds, rungs_of(900), "valid/success", request_of, tmp_path / "rungs.json")


def by_number(request):
    """The higher the number the better, but seeds differ more than settings do."""
    return request["setting"] / 100 + request["seed"]


def test_rungs_are_a_ninth_a_third_and_all_of_the_budget():
    assert rungs_of(900) == [100, 300, 900]
    assert rungs_of(5120) == [569, 1707, 5120]


def test_the_best_third_goes_on_judged_by_the_mean_over_its_seeds(request_of, tmp_path):
    scheduler = halving(request_of, tmp_path)
    done = run(scheduler, lambda request: pretend(request, by_number))
    assert len(done) == len(set(done)), "nothing is trained twice"
    assert {number for number, _, until in done if until == 100} == set(range(9))
    finished = {number for number, _, until in done if until is None}
    assert 8 in finished, "the best"
    assert 0 in finished, "what the search started from"
    assert len({number for number, _, until in done if until == 300}) < 9
    for number, until in {(number, until) for number, _, until in done}:
        assert {seed for one, seed, end in done if (one, end) == (number, until)} == {0, 1}
    assert "| 900 | 8 (0.5800), " in "\n".join(scheduler.remarks())


def test_nobody_waits_for_a_whole_rung(request_of, tmp_path):
    scheduler = halving(request_of, tmp_path, seeds=(0,))
    done = run(scheduler, lambda request: pretend(request, by_number))
    first_on = next(index for index, (number, _, until) in enumerate(done) if until == 300 and number)
    assert any(until == 100 for _, _, until in done[first_on:]), "new settings begin after the first promotion"


def test_what_runs_is_not_handed_out_twice_and_what_failed_goes_no_further(request_of, tmp_path):
    scheduler = halving(request_of, tmp_path, count=3, seeds=(0,))
    first, second, third = (scheduler.next_request() for _ in range(3))
    assert [one["setting"] for one in (first, second, third)] == [0, 1, 2]
    assert scheduler.next_request() is None
    scheduler.ended(third, failed=True)
    for request in (first, second):
        pretend(request, by_number)
        scheduler.ended(request, failed=False)
    done = run(scheduler, lambda request: pretend(request, by_number))
    assert {number for number, _, until in done if until is None} == {0, 1}


@pytest.mark.long
@pytest.mark.parametrize("killed_after", [5, 19])
def test_a_broken_asha_trains_what_an_unbroken_one_does(request_of, tmp_path, killed_after):
    def unbroken_request(*arguments):
        request = request_of(*arguments)
        folder = tmp_path / "unbroken" / request["name"]
        folder.mkdir(parents=True, exist_ok=True)
        return request | {"folder": str(folder)}

    whole = run(halving(unbroken_request, tmp_path / "unbroken"), lambda request: pretend(request, by_number))
    before = run(halving(request_of, tmp_path), lambda request: pretend(request, by_number), killed_after)
    halving(request_of, tmp_path).next_request()  # was handed out, and its trial was killed before it came anywhere
    after = run(halving(request_of, tmp_path), lambda request: pretend(request, by_number))
    assert before + after == whole


def test_to_ask_whether_it_is_over_takes_nothing_away(request_of, tmp_path):
    scheduler = SearchSchedulers([halving(request_of, tmp_path, count=3, seeds=(0,))])
    assert not scheduler.is_over
    assert not scheduler.is_over
    done = run(scheduler, lambda request: pretend(request, by_number))
    assert {number for number, _, until in done if until == 100} == {0, 1, 2}
    assert scheduler.is_over


# ----------------------------------------------------------------------------------------------------------------- PBT


def test_the_worst_quarter_copies_the_best_quarter_with_values_near_by():
    values = [{"learning_rate": 0.01 * (number + 1)} for number in range(8)]
    copies = decide([0.1, 0.9, 0.3, -math.inf, 0.5, 0.8, 0.2, 0.4], values, SPACE, np.random.default_rng(0))
    assert {copy.target for copy in copies} == {3, 0}
    assert {copy.source for copy in copies} <= {1, 5}
    for copy in copies:
        assert copy.values != values[copy.source]
        assert 1e-4 <= copy.values["learning_rate"] <= 1e-1


def test_perturbed_values_stay_in_their_domains():
    space = SearchSpace(
        {
            "rate": tune.uniform(0.0, 1.0),
            "epochs": tune.randint(1, 5),
            "kind": tune.choice(["a", "b"]),
            "joint_ratio": tune.choice([True, False]),
            "size": tune.grid_search([8, 16]),
        }
    )
    values = {"rate": 0.95, "epochs": 4, "kind": "a", "joint_ratio": True, "size": 8}
    chance = np.random.default_rng(1)
    for _ in range(200):
        (copy,) = decide([1.0, 0.0], [values, values], space, chance)
        changed = copy.values
        assert 0.0 <= changed["rate"] <= 1.0
        assert changed["epochs"] in (1, 2, 3, 4)
        assert isinstance(changed["epochs"], int)
        assert changed["kind"] in ("a", "b")
        assert changed["joint_ratio"] in (True, False)
        assert changed["size"] in (8, 16)


def population(request_of, tmp_path, seed=0):
    settings = draw_settings(SPACE, CONFIG, "sync", 4, 0)
    file = tmp_path / "population.json"
    return Population("sync", settings, seed, CONFIG.budget_env_steps, SPACE, 0, request_of, file)


def train(request):
    """Really, without Ray."""
    trial = Trial(matrix_game.EXPERIMENT, request["config"], "sync", request["seed"], Path(request["folder"]), False)
    trial.run(lambda row: None, request["until"])


def logs(tmp_path):
    """Trial -> its log without what a clock says."""
    return {
        path.parent.name: [
            {key: value for key, value in row.items() if key != "wall_time" and not key.startswith("speed/")}
            for row in read_metrics(path)
        ]
        for path in (tmp_path / "trials").glob("*/metrics.jsonl")
    }


@pytest.mark.long
def test_losers_go_on_from_winners_with_their_new_values(request_of, tmp_path):
    scheduler = SearchSchedulers([population(request_of, tmp_path)])
    done = run(scheduler, train)
    assert scheduler.is_over
    assert sorted(done, key=str) == sorted(itertools.product(range(4), (0,), [171, 342, None]), key=str)
    assert all(read_test_results(path) is not None for path in (tmp_path / "trials").iterdir())
    (first, second) = json.loads((tmp_path / "population.json").read_text())["sync-seed0"]
    (copy,) = first["copies"]
    log = logs(tmp_path)[f"sync-setting{copy['target']:02}-seed0"]
    copied_at = next(row["env_steps"] for row in log if row["env_steps"] >= first["env_steps"])
    falls_from = CONFIG.hold_share * CONFIG.budget_env_steps
    held = [row["schedule/learning_rate"] for row in log if copied_at < row["env_steps"] < falls_from]
    assert held, "rows before the rate begins to fall"
    assert set(held) == {copy["values"]["learning_rate"]}, "applied from the first update after the copy on"
    (copy,) = second["copies"]
    last = newest_whole_checkpoint(tmp_path / "trials" / f"sync-setting{copy['target']:02}-seed0" / "checkpoints")
    config = config_from_json(matrix_game.Config, load_checkpoint(last).state["config"])
    assert config == scheduler.schedulers[0].members[copy["target"]].config, "it says what it learned with"
    assert config.learning_rate == copy["values"]["learning_rate"]


def test_a_member_is_ranked_by_what_it_validated_with_the_weights_that_it_has(request_of, tmp_path):
    one = population(request_of, tmp_path)  # generations end at 171, 342 and 512 env steps
    folder = Path(request_of(CONFIG, "sync", 0, 0, None)["folder"])
    values = {300: 0.0, 344: 5.0, 400: 90.0, 512: 100.0}  # it stopped at 344, and copied another there
    rows = [{"env_steps": step, SPACE.objective: value} for step, value in values.items()]
    (folder / "metrics.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    assert one.score(folder) == 95.0


def test_every_seed_is_a_population_of_its_own(request_of, tmp_path):
    scheduler = SearchSchedulers([population(request_of, tmp_path, seed) for seed in (0, 1)])
    begun = [scheduler.next_request() for _ in range(8)]
    assert scheduler.next_request() is None
    assert {(one["setting"], one["seed"]) for one in begun} == set(itertools.product(range(4), (0, 1)))
    for request in begun:
        if request["seed"] == 1:
            train(request)
            scheduler.ended(request, False)
    assert {scheduler.next_request()["seed"] for _ in range(4)} == {1}, "seed 1 goes on while seed 0 trains"
    assert list(json.loads((tmp_path / "population.json").read_text())) == ["sync-seed1"]


@pytest.mark.long
def test_a_member_that_copies_has_the_sources_weights_and_nothing_of_its_own(request_of, tmp_path):
    scheduler = population(request_of, tmp_path)
    run(scheduler, train, most=4)
    before = {path.name: path for path in (tmp_path / "trials").iterdir()}
    scheduler.next_request()  # the generation has ended
    (generation,) = json.loads((tmp_path / "population.json").read_text())["sync-seed0"]
    assert generation["is_done"]
    (copy,) = generation["copies"]
    folders = [before[f"sync-setting{copy[who]:02}-seed0"] / "checkpoints" for who in ("target", "source")]
    target, source = (load_checkpoint(newest_whole_checkpoint(folder)) for folder in folders)
    for group, tensors in source.tensors.items():
        for name, value in tensors.items():
            np.testing.assert_array_equal(value, target.tensors[group][name])
    assert len(list(folders[0].glob("checkpoint_*"))) == 1
    assert target.state["config"]["learning_rate"] == copy["values"]["learning_rate"]


def test_a_member_that_copies_chosen_weights_has_the_sources_choice(tmp_path):
    for member, (chosen, newest) in {"source": (20, 30), "target": (10, 35)}.items():
        for step in (chosen, newest):
            state = {"config": member, "choice": {"value": 0.5, "env_steps": chosen}}
            save_checkpoint(tmp_path / member / "checkpoints", step, {"weights": {"a": np.full(1, step)}}, state)
    exploit(tmp_path / "source", tmp_path / "target", CONFIG)
    assert sorted(path.name for path in (tmp_path / "target" / "checkpoints").iterdir()) == [
        "checkpoint_000020",
        "checkpoint_000030",
    ]
    found = load_checkpoint(chosen_checkpoint(tmp_path / "target"))
    assert found.tensors["weights"]["a"] == 20
    assert found.state["config"] == config_to_json(CONFIG)


def test_the_newest_checkpoint_is_copied_last_whatever_its_number_of_digits(tmp_path, monkeypatch):
    for step in (900_000, 1_000_000):
        state = {"choice": {"value": 0.5, "env_steps": 900_000}}
        save_checkpoint(tmp_path / "source/checkpoints", step, {"weights": {"a": np.full(1, step)}}, state)
    copied = []

    def save(folder, step, tensors, state):
        copied.append(step)
        return save_checkpoint(folder, step, tensors, state)

    monkeypatch.setattr(search_population, "save_checkpoint", save)
    exploit(tmp_path / "source", tmp_path / "target", CONFIG)
    assert copied == [900_000, 1_000_000]


def test_a_member_that_was_killed_while_it_copied_a_checkpoint_has_the_sources_alone(tmp_path):
    save_checkpoint(tmp_path / "source" / "checkpoints", 30, {}, {"config": {}})
    own = save_checkpoint(tmp_path / "target" / "checkpoints", 35, {}, {"config": {}})
    own.rename(own.with_name(".unfinished_checkpoint_000035_01234567_replaced"))
    exploit(tmp_path / "source", tmp_path / "target", CONFIG)
    folder = tmp_path / "target" / "checkpoints"
    assert newest_whole_checkpoint(folder) == folder / "checkpoint_000030"
    assert len(list(folder.iterdir())) == 1


@pytest.fixture(scope="module")
def unbroken(tmp_path_factory):
    folder = tmp_path_factory.mktemp("unbroken")
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(search_population, "GENERATIONS", 3)
        run(population(maker(folder), folder), train)
    return folder


@pytest.mark.long
@pytest.mark.parametrize("killed_after", [4, 6])
def test_a_broken_population_ends_as_an_unbroken_one(request_of, tmp_path, unbroken, monkeypatch, killed_after):
    run(population(request_of, tmp_path), train, killed_after)
    if killed_after == 4:  # dies while it carries out what it has decided
        with monkeypatch.context() as patch:
            patch.setattr(search_population, "exploit", _dies)
            with pytest.raises(KeyboardInterrupt):
                population(request_of, tmp_path).next_request()
        assert not json.loads((tmp_path / "population.json").read_text())["sync-seed0"][0]["is_done"]
    run(population(request_of, tmp_path), train)
    assert logs(tmp_path) == logs(unbroken)
    generations = [json.loads((path / "population.json").read_text()) for path in (tmp_path, unbroken)]
    assert generations[0] == generations[1]


def _dies(*arguments):
    raise KeyboardInterrupt


def test_a_population_that_lost_a_member_for_good_stops(request_of, tmp_path):
    scheduler = population(request_of, tmp_path)
    scheduler.ended(scheduler.next_request(), failed=True)
    assert scheduler.next_request() is None


# ---------------------------------------------------------------------------------------------------------------- grid


def test_a_grid_is_every_combination_once_after_the_configuration_itself():
    space = SearchSpace({"learning_rate": tune.grid_search([0.02, 0.1]), "games": tune.choice([8, 16, 32])})
    settings = all_settings(space, CONFIG, "sync")
    assert settings[0].config == CONFIG
    tried = [(one.values["learning_rate"], one.values["games"]) for one in settings]
    assert sorted(tried) == sorted(itertools.product([0.02, 0.1], [8, 16, 32]))
    assert [one.number for one in settings] == list(range(6))
