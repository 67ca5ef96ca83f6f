"""What agents say: the weights that are heard, the data of the models, the figure, the video and its sound."""

import dataclasses

import numpy as np
import pytest
import torch

from rl_envs.furnlift.sight import sees_lifted
from rl_envs.furnmove.actions import PASS
from rl_envs.furnmove.frame_renderer import AgentCameras
from rl_envs.furnmove.render import framed
from rl_models.networks.network_config import VisualConfig
from tune_experiments.cordial_sync import camera_video, communication
from tune_experiments.cordial_sync.communication import MODELS, PASSES, NotIdentified, column_names, fitted
from tune_experiments.cordial_sync.evaluation import play_and_listen, world_from
from tune_experiments.cordial_sync.evaluation import test_starts as starts_of_test
from tune_experiments.cordial_sync.figures import chosen, draw_messages, passes_for_another
from tune_experiments.cordial_sync.messages import ROUNDS, listening, talks
from tune_experiments.cordial_sync.trials import plan
from tune_experiments.furnmove_communication import EXPERIMENT, CommunicationConfig
from tune_experiments.furnmove_visual import EXPERIMENT as VISUAL
from tune_experiments.play.loading import LoadedPolicy

SMALL = VisualConfig(channels=(2, 2, 2, 2), hidden_size=8, message_features=4, team_features=8)
CONFIG = dataclasses.replace(
    VISUAL.presets["smoke"], visual_network=SMALL, max_episode_steps=12, test_starts_per_room=2
)


def team(method="sync_2_cordial", config=CONFIG):
    torch.manual_seed(0)
    policy = plan(config, method, 0).build_policy()
    with torch.no_grad():
        for name in ROUNDS:
            if hasattr(policy.network, name):
                getattr(policy.network, name).classifier.weight.mul_(300)  # new teams say nearly the same all the time
    return policy


def loaded(method="sync_2_cordial"):
    state = {"method": method, "seed": 0, "progress": {"env_steps": 0}}
    return LoadedPolicy(team(method), VISUAL, CONFIG, state)


@pytest.mark.parametrize(("method", "answer"), [("marginal", True), ("central", False), ("no_communication", False)])
def test_who_talks(method, answer):
    policy = team(method)
    assert talks(policy) == answer
    world = world_from(CONFIG, starts_of_test(CONFIG), 2)
    obs = {key: torch.from_numpy(value)[:, None] for key, value in world.reset(0).items()}
    with listening(policy) as heard:
        policy(obs, policy.initial_state(2), torch.ones(2, 1, dtype=torch.bool))
    assert bool(heard) == answer


def test_what_is_heard_is_the_weight_of_the_first_symbol():
    policy = team()
    network = policy.network
    belief = torch.randn(3, 2, 8)
    with listening(policy) as heard:
        _, message = network.talk(belief)
    one, other = network.talk.symbols.detach()
    weight = torch.from_numpy(heard["talk"])[..., None]
    torch.testing.assert_close(weight * one + (1 - weight) * other, message.detach())
    network.reply(belief)
    assert set(heard) == {"talk"}, "nobody listens after the block"


@pytest.fixture(scope="module")
def data():
    return play_and_listen(CONFIG, team())


def test_every_step_of_every_test_episode_is_one_row_and_nothing_else(data):
    lengths = np.bincount(data["_episode"])
    assert len(lengths) == len(starts_of_test(CONFIG)) == len(data["success"])
    np.testing.assert_array_equal(np.sort(lengths), np.sort(data["length"]))
    for episode, length in enumerate(lengths):
        np.testing.assert_array_equal(data["_step"][data["_episode"] == episode], np.arange(length))


def test_the_actions_of_the_data_replay_the_episodes(data):
    starts = starts_of_test(CONFIG)
    world = world_from(CONFIG, starts, len(starts))
    world.auto_resets = False
    world.reset(0)
    for step in range(int(data["length"].min())):
        rows = data["_step"] == step
        state = world.state
        seen = sees_lifted(state["agent_cells"], state["agent_headings"], state["tv"])
        np.testing.assert_array_equal(seen, data["_sees"][rows])
        world.step(data["_actions"][rows].astype(np.int64))


