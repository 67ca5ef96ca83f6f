"""Our teams in a game of others: every row learns on vectors and images, and what its table and refusals say."""

import dataclasses
import functools
import json
import subprocess
import sys

import numpy as np
import pytest
import torch

from rl_envs.core.errors import CustomEnvError
from rl_envs.core.spec import ArraySpec
from rl_envs.registry import make
from rl_envs.wrappers import hangs
from rl_models.batch import to_batch
from rl_models.rllib.config import rllib_config
from rl_models.rllib.env_runner import FragmentEnvRunner
from rl_models.rllib.workers import Workers
from rl_models.training.algorithm import RESTARTED
from rl_models.training.loop import Learner
from tests.rl_envs.wrappers import odd_games
from tests.rl_models.training.small import ratio_error
from tests.timeouts import TIMEOUT_SECONDS
from tests.tune_experiments.fragments import unmoved
from tests.tune_experiments.play.teams import untrained
from tests.tune_experiments.teams.played import played
from tune_experiments.core.errors import UserError
from tune_experiments.experiment.finding import find_experiment
from tune_experiments.experiment.plan import RANDOM
from tune_experiments.launch.experiment import main
from tune_experiments.results.rows import Result
from tune_experiments.run.final_evaluation import evaluate_all, make_results
from tune_experiments.run.speed import environment_report
from tune_experiments.run.stage_training import restart_notice
from tune_experiments.run.trial import Trial
from tune_experiments.teams.config import Q_METHODS
from tune_experiments.teams.trials import build_policy, plan, play
from tune_experiments.teams.worlds import make_world

EXPERIMENT = find_experiment("train")
SMOKE = EXPERIMENT.presets["smoke"]
MEETING = dataclasses.replace(SMOKE, env="tests.tune_experiments.teams.games:Meeting")
ROWS = ("ippo", "mappo", "commnet", "tbone", "sync_4", "sync_4_cordial", "qmix", "vdn")
FACTORED = "tests.rl_envs.wrappers.test_factored_actions"
IMPALA = dataclasses.replace(SMOKE.learner, algorithm="impala")
SEEN = {
    "vectors": MEETING,
    "images": dataclasses.replace(MEETING, env_arguments='{"image": true}'),
    "unlike": dataclasses.replace(SMOKE, env="mpe2.simple_speaker_listener_v4"),
    "leaving": dataclasses.replace(SMOKE, env="tests.rl_envs.wrappers.foreign_envs:Unlike", agents_leave=True),
    "factors": dataclasses.replace(SMOKE, env=f"{FACTORED}:Mixed"),
    "factors, leaving": dataclasses.replace(SMOKE, env=f"{FACTORED}:OneLeaves", agents_leave=True, learner=IMPALA),
}
CASES = [(game, row) for game in SEEN for row in (("ippo", "sync_4") if game == "factors, leaving" else ROWS)]
CASES = [(game, row) for game, row in CASES if game in ("vectors", "images") or not row.endswith("cordial")]
CASES = [(game, row) for game, row in CASES if game != "factors" or row not in Q_METHODS]


@pytest.mark.parametrize(("game", "row"), CASES)
def test_learning_sees_the_probabilities_that_acting_drew_with_and_every_weight_gets_gradient(game, row):
    trial, policy, fragment = played(SEEN[game], row, length=12)
    assert (fragment.steps["truncated"] | fragment.steps["terminated"]).any() or game == "unlike"
    assert "leaving" not in game or not fragment.obs["alive"].all()
    assert row in Q_METHODS or ratio_error(trial.objective, policy, fragment) < 1e-5
    frozen = {name for name, weights in policy.named_parameters() if not weights.requires_grad}
    assert frozen >= set(unmoved(trial, policy, fragment))


@pytest.mark.parametrize("key", ["is_first", "uniforms", "deciding", "state/x"])
def test_an_observation_may_have_any_name(key):
    env = {"env": "tests.tune_experiments.teams.games:Named", "env_arguments": json.dumps({"key": key})}
    trial, policy, fragment = played(dataclasses.replace(SMOKE, **env), "ippo")
    assert (fragment.obs[key] == 1).all()
    told = Learner(policy, trial.objective, trial.optimiser).update([fragment])
    assert np.isfinite(float(told["loss/total"]))
    team = untrained("train", "ippo", **env)
    assert team.act(team.make_world(2).reset(0)).shape == (2, 2)


@pytest.mark.parametrize("row", ["ippo", "tbone", "sync_4", "qmix", "vdn"])
def test_no_row_draws_a_padded_action(row):
    _, _, fragment = played(SEEN["unlike"], row, length=25)
    speaker = to_batch(fragment)["actions"][..., 0]
    assert speaker.max() == 2
    assert to_batch(fragment)["actions"][..., 1].max() > 2


