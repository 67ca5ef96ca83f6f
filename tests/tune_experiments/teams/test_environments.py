"""Environments by name: worlds of the package, Gymnasium's, functions; wrong names, and functions without one."""

import contextlib
import dataclasses
import functools
import json
import os
import tempfile

import numpy as np
import pytest
import torch

from rl_envs import make
from rl_envs.core.errors import CustomEnvError
from rl_envs.wrappers import from_pettingzoo, hangs
from tests.rl_envs.testing import broken_determinism  # noqa: F401 (adds its worlds)
from tests.rl_envs.testing.broken_worlds import BROKEN
from tests.tune_experiments.teams import games
from tune_experiments.core.config_json import config_to_json
from tune_experiments.core.errors import UserError
from tune_experiments.experiment.finding import UNNAMED, find_stored, imported_modules
from tune_experiments.run.environment_probe import probe
from tune_experiments.teams.environment_names import find_name
from tune_experiments.teams.observations import check_declaration, example_world, keep_declaration
from tune_experiments.teams.worlds import make_world
from tune_experiments.train import EXPERIMENT, SMOKE, UNNAMED_FILE, train

GAMES = games.__name__


def small(env, **changes):
    return dataclasses.replace(SMOKE, env=env, **changes)


def nested():
    def build():
        return games.Meeting()

    return build


@pytest.fixture
def defaults_of_torch():
    yield
    torch.set_default_dtype(torch.float32)
    torch.set_default_device(None)
    torch.set_grad_enabled(True)


@pytest.mark.parametrize(
    "change", ["set_default_dtype(torch.float64)", "set_default_device('meta')", "set_grad_enabled(False)"]
)
def test_an_environment_that_changes_torchs_defaults_changes_no_network(
    change, tmp_path, monkeypatch, caplog, defaults_of_torch
):
    name = change.partition("(")[0]
    (tmp_path / f"{name}.py").write_text(f"import torch\nfrom {GAMES} import Meeting\ntorch.{change}\n")
    monkeypatch.syspath_prepend(tmp_path)
    with contextlib.closing(make_world(small(f"{name}:Meeting"))) as world:
        world.reset(0)
    assert torch.nn.Linear(1, 1).weight.type() == "torch.FloatTensor"
    assert torch.is_grad_enabled() and name in caplog.text


@pytest.mark.parametrize(
    ("env", "name", "arguments"),
    [
        ("overcooked-v0", "overcooked-v0", {}),
        (games.Meeting, f"{GAMES}:Meeting", {}),
        (games, GAMES, {}),
        (functools.partial(games.Departing, dtype="uint8"), f"{GAMES}:Departing", {"dtype": "uint8"}),
    ],
)
def test_what_another_process_can_import_keeps_its_name(env, name, arguments):
    assert find_name(env) == (name, arguments, "")


def test_what_no_other_process_can_import_has_a_name_here_alone():
    first, second = nested(), nested()
    found = [find_name(env) for env in (first, second, first, lambda: games.Meeting(), games.Meeting().reset)]
    assert all(one.name.startswith(UNNAMED) and one.why_unnamed for one in found)
    assert found[0].name == found[2].name != found[1].name
    with pytest.raises(UserError, match="Meeting"):
        find_name(games.Meeting())


@pytest.mark.parametrize("env", ["overcooked-v0", "overcooked_v0", "rl_envs.overcooked.world:Overcooked"])
def test_a_world_of_the_package_plays_as_it_does_and_says_who_sees(env):
    arguments = '{"layout": "coordination_ring"}'
    world = make_world(small(env, env_arguments=arguments, max_episode_steps=7), 3, 5)
    plain = make("overcooked-v0", 3, first_world=5, layout="coordination_ring", max_episode_steps=7)
    obs, expected = world.reset(4), plain.reset(4)
    actions = np.random.default_rng(0).integers(6, size=(20, 3, 2))
    for chosen in actions:
        np.testing.assert_array_equal(obs.pop("agent"), np.broadcast_to(np.eye(2), (3, 2, 2)))
        assert obs.keys() == expected.keys()
        assert all((obs[key] == expected[key]).all() for key in obs)
        obs, expected = world.step(chosen)[0], plain.step(chosen)[0]
    assert set(world.restore(world.snapshot())) == {"agent", *expected}


