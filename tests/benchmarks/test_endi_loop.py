"""The loops around EnDi are measured on both worlds, and bare passes reach every weight. No time is asserted."""

import pytest

from benchmarks import endi
from benchmarks.harness import messenger_loop, training_loop
from rl_models.networks.entity_divider_emma import DividedEmmaConfig
from rl_models.networks.network_config import EmmaConfig
from tests.rl_models.networks.small_endi import READING

NARROW = {
    "WORLDS": 3,
    "LENGTH": 2,
    "TURNS": 1,
    "SENTENCES_PER_CELL": 1,
    "EMMA": DividedEmmaConfig(EmmaConfig(features=4, channels=2, hidden_size=2), 3),
    "READING_WORLDS": 4,
    "READING_LENGTH": 2,
    "READING_TURNS": 1,
    "READING": READING,
}


@pytest.fixture
def narrow(monkeypatch):
    for name, value in NARROW.items():
        monkeypatch.setattr(endi, name, value)
    monkeypatch.setattr(messenger_loop, "TOKEN_FEATURES", 4)


@pytest.mark.slow
def test_loops_are_measured_with_private_networks_with_a_shared_one_and_in_rtfm(narrow):
    measurements = {measurement.name: measurement.value for measurement in endi.measure()}
    for part in ("messenger_loop", "messenger_loop_shared", "rtfm_loop"):
        for measurement in ("agent_steps_per_cpu_second", "sampling_agent_steps_per_cpu_second", "overhead"):
            assert measurements[f"endi.{part}.{measurement}"] > 0


def test_bare_passes_include_the_heads_that_predict_others(narrow, monkeypatch):
    """Otherwise part of the network's arithmetic would count as overhead."""
    reached = []

    def learn(policy, parts, extras, original=training_loop.learn_bare):
        original(policy, parts, extras)
        reached.extend(name for name, weights in policy.named_parameters() if weights.grad is not None)

    monkeypatch.setattr(training_loop, "learn_bare", learn)
    endi.time_messenger(shares_network=True)
    assert any(name.startswith("network.others.") for name in reached)