@pytest.mark.parametrize(("row", "depends"), [("ippo", False), ("mappo", True)])
def test_a_value_of_mappo_depends_on_what_the_others_see_and_one_of_ippo_does_not(row, depends):
    policy = build_policy(SEEN["vectors"], row, 0)
    seen = {key: torch.from_numpy(value)[:, None] for key, value in make_world(SEEN["vectors"], 2).reset(0).items()}
    first = torch.ones(2, 1, dtype=torch.bool)
    before = policy(seen, {}, first)
    seen["observation"][:, :, 1] = 0.0
    after = policy(seen, {}, first)
    assert (before.values[..., 0] != after.values[..., 0]).all() == depends
    torch.testing.assert_close(before.policy.marginals()[:, :, 0], after.policy.marginals()[:, :, 0])


@pytest.mark.parametrize("algorithm", ["ppo", "impala"])
def test_cordial_is_of_the_size_of_legal_joint_actions_where_a_mask_hides_some(algorithm):
    learner = dataclasses.replace(SMOKE.learner, algorithm=algorithm)
    config = dataclasses.replace(SMOKE, env="tests.tune_experiments.teams.games:LockedMeeting", learner=learner)
    trial, policy, fragment = played(config, "sync_4_cordial", length=12)
    assert not fragment.obs["legal"].all()
    told = Learner(policy, trial.objective, trial.optimiser).update([fragment])
    assert 0 < float(told["loss/cordial"]) < 5, "of at most 4 legal joint actions"
    assert 0 <= float(told["policy/invalid_probability"]) <= 1


DEPARTING = dataclasses.replace(SMOKE, env="tests.tune_experiments.teams.games:Departing", agents_leave=True)


@pytest.mark.parametrize("row", ["ippo", "sync_4", "qmix"])
def test_a_trial_that_an_agent_ended_by_leaving_goes_on_once_agents_may_leave(row, tmp_path):
    """In every third episode one leaves, at env step 12 of each copy."""
    workers = dataclasses.replace(SMOKE.workers, worlds_per_runner=4, fragment_length=4)
    config = dataclasses.replace(
        SMOKE,
        env="tests.tune_experiments.teams.games:SeldomDeparting",
        methods=(row,),
        workers=workers,
        budget_env_steps=6 * 16,
        checkpoint_every_env_steps=16,
    )
    with pytest.raises(CustomEnvError, match="--agents-leave"):
        Trial(EXPERIMENT, config, row, 0, tmp_path, is_tested=False, is_local=True).run(lambda told: None)
    allowed, rows = dataclasses.replace(config, agents_leave=True), []
    Trial(EXPERIMENT, allowed, row, 0, tmp_path, is_tested=False, is_local=True).run(rows.append)
    assert [told["env_steps"] for told in rows if "env_steps" in told] == [32, 48, 64, 80, 96]


@pytest.mark.parametrize("dtype", ["uint8", "uint64", "bool", "float16"])
def test_action_values_learn_from_observations_of_each_type(dtype):
    config = dataclasses.replace(DEPARTING, env_arguments=json.dumps({"dtype": dtype}))
    trial, policy, fragment = played(config, "qmix")
    assert fragment.obs["observation"].dtype == dtype
    unmoved(trial, policy, fragment)


def test_every_row_that_cannot_play_is_refused_before_the_run_by_name():
    known = {"sync_2_cordial": "coordination_sets", "lora": "action_texts", "lora_blind": "action_texts"}
    for row, lacking in known.items():
        config = dataclasses.replace(SMOKE, env=DEPARTING.env, methods=("ippo", row))
        with pytest.raises(UserError, match=f"{row}.*{config.env}.*{lacking}"):
            EXPERIMENT.check(config)
    EXPERIMENT.check(dataclasses.replace(DEPARTING, methods=ROWS[:5] + Q_METHODS))
    EXPERIMENT.check(dataclasses.replace(MEETING, methods=ROWS))


@pytest.mark.parametrize("row", ["qmix", "vdn", "sync_4_cordial"])
def test_a_row_for_agents_that_all_choose_refuses_a_game_whose_agents_wait(row, monkeypatch):
    world = make_world(MEETING)
    world.observation_spec = world.observation_spec | {"decides": ArraySpec((), "bool", 0, 1, "chooses now")}
    monkeypatch.setattr("tune_experiments.teams.trials.example_world", lambda config: world)
    with pytest.raises(UserError, match=f"{row} .*{MEETING.env}"):
        EXPERIMENT.check(dataclasses.replace(MEETING, methods=("ippo", row)))