def test_an_environment_that_changes_the_working_directory_moves_no_files_of_a_run(tmp_path, caplog):
    class Elsewhere(games.Meeting):
        def __init__(self):
            super().__init__()
            os.chdir(tmp_path)

        def reset(self, seed=None, options=None):
            os.chdir(folder := tempfile.mkdtemp())
            os.rmdir(folder)
            return super().reset(seed, options)

    here = os.getcwd()
    world = make_world(small(find_name(Elsewhere).name), 2)
    assert os.getcwd() == here and "Elsewhere changes the working directory" in caplog.text
    assert len(world.reset(0)["agent"]) == 2 and os.getcwd() == here


ODD_NAMES = {
    "overcooked": "overcooked-v0",
    "overcookd-v0": "overcooked-v0",
    "CartPole-v1": "gymnasium:CartPole-v1",
    "gymnasium:CartPol-v1": "gymnasium:CartPole-v1",
    "gymnasium:no_such_package:Game-v0": "no_such_package",
    "mpe2.simple_spred_v3": "simple_spread_v3",
    "nobody has this": "package.module",
    f"{UNNAMED}anything": "my_env:parallel_env",
}


@pytest.mark.parametrize("env", ODD_NAMES)
def test_a_wrong_name_is_told_what_was_meant(env):
    with pytest.raises((CustomEnvError, UserError), match=ODD_NAMES[env]):
        make_world(small(env))


@pytest.mark.parametrize(
    ("changes", "said"),
    [
        ({"env_arguments": '{"layot": "cramped_room"}'}, "--env-arguments.*'layot'; did you mean layout"),
        ({"env": "two_step_game-v0", "max_episode_steps": 3}, "--max-episode-steps.*two_step_game-v0"),
        ({"env_processes": 2}, "--env-processes.*--workers.runners"),
        ({"env_arguments": '{"arrays": "torch"}'}, "--env-arguments.*arrays"),
        ({"env": "rl_envs.rtfm.world:Rtfm", "max_words": 9}, "--max-words has no effect"),
    ],
)
def test_an_argument_that_a_world_does_not_take_is_named(changes, said):
    with pytest.raises(UserError, match=said):
        make_world(dataclasses.replace(small("overcooked-v0"), **changes))


def test_an_agent_that_is_absent_from_the_start_has_not_left_after_the_first_env_step():
    seen = probe(functools.partial(make_world, small(f"{GAMES}:Absent", agents_leave=True)))
    assert seen.left == {"short": 0} and dict(seen.rows)["leaving"] == "short absent from the start"


def test_one_episode_shows_who_leaves_when_which_limit_is_assumed_and_what_agents_earn():
    seen = probe(functools.partial(make_world, small(f"{GAMES}:Departing", agents_leave=True)))
    assert seen.agents == ("long", "short", "other")
    assert (seen.left, seen.env_steps, seen.ended) == ({"short": 2}, 5, "terminated")
    assert (seen.limit, seen.limit_from) == (1000, "")
    assert seen.actions == {"long": 3, "short": 2, "other": 3} and 0 < seen.legal_share < 1
    assert (seen.lowest_reward, seen.highest_reward, seen.is_zero_sum) == (0, 1, False)
    (observation,) = seen.observations
    assert observation.startswith("observation [3] ") and "declared 0 to 1, seen 0" in observation
    assert set(seen.spaces) == set(seen.agents)
    assert probe(functools.partial(make_world, small(f"{GAMES}:Meeting"))).limit_from == "max_cycles"


@pytest.mark.parametrize(
    ("name", "uses_seed", "shares_state"),
    [("Unlike", True, False), ("Careless", False, False), ("Sharing", True, True)],
)
def test_an_environment_that_ignores_its_seed_or_shares_its_state_is_found(name, uses_seed, shares_state):
    config, said = small(f"tests.rl_envs.wrappers.foreign_envs:{name}", agents_leave=True), []
    EXPERIMENT.inspect(config, said.append)
    seen = probe(functools.partial(make_world, config))
    assert (seen.uses_seed, seen.shares_state) == (uses_seed, shares_state)
    assert any("seed" in line for line in said) is not uses_seed
    assert any("copies share" in line for line in said) is shares_state