def made(rows=4_000, meaning=10.0):
    """Data of agents of whom the first passes the more, the larger the second's reply."""
    random = np.random.default_rng(0)
    talk, reply = random.uniform(0.1, 0.9, (rows, 2)), random.uniform(0.1, 0.9, (rows, 2))
    passes = random.random(rows) < 1 / (1 + np.exp(-meaning * (reply[:, 1] - 0.5)))
    actions = np.stack([np.where(passes, PASS, 4), np.full(rows, 1)], axis=1)
    sees = np.stack([random.random(rows) < 0.5] * 2, axis=1)
    episode = np.arange(rows) // 40
    return dict(zip(communication.DATA, (episode, np.arange(rows) % 40, talk, reply, actions, sees), strict=True))


def test_a_reply_that_says_you_pass_has_the_slope_with_which_it_was_made():
    names = column_names(PASSES, 2)
    found, deviation = fitted(PASSES, made(), draws=50), made()["_reply"][:, 1].std()
    slope = dict(zip(names, found.slopes, strict=True))
    assert slope["reply_2"] / deviation == pytest.approx(10, rel=0.15)
    assert max(abs(slope[name]) for name in names if name != "reply_2") < 1
    metrics = {name: (value, low, high) for name, value, low, high in communication.slopes(made(), 20)}
    value, low, high = metrics["passes_reply_2_odds"]
    assert low < value < high and value == pytest.approx(np.exp(0.1 * slope["reply_2"] / deviation), rel=1e-6)
    assert metrics["moves_reply_2"][0] == pytest.approx(-slope["reply_2"], rel=1e-6), "who does not pass moves"


def seen(rows=20_000, turns_at=0.821):
    """Data of which equation 8 holds: the slope of talk is positive below a reply of .821, as in the paper."""
    data = made(rows)
    talk, reply = data["_talk"][:, 0], data["_reply"][:, 0]
    line = 10 * turns_at * talk - 10 * talk * reply + 2 * reply - 1
    data["_sees"][:, 0] = np.random.default_rng(1).random(rows) < 1 / (1 + np.exp(-line))
    return data


def test_equation_8_says_at_which_reply_talk_changes_its_meaning():
    metrics = {name: value for name, value, *_ in communication.slopes(seen(), 20)}
    assert metrics[communication.TALK_TURNS] == pytest.approx(0.821, abs=0.05)
    unsaid = {name for name, *_ in communication.slopes(made(), 20)}
    assert "sees_talk_1_x_reply_1" in unsaid and communication.TALK_TURNS not in unsaid, "the product says nothing"


def test_a_model_without_finite_slopes_leaves_no_number():
    stuck = made()
    stuck["_talk"][:, 0] = 1.0
    with pytest.raises(NotIdentified, match="column 1"):
        fitted(PASSES, stuck, draws=5)
    assert not list(communication.slopes(stuck, 5))


def test_a_pass_is_marked_only_while_another_agent_moves_or_turns_alone():
    actions = np.array([[PASS, 0], [PASS, PASS], [PASS, 4], [2, PASS]])
    np.testing.assert_array_equal(passes_for_another(actions), [[True, False], [False] * 2, [False] * 2, [False, True]])


def test_the_figure_shows_the_first_episode_of_60_to_80_steps(tmp_path):
    lengths = [20, 100, 75, 62]
    episode = np.repeat(np.arange(4), lengths)
    assert chosen({"_episode": episode}) == 2
    assert chosen({"_episode": np.repeat([0, 1], [10, 40])}) == 1
    assert draw_messages(made(400), tmp_path / "plot.png", "made").stat().st_size > 10_000


