"""The wrappers of other libraries: names, ends of episodes, seeds, refusals and rendering."""

import pickle

import gymnasium
import numpy as np
import pytest
from gymnasium.vector import AutoresetMode

from rl_envs.core.spec import ArraySpec, TextSpec
from rl_envs.matrix_game.world import MatrixGame
from rl_envs.registry import make
from rl_envs.testing.wrappers import check_parallel_env, check_team_env, check_vector_env
from rl_envs.wrappers.gymnasium import TeamEnv, TeamVectorEnv
from rl_envs.wrappers.pettingzoo import TeamParallelEnv
from rl_envs.wrappers.rllib import TeamMultiAgentEnv
from rl_envs.wrappers.spaces import array_space
from tests.toy_worlds import CELLS, Errands

pytestmark = pytest.mark.usefixtures("toy_id")
STILL = {"go": 0, "say": 0}


def team_action(n, go=0, say=0):
    return {"go": np.full(n, go), "say": np.full(n, say)}


@pytest.mark.parametrize(
    ("spec", "lead", "shape", "dtype"),
    [
        (ArraySpec((5, 7), "uint8", 0, 3, ""), (2,), (2, 5, 7), np.uint8),
        (ArraySpec((), "int16", -4, 9, ""), (), (), np.int16),
        (ArraySpec((3,), "float32", -1, 1, ""), (4,), (4, 3), np.float32),
        (ArraySpec((), "bool", 0, 1, ""), (2,), (2,), np.bool_),
        (TextSpec(6, 100, "", rows=(2,)), (3,), (3, 2, 6), np.int32),
    ],
)
def test_a_space_has_exactly_the_declared_type_shape_and_bounds(spec, lead, shape, dtype):
    space = array_space(spec, lead)
    assert space.shape == shape
    assert space.dtype == dtype
    low, high = (0, spec.vocabulary - 1) if isinstance(spec, TextSpec) else (spec.low, spec.high)
    assert (space.low == low).all()
    assert (space.high == high).all()
    assert space.contains(np.asarray(space.sample()))


def test_the_team_is_one_player_and_the_end_is_reported_as_gymnasium_does():
    env = TeamEnv(MatrixGame(adversary=2))
    env.reset(seed=0)
    _, reward, terminated, truncated, info = env.step(np.array([0, 0]))
    assert (reward, terminated, truncated) == (2.0, True, False)
    assert info["agent_rewards"].tolist() == [1.0, 1.0]
    assert info["metrics"]["outcome"] == 1.0
    assert info["metrics"]["return"].tolist() == [1.0, 1.0]
    assert set(info["episode"]) == {"r", "l", "t"}
    assert (info["episode"]["r"], info["episode"]["l"]) == (2.0, 1)
    assert 0 <= info["episode"]["t"] < 60


def test_gymnasiums_episode_statistics_work_on_one_world():
    env = gymnasium.wrappers.RecordEpisodeStatistics(TeamEnv(MatrixGame(adversary=2), episode_statistics=False))
    env.reset(seed=0)
    *_, info = env.step(np.array([0, 0]))
    assert (info["episode"]["r"], info["episode"]["l"]) == (2.0, 1)


@pytest.mark.parametrize("env_class", [TeamEnv, TeamVectorEnv, TeamParallelEnv])
def test_ids_of_constant_texts_can_be_had_as_tokens(env_class):
    env = env_class("messenger-v0", text_tokens=True)
    ids = env_class("messenger-v0").reset(seed=4)[0]
    seen = env.reset(seed=4)[0]
    if env_class is TeamParallelEnv:
        ids, seen = ids["agent_0"], seen["agent_0"]
    np.testing.assert_array_equal(seen["manual"], env.world.tables["sentence_words"][ids["manual"]])
    space = env.observation_space("agent_0") if env_class is TeamParallelEnv else env.observation_space
    assert space.contains(seen)


def test_a_step_needs_a_reset_before_it_and_an_ended_episode_stays_as_it_ended():
    env = TeamEnv("toy-v0", render_mode="rgb_array", gusts=0.0, num_agents=1)
    with pytest.raises(RuntimeError, match="reset"):
        env.step(team_action(1))
    env.reset(seed=0)
    for _ in range(CELLS):
        observation, _, terminated, _, _ = env.step(team_action(1, go=1))
        if terminated:
            break
    assert terminated
    assert observation["cell"].tolist() == [CELLS - 1]
    assert env.render()[0, -1].tolist() == [255, 255, 255], "the frame still shows the end"
    for _ in range(2):
        with pytest.raises(RuntimeError, match="reset"):
            env.step(team_action(1))
    assert env.reset()[0]["cell"] < 2