def test_an_agent_that_seldom_leaves_is_seen_and_the_record_is_of_the_first_episode():
    seen = probe(functools.partial(make_world, small(f"{GAMES}:SeldomDeparting", agents_leave=True)))
    assert (seen.left, seen.env_steps) == ({"short": 2}, 5)
    assert 0 < seen.team_return <= 15
    assert EXPERIMENT.inspect(small(f"{GAMES}:SeldomDeparting"), lambda said: None).agents_leave


def test_agents_of_an_episode_that_was_not_played_to_its_end_may_leave():
    make_departing = functools.partial(make_world, small(f"{GAMES}:Departing", agents_leave=True))
    cut, whole = probe(make_departing, seconds=0.0), probe(functools.partial(make_world, small(f"{GAMES}:Meeting")))
    assert (cut.ended, cut.left, cut.may_leave) == ("", {}, True)
    assert whole.ended and not whole.may_leave


def test_a_game_in_which_one_wins_once_what_another_loses_is_not_zero_sum():
    """Each of two agents wins or loses by its own door, in an episode of one env step."""
    assert not probe(functools.partial(make_world, small("examples.signposts:parallel_env"))).is_zero_sum
    assert probe(functools.partial(make_world, small("pettingzoo.classic.rps_v2"))).is_zero_sum


class Stakes(games.Departing):
    """Three agents earn what adds up to 0, as float32."""

    leaves_after = 5

    def step(self, actions):
        seen, rewards, *rest = super().step(actions)
        return seen, dict(zip(rewards, np.float32([0.1, 0.2, -0.3]), strict=True)), *rest


def test_rewards_that_add_up_to_0_but_for_rounding_are_zero_sum():
    assert probe(functools.partial(from_pettingzoo, Stakes)).is_zero_sum


def test_what_follows_from_the_episode_is_set_and_said_with_its_flag():
    said = []
    settled = EXPERIMENT.inspect(small(f"{GAMES}:Departing"), said.append)
    assert settled == small(f"{GAMES}:Departing", agents_leave=True)
    text = "\n".join(said)
    assert all(word in text for word in ("short after env step 2", "--agents-leave", "--max-episode-steps", "assumed"))
    own = small("two_step_game-v0")
    assert EXPERIMENT.inspect(own, said.append) == own


def test_a_continued_run_keeps_that_agents_may_leave():
    config = small(f"{GAMES}:Meeting")
    assert not EXPERIMENT.inspect(config, lambda said: None).agents_leave
    assert EXPERIMENT.inspect(config, lambda said: None, {"agents_leave": True}).agents_leave


@pytest.mark.parametrize("row", ["sync_4", "qmix", "vdn"])
def test_a_method_that_learns_from_the_sum_refuses_a_game_in_which_it_is_always_0(row):
    duel = small("pettingzoo.classic.rps_v2")
    EXPERIMENT.check(dataclasses.replace(duel, methods=("ippo", "mappo")))
    with pytest.raises(UserError, match=f"{row} .*always 0 in pettingzoo.classic.rps_v2"):
        EXPERIMENT.check(dataclasses.replace(duel, methods=(row,)))


@pytest.mark.parametrize(
    ("env", "module"),
    [
        ("overcooked-v0", None),
        (f"{UNNAMED}anything", None),
        ("unnamed", "unnamed"),
        ("gymnasium:CartPole-v1", "gymnasium"),
        ("gymnasium:strange.package:Game-v0", "strange.package"),
        ("strange.package", "strange.package"),
        *((f"strange.package:{name}", "strange.package") for name in ("build", "", "a.b")),
    ],
)
def test_a_stored_run_imports_an_environment_only_if_the_caller_names_its_module(env, module, tmp_path):
    data = config_to_json(small(env))
    if module is not None:
        with pytest.raises(UserError, match=f"--allow {module}"):
            find_stored("train", data, (), tmp_path / "config.json")
    allow = [] if module is None else [module]
    assert find_stored("train", data, allow, tmp_path / "config.json")[1].env == env
    assert imported_modules(EXPERIMENT, small(env)) == ["tune_experiments.train", *allow]


