"""The training loops that `make bench` times: they play and learn, and bare passes reach every weight."""

import dataclasses

import pytest

from benchmarks import endi
from benchmarks.harness import messenger_loop, training_loop
from benchmarks.minirts import time_red
from benchmarks.rtfm import MATCHING_GAMES, MATCHING_LENGTH, time_ppo
from rl_models.networks.entity_divider_emma import DividedEmmaConfig
from rl_models.networks.network_config import EmmaConfig
from tests.rl_models.networks.small_endi import READING
from tune_experiments.red.config import RedConfig

NARROW = EmmaConfig(features=4, channels=2, hidden_size=2)
SMALL_ENDI = {
    "WORLDS": 3, "LENGTH": 2, "TURNS": 1, "SENTENCES_PER_CELL": 1, "EMMA": DividedEmmaConfig(NARROW, 3),
    "READING_WORLDS": 4, "READING_LENGTH": 2, "READING_TURNS": 1, "READING": READING,
}  # fmt: skip


def shrink(monkeypatch, module, sizes):
    for name, value in sizes.items():
        monkeypatch.setattr(module, name, value)


@pytest.fixture
def small_endi(monkeypatch):
    shrink(monkeypatch, endi, SMALL_ENDI)
    monkeypatch.setattr(messenger_loop, "TOKEN_FEATURES", 4)


@pytest.mark.slow
def test_endis_loops_are_measured_with_private_networks_with_a_shared_one_and_in_rtfm(small_endi):
    measurements = {measurement.name: measurement.value for measurement in endi.measure()}
    for part in ("messenger_loop", "messenger_loop_shared", "rtfm_loop"):
        for measurement in ("agent_steps_per_cpu_second", "sampling_agent_steps_per_cpu_second", "overhead"):
            assert measurements[f"endi.{part}.{measurement}"] > 0


def test_bare_passes_include_the_heads_that_predict_others(small_endi, monkeypatch):
    """Otherwise part of the network's arithmetic would count as overhead."""
    reached = []

    def learn(policy, parts, extras, original=training_loop.learn_bare):
        original(policy, parts, extras)
        reached.extend(name for name, weights in policy.named_parameters() if weights.grad is not None)

    monkeypatch.setattr(training_loop, "learn_bare", learn)
    endi.time_messenger(shares_network=True)
    assert any(name.startswith("network.others.") for name in reached)


def red_loop():
    config = RedConfig()
    few = dataclasses.replace(config, workers=dataclasses.replace(config.workers, worlds_per_runner=8))
    return time_red(few, MATCHING_LENGTH, turns=1)


LOOPS = {"red": red_loop} | {
    name: lambda arguments=arguments: time_ppo(*arguments, turns=1, worlds=8)
    for name, arguments in MATCHING_GAMES.items()
}


@pytest.mark.slow
@pytest.mark.parametrize("name", LOOPS)
def test_a_loop_is_timed_with_its_acting_and_learning(name):
    times = LOOPS[name]()
    assert times.agent_steps == 8 * MATCHING_LENGTH
    assert 0 < times.per_second(times.loop) < times.per_second(times.collect)
    assert times.overhead > 0
