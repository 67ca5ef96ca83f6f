"""A team as separate processes: the same episode, nothing but messages between them, and nobody left behind."""

import functools
import itertools
import multiprocessing
import os
import re
import signal
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import numpy as np
import pytest
import torch

from cluster.testing.local_cluster import wait_until
from cluster.testing.processes import MARK, is_alive, marked
from tests.timeouts import TIMEOUT_SECONDS
from tests.tune_experiments.run import refusals
from tune_experiments import load_policy
from tune_experiments.__main__ import main as after_training
from tune_experiments.core.config_json import config_to_json
from tune_experiments.core.config_path import with_overrides
from tune_experiments.core.errors import UserError
from tune_experiments.experiment.finding import find_experiment
from tune_experiments.play.decentralised import MessageChannel, PlayedEpisode, separate_agents
from tune_experiments.play.recording import describe_episode, play_decentralised

ROOT = Path(__file__).parents[3]
SEED = 3


def save(folder, method="sync_13_cordial", experiment="furnmove_sync", **changes):
    """A checkpoint of an untrained team, with weights so large that views and messages decide what it does."""
    found = find_experiment(experiment)
    config = with_overrides(found.presets["smoke"], changes)
    policy = found.plan(config, method, 0).build_policy()
    with torch.no_grad():
        for parameter in policy.parameters():
            parameter.mul_(1.4)
    state = {"experiment": experiment, "config": config_to_json(config), "method": method}
    return refusals.save(folder, policy.state_dict(), **state)


@pytest.fixture(scope="module")
def sync(tmp_path_factory):
    return save(tmp_path_factory.mktemp("sync"), max_episode_steps=12)


@pytest.fixture
def stage(sync):
    """A world of one game with its first observations, and what starts the processes of its agents."""
    loaded = load_policy(sync)
    world = loaded.experiment.test_world(loaded.config, 1)

    def start(checkpoint=sync):
        episode = PlayedEpisode(checkpoint, SEED, 0, timeout_seconds=TIMEOUT_SECONDS)
        return separate_agents(episode, world.num_agents, ("view",))

    return world, world.reset(SEED), start


def numbers(line):
    return [int(number.replace(",", "")) for number in re.findall(r"\d[\d,]*", line)]


@pytest.mark.processes
@pytest.mark.parametrize(
    ("experiment", "method", "agents", "rounds"),
    [
        ("furnmove_sync", "sync_13_cordial", 2, 2),
        pytest.param("furnmove_three_agents", "sync_13_cordial", 3, 2, marks=pytest.mark.slow),
        pytest.param("furnmove_methods", "no_communication", 2, 0, marks=pytest.mark.slow),
    ],
)
def test_separate_processes_play_the_teams_episode_to_the_last_action(
    experiment, method, agents, rounds, tmp_path, monkeypatch
):
    """Whichever of the sixteen worlds is chosen: its start, its uniforms."""
    monkeypatch.setattr("tune_experiments.play.recording.chosen_episode", lambda *_: 11)
    checkpoint = save(tmp_path, method, experiment)
    loaded = load_policy(checkpoint)
    together = list(describe_episode(loaded, SEED))
    first, *apart, last = play_decentralised(loaded, checkpoint, SEED)
    assert apart == together
    steps, message_bytes = len(together) - 1, 4 * loaded.config.network.message_features
    said = agents * (agents - 1) * rounds * steps
    assert steps > 10
    per_step = [agents, rounds * message_bytes, rounds] if rounds else [agents]
    assert numbers(first) == per_step and numbers(last) == [said, said * message_bytes]


def test_all_agents_hear_all_messages_in_the_order_of_the_agents():
    pipes = [{}, {}, {}]
    for one, other in itertools.combinations(range(3), 2):
        pipes[one][other], pipes[other][one] = multiprocessing.Pipe()
    channels = [MessageChannel(agent, pipes[agent], TIMEOUT_SECONDS) for agent in range(3)]
    said = [torch.full((1, 1, 4), float(agent)) for agent in range(3)]
    with ThreadPoolExecutor(3) as threads:
        heard = list(threads.map(lambda channel, message: channel.exchange(message), channels, said))
    for messages in heard:
        assert torch.equal(messages, torch.cat(said, 1))
    assert [channel.traffic for channel in channels] == [{"messages": 2, "bytes": 2 * 16}] * 3


def test_an_agent_does_not_wait_for_ever_for_what_another_says():
    ours, _theirs = multiprocessing.Pipe()
    with pytest.raises(TimeoutError):
        MessageChannel(0, {1: ours}, 0.05).exchange(torch.zeros(1, 1, 4))