SIGNAL = "tests.rl_envs.wrappers.odd_games:Signal"
CHANGES = [
    (SIGNAL, {}, {"names": ["right", "left"]}),
    (SIGNAL, {}, {"names": ["left", "other"]}),
    (f"{GAMES}:Departing", {}, {"dtype": "uint8"}),
    (SIGNAL, {"max_cycles": 6}, {"max_cycles": 7}),
    (f"{GAMES}:Declared", {}, {"action_spec": {"go": 3, "say": 6}}),
]


@pytest.mark.parametrize(("env", "before", "after"), CHANGES)
def test_a_team_is_refused_in_an_environment_that_has_changed_since_its_training(env, before, after, tmp_path):
    trained, changed = (small(env, env_arguments=json.dumps(one)) for one in (before, after))
    for config in (changed, trained):  # a trial without a checkpoint begins anew
        EXPERIMENT.prepare(config, "ippo", tmp_path)
        EXPERIMENT.plan(config, "ippo", 0, tmp_path).build_policy()
    (tmp_path / "checkpoints/checkpoint_000001").mkdir(parents=True)
    EXPERIMENT.prepare(changed, "ippo", tmp_path)
    with pytest.raises(UserError, match=f"{env} has changed"):
        EXPERIMENT.plan(changed, "ippo", 0, tmp_path).build_policy()
    EXPERIMENT.plan(trained, "ippo", 0, tmp_path).build_policy()


def test_numpys_print_options_change_no_environment(tmp_path):
    config = small("gymnasium:CartPole-v1")
    keep_declaration(config, tmp_path)
    example_world.cache_clear()
    with np.printoptions(precision=2, threshold=1):
        check_declaration(config, tmp_path)


@pytest.mark.parametrize("arguments", ["{'dtype': 1}", "[1]", {"dtype": np.dtype("uint8")}])
def test_arguments_that_are_no_json_object_are_refused(arguments):
    with pytest.raises(UserError, match=r"env.arguments"):
        train(env=functools.partial(games.Departing, dtype="uint8"), env_arguments=arguments, preset="smoke")


TINY = {"budget_env_steps": 200, "validate_every_env_steps": 200, "valid_episodes": 2, "test_episodes": 2}


@pytest.mark.long
def test_a_function_without_a_name_trains_in_this_process_and_its_folder_says_how_to_give_it_one(tmp_path, capsys):
    opened = []
    env = lambda **arguments: opened.append(1) or games.Departing(**arguments)  # noqa: E731
    run = train(env=env, methods="ippo", seeds=[3], preset="smoke", out=tmp_path / "run", **TINY)
    said = capsys.readouterr().out
    assert "lambda" in said and "my_env:parallel_env" in said
    assert run.config.agents_leave, "as the episode before the run has shown"
    assert opened and [row.seed for row in run.results if row.method == "ippo"]
    assert "my_env:parallel_env" in (run.trials["ippo"][3] / UNNAMED_FILE).read_text()
    assert json.loads((run.folder / "config.json").read_text())["config"]["env"].startswith(UNNAMED)
    assert run.load_policy("ippo").method == "ippo"
    with pytest.raises(UserError, match="local=False"):
        train(env=env, preset="smoke", out=tmp_path / "other", local=False)


def test_a_trial_is_prepared_in_its_own_folder_wherever_that_lies(tmp_path):
    """A trial of a run in a store has a temporary folder, which has no run folder above it."""
    (folder := tmp_path / "above/store/trial").mkdir(parents=True)
    EXPERIMENT.prepare(small(find_name(lambda **arguments: games.Departing(**arguments)).name), "ippo", folder)
    written = [path for path in tmp_path.rglob("*") if path.is_file()]
    assert folder / UNNAMED_FILE in written and all(path.parent == folder for path in written)