def starts(env, seeds):
    return [env.reset(seed=seed)[0]["cell"].tolist() for seed in seeds]


def test_reset_without_a_seed_goes_on_with_the_worlds_own_chance():
    env = TeamEnv("toy-v0", num_agents=4)
    episodes = starts(env, [5, None, None, None, None, None])
    assert len({str(episode) for episode in episodes}) > 2, "every episode is another one"
    assert starts(env, [5, None, None, None, None, None]) == episodes
    batch = Errands(1, num_agents=4)
    batch.reset(5)
    assert [batch.next_episode()["cell"][0].tolist() for _ in range(5)] == episodes[1:]


def test_an_episode_cut_short_and_one_played_out_are_followed_by_the_same_one():
    cut, played = (TeamEnv("toy-v0", num_agents=4, max_episode_steps=2, gusts=0.0) for _ in range(2))
    cut.reset(seed=1)
    played.reset(seed=1)
    while not played.single_world.is_over:
        played.step(team_action(4))
    assert starts(cut, [None]) == starts(played, [None])


def test_unseeded_copies_play_different_games():
    games = {str(starts(TeamEnv("toy-v0", num_agents=4), [None] * 4)) for _ in range(4)}
    assert len(games) > 1


def in_rllib(world, **settings):
    return TeamMultiAgentEnv({"world": world, **settings})


@pytest.mark.parametrize("env_class", [TeamEnv, TeamVectorEnv, TeamParallelEnv, in_rllib])
def test_a_text_is_no_flag(env_class):
    with pytest.raises(ValueError, match="text_tokens must be True or False"):
        env_class("toy-v0", text_tokens="False")


@pytest.mark.parametrize("env_class", [TeamEnv, TeamVectorEnv, TeamParallelEnv, in_rllib])
def test_only_worlds_that_render_accept_a_render_mode(env_class):
    with pytest.raises(ValueError, match="render_mode"):
        env_class("matrix_game-v0", render_mode="rgb_array")
    with pytest.raises(ValueError, match="render_mode"):
        env_class("toy-v0", render_mode="human")


@pytest.mark.parametrize("env_class", [TeamEnv, TeamParallelEnv])
def test_wrappers_pickle_in_the_middle_of_an_episode(env_class):
    env = env_class("toy-v0")
    env.reset(seed=0)
    copy = pickle.loads(pickle.dumps(env))
    actions = {name: STILL for name in env.agents} if env_class is TeamParallelEnv else team_action(2)
    assert str(copy.step(actions)) == str(env.step(actions))


def test_the_batch_resets_in_the_same_step_and_keeps_what_gymnasium_promises():
    env = TeamVectorEnv("toy-v0", num_envs=3, num_agents=2, max_episode_steps=4, gusts=0.0)
    assert env.metadata["autoreset_mode"] is AutoresetMode.SAME_STEP
    env.reset(seed=0)
    env.world.restore({"cell": np.array([[4, 3], [0, 0], [0, 0]]), "episode_length": np.array([0, 3, 0])})
    action = {"go": np.ones((3, 2), int), "say": np.zeros((3, 2), int)}
    observation, reward, terminated, truncated, info = env.step(action)
    assert terminated.tolist() == [True, False, False]
    assert truncated.tolist() == [False, True, False]
    assert reward.tolist() == info["agent_rewards"].sum(1).tolist()
    assert info["_final_obs"].tolist() == info["_final_info"].tolist() == [True, True, False]
    assert info["final_obs"][0]["cell"].tolist() == [4, 4]
    assert info["final_obs"][2] is None
    assert info["final_info"]["metrics"]["success"].tolist() == [1.0, 0.0, 0.0]
    assert info["final_info"]["metrics"]["return"].shape == (3, 2)
    assert info["final_info"]["episode"]["l"].tolist() == [1, 4, 0]
    assert info["final_info"]["episode"]["_l"].tolist() == [True, True, False]
    assert (observation["cell"][:2] < 2).all()


def test_a_world_that_another_wrapper_stops_at_its_end_is_reset_by_the_batch():
    world = MatrixGame()
    TeamEnv(world)
    env = TeamVectorEnv(world)
    env.reset(seed=0)
    lengths = [env.step(np.zeros((1, 2), int))[-1]["final_info"]["episode"]["l"].tolist() for _ in range(3)]
    assert lengths == [[1]] * 3


def test_final_info_has_the_whole_episode_within_gymnasiums_episode_statistics():
    env = gymnasium.wrappers.vector.RecordEpisodeStatistics(TeamVectorEnv(MatrixGame(2, adversary=2)))
    env.reset(seed=0)
    for _ in range(3):
        *_, info = env.step(np.zeros((2, 2), int))
        assert info["final_info"]["episode"]["l"].tolist() == [1, 1]
        assert info["final_info"]["episode"]["r"].tolist() == [2.0, 2.0]