class Recorder:
    """A pipe that keeps what passes."""

    def __init__(self, pipe, sent, received):
        self.pipe, self.sent, self.received = pipe, sent, received

    def send(self, what):
        self.sent.append(what)
        self.pipe.send(what)

    def recv(self):
        self.received.append(self.pipe.recv())
        return self.received[-1]

    def __getattr__(self, name):
        return getattr(self.pipe, name)


def sockets(pid):
    """The pipes that a process holds, where Linux lists open files."""
    links = (os.readlink(link) for link in Path(f"/proc/{pid}/fd").iterdir() if link.is_symlink())
    return {link for link in links if link.startswith("socket:")}


@pytest.mark.processes
@pytest.mark.skipif(not Path("/proc/self/fd").is_dir(), reason="asks Linux which files a process holds")
def test_the_coordinator_holds_no_pipe_between_agents_and_names_one_that_dies(stage):
    """It carries observations and actions; after a death, which the other agent may notice first, all end."""
    world, obs, start = stage
    before = sockets("self")
    with start() as team:
        sent, received = [[], []], [[], []]
        team.pipes = [Recorder(pipe, *what) for pipe, *what in zip(team.pipes, sent, received, strict=True)]
        for _ in range(3):
            views, actions = obs["view"], team.act(obs)
            for agent in range(2):
                assert list(sent[agent][-1]) == ["view"]
                np.testing.assert_array_equal(sent[agent][-1]["view"], views[:, agent])
                assert type(received[agent][-1]) is int
                assert received[agent][-1] == actions[0, agent]
            obs = world.step(actions)[0]
        assert [len(what) for what in (*sent, *received)] == [3] * 4
        ours = sockets("self") - before
        theirs = [sockets(process.pid) for process in team.processes]
        os.kill(team.processes[1].pid, signal.SIGKILL)
        with pytest.raises(UserError, match=r"agent 1 .*env step 4"):
            team.act(obs)
    assert len(ours) == 2, "one pipe to each agent"
    assert [len(ends) for ends in theirs] == [2, 2], "one to the coordinator and one to the other agent"
    assert len(ours.union(*theirs)) == 6, "no end has two owners"
    assert not any(is_alive(process.pid) for process in team.processes)


@pytest.mark.slow
def test_an_agent_that_hangs_is_named_and_all_processes_end(stage):
    _, obs, start = stage
    with start() as team:
        team.act(obs)
        team.timeout_seconds = 0.5
        os.kill(team.processes[0].pid, signal.SIGSTOP)
        with pytest.raises(UserError, match=r"agent 0 .*env step 2"):
            team.act(obs)
    assert not any(is_alive(process.pid) for process in team.processes)


@pytest.mark.slow
def test_an_agent_that_cannot_load_its_weights_says_so(stage, tmp_path):
    _, obs, start = stage
    with start(tmp_path / "checkpoint_000000") as team, pytest.raises(UserError, match=r"^agent .*checkpoint_000000"):
        team.act(obs)


@pytest.mark.parametrize(
    ("experiment", "method", "head"),
    [("furnmove_three_agents", "central_cordial", "CentralHead"), ("matrix_game", "sync", "SyncHead")],
)
def test_a_team_that_cannot_act_decentralised_is_refused_in_a_sentence(experiment, method, head, tmp_path, capsys):
    checkpoint = save(tmp_path, method, experiment)
    assert after_training(["play", str(checkpoint), "--decentralised"]) == 2
    error = capsys.readouterr().err
    assert head in error and error.count("\n") == 1


def test_a_greedy_team_is_not_played_by_agents_that_sample(sync):
    loaded = load_policy(sync)
    loaded.is_greedy = True
    with pytest.raises(UserError, match="one process"):
        next(play_decentralised(loaded, sync))


@pytest.mark.processes
def test_control_c_leaves_nobody_behind(sync):
    """Pressed while the processes start: everybody in the terminal gets it."""
    command = [sys.executable, "-m", "tune_experiments", "play", str(sync), "--decentralised"]
    mark, pipes = f"play_{os.getpid()}", {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE, "text": True}
    hears = functools.partial(signal.signal, signal.SIGINT, signal.SIG_DFL)  # also where tests run in the background
    environment = os.environ | {MARK: mark}
    with subprocess.Popen(command, cwd=ROOT, env=environment, start_new_session=True, preexec_fn=hears, **pipes) as run:
        assert run.stdout.readline().startswith("2 processes")
        os.killpg(run.pid, signal.SIGINT)
        _, complaints = run.communicate(timeout=TIMEOUT_SECONDS)
    assert run.returncode == 130
    assert complaints == "interrupted\n"
    wait_until(lambda: not marked(mark), TIMEOUT_SECONDS, "somebody was left behind")
