"""Searches of real experiments: the space fits the configuration, no test world is played, a broken search goes on."""

import copy
import dataclasses
import functools
import json
import math

import numpy as np
import pytest
from ray import tune
from ray.tune.search.sample import Categorical

from rl_models.training.checkpoint import get_checkpoint_path, load_checkpoint
from tests.tune_experiments.run.in_process import trials_in_process
from tests.tune_experiments.search.pretended import finish
from tune_experiments import furnmove_methods, matrix_game
from tune_experiments.cordial_sync.config import parse_method
from tune_experiments.core.config_json import config_from_json, config_to_json
from tune_experiments.core.config_path import value_at, with_overrides
from tune_experiments.core.errors import UserError
from tune_experiments.core.terminal import Terminal
from tune_experiments.experiment.command_line import parse
from tune_experiments.experiment.finding import find_experiment, read_configuration
from tune_experiments.experiment.search_space import SearchSpace
from tune_experiments.launch.experiment import main
from tune_experiments.results.rows import read
from tune_experiments.results.trial_log import read_metrics
from tune_experiments.run import population
from tune_experiments.run.final_evaluation import read_test_results
from tune_experiments.run.run_folder import RunFolder
from tune_experiments.run.trial import Trial
from tune_experiments.search import run_search as search_run
from tune_experiments.search.settings import draw_settings

FURNMOVE = furnmove_methods.EXPERIMENT
SPACE = FURNMOVE.search_space()
PRESETS = FURNMOVE.presets


def ends(domain):
    """The values at the ends of a domain, or all of them."""
    if isinstance(domain, dict):
        return domain["grid_search"]
    return domain.categories if isinstance(domain, Categorical) else [domain.lower, domain.upper]


@pytest.mark.parametrize("path", SPACE.domains)
def test_every_path_is_a_field_that_takes_every_value_of_its_domain(path):
    for value in ends(SPACE.domains[path]):
        config = with_overrides(PRESETS["laptop"], {path: value})
        assert config_from_json(type(config), json.loads(json.dumps(config_to_json(config)))) == config
        assert value_at(config, path) == value


TRIED = ("sync_13_cordial", "sync_2", "marginal_cordial", "no_communication", "central", "central_cordial")
"""One method of each family with CORDIAL or without, of both where that changes what is varied."""


@functools.cache
def training(config, method):
    """All of a trial that its search space could change, in a form that compares."""
    plan = FURNMOVE.plan(config, method, 0)
    (loss,) = plan.objective.extra_losses
    rest = dataclasses.replace(plan.objective, extra_losses=())
    # At weight 0 CORDIAL only logs.
    cordial = loss.coordination.weights.tolist() if max(value for _, value in loss.beta.points) > 0 else None
    return repr((rest, plan.optimiser, loss.beta, cordial))


@pytest.mark.parametrize("preset", ["laptop", "authors"])
@pytest.mark.parametrize("method", TRIED)
def test_a_method_is_tried_with_what_changes_its_training_and_with_nothing_else(method, preset):
    config = PRESETS[preset]
    for path, domain in SPACE.domains.items():
        if path == "learner.joint_ratio" and parse_method(method).family == "central":
            continue  # changes the loss's form, but a central policy has one probability in either
        changed = with_overrides(config, {path: next(one for one in ends(domain) if one != value_at(config, path))})
        does_change = training(changed, method) != training(config, method)
        assert SPACE.uses(config, method, path) == does_change, path


def no_test(*args):
    raise AssertionError("a test world was asked for")


def without_test(experiment, **changes):
    """The same experiment for whom it would be an error to be evaluated."""
    changed = copy.copy(experiment)
    for name, method in ({"evaluate": no_test, "test_world": no_test} | changes).items():
        setattr(changed, name, method)
    return changed