def test_the_distance_of_a_joint_policy_that_is_too_large_is_estimated():
    config = dataclasses.replace(SMOKE, env_arguments='{"N": 6, "max_cycles": 3}')
    measured = play(config, 2, 0, build_policy(config, "sync_4", 0))
    assert set(measured) == {"return", "length", "tvd_estimate"}
    assert "tvd" in play(SMOKE, 2, 0, build_policy(SMOKE, "sync_4", 0))
    line = Result("train", EXPERIMENT.caption, "sync_4", "mpe2", "test", 0, "return", 1.0)
    table = EXPERIMENT.tables([line])[0].markdown()
    assert "| sync_4 | 1.000 |" in table


@pytest.mark.parametrize("method", ["ippo", "mappo"])
def test_random_play_is_tested_beside_the_first_row_and_a_mean_by_method_is_the_tables_number(method):
    config = dataclasses.replace(MEETING, methods=("ippo", "mappo"), test_episodes=5)
    policy, rows = build_policy(config, method, 0), []
    for tested, episodes in evaluate_all({"": lambda team: EXPERIMENT.evaluate(config, method, team)}, method, policy):
        rows += make_results(EXPERIMENT, method, 0, tested, episodes, 10)
    by_method = {}
    for row in rows:
        assert (row.world, row.condition) == (config.env, "")
        if row.metric == "return":
            by_method.setdefault(row.method, []).append(row.value)
    assert list(by_method) == [method, *[RANDOM] * (method == "ippo")]
    (table,) = EXPERIMENT.tables(rows)
    assert {name: [cells[0].value] for name, cells in table.rows} == by_method


def runner_of(env):
    trial = plan(dataclasses.replace(SMOKE, env=env, agents_leave=True), "ippo", 0)
    workers = Workers(worlds_per_runner=2, fragment_length=4)
    return FragmentEnvRunner(config=rllib_config(dataclasses.replace(trial, workers=workers)))


@pytest.mark.long
@pytest.mark.parametrize(("game", "restarted"), [("Careless", 2), ("Unlike", 0)])
def test_a_run_that_continues_says_how_many_games_begin_anew(game, restarted):
    one, other = (runner_of(f"tests.rl_envs.wrappers.foreign_envs:{game}") for _ in range(2))
    assert other.restore_snapshot(one.snapshot()) == 0, "nobody has played yet"
    one.sample(num_timesteps=1)
    assert other.restore_snapshot(one.snapshot()) == restarted
    assert restart_notice({"env_steps": 8.0}) == {}
    said = restart_notice({"env_steps": 8.0, RESTARTED: 2.0})["notice"]
    assert said.startswith("2 ")


ODD = "tests.rl_envs.wrappers.odd_games"
BREAKING = {
    f"{ODD}:short": ["left", "env step 3", "(2,)", "(3,)"],
    f"{ODD}:same": ["Signal", "copy 2 of 2"],
}


@pytest.mark.parametrize("env", BREAKING)
def test_an_environment_that_breaks_its_word_in_random_play_is_refused_before_ray_starts(env, tmp_path, capsys):
    out = tmp_path / "run"
    assert main(EXPERIMENT, ["--preset", "smoke", "--env", env, "--out", str(out)]) == 2
    said = " ".join(capsys.readouterr().err.split())
    assert [word for word in BREAKING[env] if word not in said] == []
    assert not out.exists()


def test_a_check_closes_all_that_it_opens():
    odd_games.Signal.opened = odd_games.Signal.closed = 0
    EXPERIMENT.check(dataclasses.replace(SMOKE, env=f"{ODD}:Signal"))
    assert odd_games.Signal.opened == odd_games.Signal.closed > 2


def test_the_doctor_plays_an_environment_of_others_and_says_what_it_breaks():
    def report(env):
        return environment_report(plan(dataclasses.replace(SMOKE, env=f"{ODD}:{env}"), "ippo", 0).make_world)

    (good, *table), (bad,) = report("Signal"), report("short")
    assert "6 env steps" in good
    assert any(line.split()[0] == "agents" for line in table)
    assert all(word in bad for word in BREAKING[f"{ODD}:short"])
    assert environment_report(functools.partial(make, "matrix_game-v0")) == []


PROGRAM = """
import dataclasses
from tune_experiments.train import EXPERIMENT, SMOKE
env = "tests.rl_envs.wrappers.test_hangs:Asleep"
EXPERIMENT.check(dataclasses.replace(SMOKE, env=env, env_arguments="{}", methods=("ippo",)))
"""


@pytest.mark.long
@pytest.mark.processes
def test_an_environment_that_hangs_before_a_run_ends_it_with_call_and_line(monkeypatch):
    monkeypatch.setenv("PYTHONPATH", ":".join(("", *filter(None, sys.path))))
    monkeypatch.setenv(hangs.TIMEOUT_VARIABLE, "1")
    command = [sys.executable, "-c", PROGRAM]
    ended = subprocess.run(command, capture_output=True, text=True, timeout=TIMEOUT_SECONDS, check=False)
    assert ended.returncode == 1
    assert all(word in ended.stderr for word in ("did not return from step", "1 s", "test_hangs.py, line"))