def test_the_batch_can_be_reset_in_part():
    env = TeamVectorEnv(Errands(3))
    env.reset(seed=0)
    env.step({"go": np.ones((3, 2), int), "say": np.zeros((3, 2), int)})
    env.reset(options={"reset_mask": np.array([False, True, False])})
    assert env.world.chance.episode.tolist() == [0, 1, 0]
    with pytest.raises(ValueError, match="seed"):
        env.reset(seed=[1, 2, 3])
    with pytest.raises(ValueError, match="reset_mask"):
        env.reset(seed=1, options={"reset_mask": np.array([False, True, False])})
    for mask in ([True, False], [0, 1, 0]):
        with pytest.raises(ValueError, match="reset_mask must be bools"):
            env.reset(options={"reset_mask": mask})
    assert env.world.chance.episode.tolist() == [0, 1, 0]
    env.reset(seed=1, options={"reset_mask": np.ones(3, bool)})


def test_agents_that_are_out_of_the_game_leave(monkeypatch):
    world = Errands(num_agents=3, gusts=1.0)
    monkeypatch.setattr(world, "reset", lambda seed: world.restore({"cell": np.array([[0, 1, 2]])}))
    env = TeamParallelEnv(world)
    env.reset(seed=0)
    _, rewards, terminated, truncated, _ = env.step({name: {"go": 1, "say": 0} for name in env.agents})
    assert terminated == {"walker_0": True, "walker_1": False, "walker_2": False}
    assert not any(truncated.values())
    assert list(rewards) == ["walker_0", "walker_1", "walker_2"]
    assert env.agents == ["walker_1", "walker_2"]
    observations, *_ = env.step({name: STILL for name in env.agents})
    assert list(observations) == ["walker_1", "walker_2"]


def test_who_decides_must_act_and_who_is_absent_must_not():
    env = TeamParallelEnv(Errands(num_agents=2, gusts=0.0))
    env.reset(seed=0)
    with pytest.raises(ValueError, match=r"missing for \['walker_1'\]"):
        env.step({"walker_0": STILL})
    with pytest.raises(ValueError, match=r"stranger"):
        env.step({"walker_0": STILL, "walker_1": STILL, "stranger": STILL})
    for wrong in (1, {"go": 1}, {**STILL, "sing": 0}):
        with pytest.raises(ValueError, match=r"'walker_0'.*'go', 'say'"):
            env.step({"walker_0": wrong, "walker_1": STILL})
    env.step({"walker_0": {"go": 2, "say": 0}, "walker_1": STILL})
    env.step({"walker_1": STILL})  # walker_0 is under way and may be left out


@pytest.mark.parametrize("env_class", [TeamEnv, TeamVectorEnv])
def test_texts_that_nothing_shows_are_forgotten_and_what_is_seen_stays_the_same(env_class, monkeypatch):
    def play():
        env = env_class(make("rtfm-v0", 1, nl=True, group=True, resample_text="step", max_episode_steps=5))
        seen = [env.reset(seed=3)[0]]
        for _ in range(20):
            observation, _, over, stopped, _ = env.step(np.ones((1, 1) if env_class is TeamVectorEnv else 1, int))
            seen.append(observation)
            if env_class is TeamEnv and (over or stopped):
                seen.append(env.reset()[0])
        return seen, len(env.world.texts["document"])

    kept, many = play()
    monkeypatch.setattr("rl_envs.wrappers.spaces.MAX_TEXTS", -100)
    forgot, few = play()
    assert many > 15 and few <= 1
    np.testing.assert_equal(kept, forgot)


@pytest.mark.parametrize("num_agents", [1, 2, 3, 4])
def test_all_wrappers_of_the_toy_world_pass_the_strict_checks(num_agents, capsys):
    check_team_env(TeamEnv("toy-v0", num_agents=num_agents, render_mode="rgb_array"))
    check_vector_env(TeamVectorEnv("toy-v0", num_envs=3, num_agents=num_agents))
    check_parallel_env(*(TeamParallelEnv("toy-v0", num_agents=num_agents) for _ in range(2)))


@pytest.mark.parametrize(
    "wrapper",
    [TeamEnv, TeamVectorEnv, TeamParallelEnv, lambda world: TeamMultiAgentEnv({"world": world})],
    ids=["gymnasium", "gymnasium_vector", "pettingzoo", "rllib"],
)
def test_a_wrapper_that_is_closed_closes_its_world(wrapper, monkeypatch):
    world, closed = MatrixGame(), []
    monkeypatch.setattr(world, "close", lambda: closed.append(True))
    wrapper(world).close()
    assert closed == [True]