def test_a_smoke_search_ranks_by_validation_and_says_how_to_train_the_winner(ray_session, tmp_path, capsys):
    out, flags = tmp_path / "out", ["--methods", "marginal", "--budget-env-steps", "160"]
    flags += ["--valid-starts-per-room", "1"]
    words = ["--preset", "smoke", "--search", "2", *flags, "--out", str(out)]
    with trials_in_process():
        assert main(without_test(FURNMOVE), words) == 0
    rows = [json.loads(line) for line in (out / "search.jsonl").read_text().splitlines()]
    assert sorted(row["setting"] for row in rows) == [0, 1]
    assert rows[0]["value"] >= rows[1]["value"]
    for row in rows:
        trial = out / "trials" / f"marginal-setting{row['setting']:02}-seed0"
        assert read_test_results(trial) == []
        assert not list(trial.glob("*_figures.npz"))
        assert row["value"] == read_metrics(trial / "metrics.jsonl")[-1]["valid/success"]
        config, options = parse(PRESETS, row["flags"], "")
        assert config_to_json(config) == json.loads((out / "config.json").read_text())["config"] | {
            key: value for key, value in config_to_json(config).items() if key in {"learner", "marginal"}
        }
        assert {path: value_at(config, path) for path in row["parameters"]} == row["parameters"]
        assert 0 not in options.seeds, "the winner's seed helped to choose it"
    lines = read(out / "results.jsonl")
    assert {line.split for line in lines} == {"valid"}, "a search plays no test"
    assert sorted(line.value for line in lines) == sorted(row["value"] for row in rows)
    assert f"python -m tune_experiments furnmove_methods {' '.join(rows[0]['flags'])}" in capsys.readouterr().out


class Killed(Exception):
    pass


RATES = SearchSpace({"learning_rate": tune.loguniform(1e-3, 1e-1)}, objective="valid/value_against_adversary")
GAME = without_test(matrix_game.EXPERIMENT, search_space=lambda: RATES)
SMALL = ["--preset", "smoke", "--methods", "sync", "--games", "32", "--updates-per-row", "5", "--hold-share", "0.9"]
SMALL += ["--budget-env-steps", "1600", "--checkpoint-every-env-steps", "320", "--seeds", "0"]


def test_a_broken_search_goes_on_where_it_was(ray_session, tmp_path):
    out = tmp_path / "broken"

    def search(count):
        with trials_in_process():
            return main(GAME, [*SMALL, "--out", str(out), "--search", str(count)])

    def kill_late(row):
        if row["env_steps"] >= 800:
            raise Killed

    assert search(1) == 0
    first, second = (out / "trials" / f"sync-setting0{number}-seed0" for number in (0, 1))
    finished = (first / "metrics.jsonl").stat()
    config = read_configuration(GAME, json.loads((out / "config.json").read_text())["config"])
    setting = draw_settings(RATES, config, "sync", 2, 0)[1]
    with pytest.raises(Killed):
        Trial(GAME, setting.config, "sync", 0, second, is_tested=False).run(kill_late)
    begun = {row["env_steps"]: row["wall_time"] for row in read_metrics(second / "metrics.jsonl")}

    assert search(2) == 0
    assert (first / "metrics.jsonl").stat() == finished, "a finished trial is not trained again"
    rows = read_metrics(second / "metrics.jsonl")
    assert [row["env_steps"] for row in rows] == list(range(160, 1601, 160))
    assert rows[1]["wall_time"] == begun[320], "it went on from its checkpoint"
    ranking = [json.loads(line) for line in (out / "search.jsonl").read_text().splitlines()]
    assert sorted(row["setting"] for row in ranking) == [0, 1]


def test_a_setting_that_diverges_is_ranked_last_and_the_search_goes_on(ray_session, tmp_path):
    words = [*SMALL, "--search-by", "grid", "--search-over", "learning_rate=grid:1e30,0.01", "--out", str(tmp_path)]
    with trials_in_process():
        assert main(GAME, words) == 0
        ended = {path: path.stat().st_mtime_ns for path in (tmp_path / "trials").glob("*/*.json*")}
        assert main(GAME, words) == 0
    assert {path: path.stat().st_mtime_ns for path in (tmp_path / "trials").glob("*/*.json*")} == ended
    ranking = [json.loads(line) for line in (tmp_path / "search.jsonl").read_text().splitlines()]
    assert [row["parameters"]["learning_rate"] for row in ranking][-1] == 1e30 and len(ranking) == 3
    assert ranking[-1]["value"] is None and None not in [row["value"] for row in ranking[:-1]]