def test_a_world_of_ones_own_is_given_any_argument_it_takes_and_what_it_declares_is_checked():
    own = small(f"{GAMES}:Declared", env_arguments=json.dumps({"max_episode_steps": 3}))
    assert make_world(own, 2).max_episode_steps == 3
    with pytest.raises(CustomEnvError, match=f"{GAMES}:Declared: metric_names"):
        make_world(dataclasses.replace(own, env_arguments=json.dumps({"metric_names": ["length"]})))


PLAYED = ("Misobserved", "Misstepped")
OTHERS = {"LeavesNothing": "after a step: .* no legal action", "OneBuffer": r"\['cell'\]", "Hides": "another future"}
WRONG = [one for one in BROKEN if one[0].__name__.startswith(PLAYED) and "final_state" not in one[1]]
WRONG += [(next(one for one, _ in BROKEN if one.__name__ == name), sentence) for name, sentence in OTHERS.items()]


@pytest.mark.parametrize(("world", "sentence"), WRONG, ids=[sentence for _, sentence in WRONG])
def test_the_episode_before_a_run_finds_a_world_that_breaks_the_contract(world, sentence):
    with pytest.raises(CustomEnvError, match=f"{world.__name__}: .*{sentence}"):
        probe(world)


@pytest.mark.parametrize("error", [KeyError("x"), SystemExit(0), pytest.exit.Exception("no Exception")])
def test_what_a_world_of_ones_own_raises_is_told_where(error, monkeypatch):
    def raises(self, *given):
        raise error

    world = make_world(small(f"{GAMES}:Declared"))
    world.reset(0)
    monkeypatch.setattr(games.Declared, "_advance", raises)
    with pytest.raises(CustomEnvError, match=rf"step: {type(error).__name__}: .*test_environments.py") as raised:
        world.step({"go": np.zeros((1, 2), int), "say": np.zeros((1, 2), int)})
    assert not raised.value.is_final, "another episode may not raise"


@pytest.mark.parametrize("error", [ValueError("3 into 2"), SystemExit(3), KeyError("x")])
def test_a_world_of_ones_own_that_raises_while_it_is_built_is_told_where(error, monkeypatch):
    def raises(self, *arguments):
        raise error

    monkeypatch.setattr(games.Declared, "__init__", raises)
    with pytest.raises(
        CustomEnvError, match=rf"Declared cannot be built .*{type(error).__name__}.*test_environments.py"
    ):
        make_world(small(f"{GAMES}:Declared"))


@pytest.mark.parametrize("agents", [1, 2])
@pytest.mark.parametrize("missing", ["action_spec", "max_episode_steps", "observation_spec"])
def test_a_world_that_does_not_declare_what_it_needs_is_told_what(missing, agents):
    arguments = json.dumps({"missing": missing, "num_agents": agents})
    with pytest.raises(CustomEnvError, match=rf"does not declare \['{missing}'\]"):
        make_world(small(f"{GAMES}:Declared", env_arguments=arguments))


def test_a_world_of_ones_own_has_as_many_copies_as_it_is_asked_for(monkeypatch):
    build = games.Errands.__init__
    monkeypatch.setattr(games.Declared, "__init__", lambda self, *arguments: build(self))
    with pytest.raises(CustomEnvError, match="num_worlds and first_world"):
        make_world(small(f"{GAMES}:Declared"), 3)


class Watched(games.Declared):
    """It notes what the hang watch would say in each of its env steps."""

    said = []  # noqa: RUF012

    def _advance(self, actions, recorded):
        self.said.append(hangs.hang_message(0.0))
        return super()._advance(actions, recorded)


def test_the_calls_of_a_world_of_ones_own_are_watched():
    probe(functools.partial(make_world, small(f"{__name__}:Watched")))
    assert Watched.said and all("did not return from step" in said for said in Watched.said)
    assert hangs.hang_message(0.0) is None


def test_a_function_that_returns_a_world_is_told_to_name_its_class():
    with pytest.raises(CustomEnvError, match=r"package\.module:Declared"):
        make_world(small(f"{GAMES}:declared"))