def test_a_video_has_the_map_and_every_agents_frame_and_one_size():
    shown = camera_video.record_cameras(loaded(), pixels=42)
    assert len(shown.frames) == len(shown.weights) + 1
    assert len({picture.shape for picture in shown.frames}) == 1
    world = VISUAL.test_world(CONFIG, 1)
    frames = world.reset(0)["frame"]
    np.testing.assert_array_equal(AgentCameras(world, 0, 42).frames(), frames[0])
    edge = framed(frames[0, 1], 1, 92)
    assert edge.shape == (92, 92, 3)
    np.testing.assert_array_equal(edge[4:-4:2, 4:-4:2], frames[0, 1])


def test_the_first_agent_is_heard_on_the_left_and_a_larger_weight_is_higher():
    sound = camera_video.tones({"talk": np.array([0.0, 1.0]), "reply": np.array([0.5, 0.5])}).astype(float)
    half = len(sound) // 2
    assert len(sound) == pytest.approx(camera_video.FRAME_SECONDS * camera_video.SAMPLE_RATE, abs=2)

    def pitch(wave):
        return abs(np.fft.rfft(wave)).argmax() * camera_video.SAMPLE_RATE / len(wave)

    left, right = sound[:half].T
    assert pitch(left) == pytest.approx(220, abs=8) and pitch(right) == pytest.approx(880, abs=8)
    assert pitch(sound[half:, 0]) == pytest.approx(440, abs=8)


def test_teams_that_say_nothing_have_a_silent_video(tmp_path):
    shown = camera_video.record_cameras(loaded("central"), pixels=42)
    assert shown.weights == []
    assert [path.name for path in camera_video.write_camera_videos(shown, tmp_path, "central")] == ["central.gif"]


def test_an_untrained_row_learns_nothing_and_a_trained_one_does():
    config = CommunicationConfig(training=dataclasses.replace(CONFIG, methods=("sync_2_cordial",)))
    trained, untrained = (EXPERIMENT.plan(config, method, 3) for method in ("trained", "untrained"))
    assert trained.budget_env_steps == CONFIG.budget_env_steps and untrained.budget_env_steps == 1
    from rl_models.schedule import Progress

    assert untrained.optimiser.learning_rate.at(Progress()) == 0 < trained.optimiser.learning_rate.at(Progress())
    for one, other in zip(trained.build_policy().parameters(), untrained.build_policy().parameters(), strict=True):
        torch.testing.assert_close(one, other)


def test_results_name_the_env_steps_for_which_the_team_itself_was_trained():
    own = CommunicationConfig(training=dataclasses.replace(CONFIG, methods=("sync_2_cordial",)))
    given = CommunicationConfig(team="pretrained/furnmove_sync")
    of_run = 1_280
    named = {
        (config.team, method): EXPERIMENT.plan(config, method, 0).trained_env_steps(of_run)
        for config in (own, given)
        for method in ("trained", "untrained")
    }
    assert named == {
        ("", "trained"): of_run,
        ("", "untrained"): None,
        (given.team, "trained"): 160_000,
        (given.team, "untrained"): None,
    }


def test_results_hold_slopes_with_their_own_intervals_and_a_table_for_each_model():
    from tune_experiments.experiment.plan import Tested
    from tune_experiments.results.intervals import BOOTSTRAP
    from tune_experiments.run.final_evaluation import make_results

    config = CommunicationConfig(training=dataclasses.replace(CONFIG, methods=("sync_2_cordial",)), bootstrap_draws=20)
    ((world, episodes),) = EXPERIMENT.evaluate(config, "trained", team()).items()
    rows = make_results(EXPERIMENT, "trained", 0, Tested(world), episodes, 100)
    kinds = {row.metric: row.interval for row in rows}
    assert kinds["talk_deviation_percent"] == "none" and kinds["success"] != BOOTSTRAP
    fitted_names = [model.name for model in MODELS if f"{model.name}_mcfadden" in kinds]
    assert fitted_names
    for name in fitted_names:
        assert kinds[f"{name}_talk_1"] == BOOTSTRAP
    titles = [table.title for table in EXPERIMENT.tables(rows)]
    assert titles[0] == EXPERIMENT.caption and [title.split(":")[0] for title in titles[1:]] == [
        "Equation 8",
        "Equation 9",
        "Equation 10",
    ]