def test_a_setting_that_is_ranked_no_more_leaves_no_row(tmp_path):
    config, options = parse(GAME.presets, [*SMALL, "--search", "2"], "", (0,))
    search = search_run.Search(GAME, config, options)
    with RunFolder.open(tmp_path, config_to_json(config), "matrix_game") as folder:
        ((first, second),) = (part.requests for part in search.sessions(folder))
        for request, value in ((first, 0.25), (second, 0.5), (second, math.nan)):
            finish(request, value)
            search.show(folder, Terminal())
    assert [line.method for line in read(tmp_path / "results.jsonl")] == ["sync, setting 0"]


@pytest.mark.slow
def test_a_search_may_vary_the_processes_of_a_trial(ray_session, tmp_path, monkeypatch):
    monkeypatch.setattr(search_run, "check_this_machine", lambda cpus: None)  # four of the session's CPUs are logical
    out, flags = tmp_path / "out", ["--methods", "marginal", "--budget-env-steps", "320", "--preset", "smoke"]
    words = [*flags, "--search-by", "grid", "--search-over", "workers.runners=grid:0,1", "--out", str(out)]
    assert main(without_test(FURNMOVE), words) == 0
    ranking = [json.loads(line) for line in (out / "search.jsonl").read_text().splitlines()]
    assert sorted(row["parameters"]["workers.runners"] for row in ranking) == [0, 1]


@pytest.mark.parametrize(
    ("name", "method", "path", "objective"),
    [
        ("matrix_game", "sync", "learning_rate", "valid/value_against_adversary"),
        ("overcooked_roles", "qmix", "roles.learning_rate", "valid/reward"),
        ("sama_overcooked", "sama", "learner.learning_rate", "valid/completed"),
    ],
)
def test_a_search_over_named_fields_ranks_by_what_the_experiment_validates(name, method, path, objective):
    experiment, space = find_experiment(name), f"{path}=loguniform:1e-4:1e-2"
    words = ["--preset", "smoke", "--methods", method, "--search", "2", "--search-over", space]
    config, options = parse(experiment.presets, words, experiment.caption, experiment.seeds)
    assert search_run.Search(experiment, config, options).space.objective == objective


def test_a_grid_has_fewer_settings_for_a_method_that_does_not_use_all_of_its_fields(tmp_path):
    words = ["--preset", "smoke", "--methods", "sync_13_cordial", "marginal", "--search-by", "grid"]
    words += ["--search-over", "sync.learning_rate=grid:1e-4,1e-2"]
    config, options = parse(PRESETS, words, "caption", (0,))
    search = search_run.Search(FURNMOVE, config, options)
    with RunFolder.open(tmp_path / "run", config_to_json(config), FURNMOVE.name, seeds=(0,)) as folder:
        (part,) = search.sessions(folder)
    names = [request["name"] for request in part.requests]
    assert sum(name.startswith("sync") for name in names) == 3 and sum(name.startswith("marg") for name in names) == 1


def test_an_experiment_without_a_space_says_so(tmp_path, capsys):
    assert main(matrix_game.EXPERIMENT, ["--search", "3", "--out", str(tmp_path / "out")]) == 2
    assert capsys.readouterr().err.startswith("error: matrix_game ")
    assert not (tmp_path / "out").exists()


@pytest.mark.parametrize("by", ["random", "optuna"])
def test_a_search_that_would_be_trained_otherwise_is_refused_and_not_ranked(tmp_path, capsys, by):
    out = tmp_path / "out"
    words = ["--preset", "smoke", "--methods", "marginal", "--search", "2", "--search-by", by, "--out", str(out)]
    config, _ = parse(PRESETS, words, "caption", (0,))
    with RunFolder.open(out, config_to_json(config), FURNMOVE.entry_point, seeds=(0,)) as folder:
        (folder.trial("marginal-setting00-seed0") / "checkpoints/checkpoint_000100").mkdir(parents=True)
    before = (out / "config.json").read_text()
    for flag, value in {"--workers.worlds-per-runner": 3, "--budget-env-steps": 99_999, "--methods": "central"}.items():
        assert main(FURNMOVE, [*words, flag, str(value)]) == 2
        assert flag in capsys.readouterr().err
    assert (out / "config.json").read_text() == before


def test_a_search_is_of_one_configuration_also_before_its_first_checkpoint(tmp_path):
    words = ["--preset", "smoke", "--methods", "marginal", "--search", "2", "--search-by", "asha"]
    (tmp_path / "trials").mkdir()
    others = {
        "max_episode_steps": ["--max-episode-steps", "7"],
        "search_seed": ["--search-seed", "7"],
        "by": ["--search-by", "pbt"],
        "seeds": ["--seeds", "0", "1"],
        "search": ["--search", "3"],
        "space": ["--search-over", "learner.gamma=grid:0.5"],
    }

    def claim(*more):
        config, options = parse(PRESETS, [*words, *more], "caption", (0,))
        search_run.Search(FURNMOVE, config, options).claim(tmp_path)

    claim()
    (tmp_path / "trials/marginal-setting00-seed0").mkdir()
    claim()
    before = (tmp_path / "search.json").read_text()
    for named, flags in others.items():
        with pytest.raises(UserError, match=rf"search\.json .*{named}"):
            claim(*flags)
    assert (tmp_path / "search.json").read_text() == before


def test_a_loser_goes_on_with_the_winners_weights_and_a_rate_of_its_own_through_tune(
    ray_session, tmp_path, monkeypatch
):
    monkeypatch.setattr(population, "GENERATIONS", 2)
    out = tmp_path / "pbt"
    kept = ["--checkpoint-every-env-steps", "800"]  # at the end of the generation and of the trial
    assert main(GAME, [*SMALL, *kept, "--search", "2", "--search-by", "pbt", "--out", str(out)]) == 0
    (file,) = (out / "trials").glob("*/exploits.jsonl")
    (told,) = map(json.loads, file.read_text().splitlines())
    loser, winner = file.parent, out / "trials" / told["source"]
    assert loser != winner
    taken, given = (
        load_checkpoint(get_checkpoint_path(trial / "checkpoints", told["env_steps"])) for trial in (loser, winner)
    )
    for group, tensors in given.tensors.items():
        for name, value in tensors.items():
            np.testing.assert_array_equal(value, taken.tensors[group][name])
    explored, rate = told["values"]["learning_rate"], given.state["config"]["learning_rate"]
    assert explored != rate
    log = read_metrics(loser / "metrics.jsonl")
    assert {row["schedule/learning_rate"] for row in log if told["env_steps"] < row["env_steps"] < 1440} == {explored}
    ranking = {row["setting"]: row for row in map(json.loads, (out / "search.jsonl").read_text().splitlines())}
    assert ranking[int(loser.name[-7:-6])]["parameters"] == told["values"]


@pytest.mark.slow
def test_asha_stops_trials_and_ranks_those_that_reached_their_end(ray_session, tmp_path):
    words = [*SMALL, "--search", "5", "--search-by", "asha", "--out", str(tmp_path / "asha")]
    assert main(GAME, [*words, "--max-concurrent-trials", "1"]) == 0
    trials = sorted((tmp_path / "asha/trials").iterdir())
    finished = [trial for trial in trials if read_test_results(trial) is not None]
    lengths = {read_metrics(trial / "metrics.jsonl")[-1]["env_steps"] for trial in trials if trial not in finished}
    assert 0 < len(finished) < len(trials) == 5
    assert max(lengths) < 1600
    rows = (tmp_path / "asha/search.jsonl").read_text().splitlines()
    assert len(rows) == len(finished)
    assert main(GAME, words) == 0, "what was stopped stays stopped"


@pytest.mark.slow
def test_an_optuna_search_goes_on_with_more_settings(ray_session, tmp_path):
    """`test_optuna_search.py` kills it."""
    words = [*SMALL, "--search-by", "optuna", "--max-concurrent-trials", "1", "--out", str(tmp_path)]
    logs = [tmp_path / f"trials/sync-setting0{number}-seed0/metrics.jsonl" for number in range(3)]
    assert main(GAME, [*words, "--search", "2"]) == 0
    began = [log.read_bytes() for log in logs[:2]]
    assert main(GAME, [*words, "--search", "3"]) == 0
    assert [log.read_bytes() for log in logs[:2]] == began
    assert all([row["env_steps"] for row in read_metrics(log)] == list(range(160, 1601, 160)) for log in logs)
    assert len((tmp_path / "search.jsonl").read_text().splitlines()) == 3
    assert len(list((tmp_path / "hparams").iterdir())) == 3 and (tmp_path / "plots/search.png").exists()
