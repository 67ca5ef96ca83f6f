"""The training loops that `make bench` times: bare passes reach every weight."""

from benchmarks import endi
from benchmarks.harness import messenger_loop, training_loop
from rl_models.networks.entity_divider_emma import DividedEmmaConfig
from rl_models.networks.network_config import EmmaConfig


def test_bare_passes_include_the_heads_that_predict_others(monkeypatch):
    """Otherwise part of the network's arithmetic would count as overhead."""
    narrow = DividedEmmaConfig(EmmaConfig(features=4, channels=2, hidden_size=2), 3)
    small = {"WORLDS": 3, "LENGTH": 2, "TURNS": 1, "SENTENCES_PER_CELL": 1, "EMMA": narrow}
    for name, value in small.items():
        monkeypatch.setattr(endi, name, value)
    monkeypatch.setattr(messenger_loop, "TOKEN_FEATURES", 4)
    reached = []

    def learn(policy, parts, extras, original=training_loop.learn_bare):
        original(policy, parts, extras)
        reached.extend(name for name, weights in policy.named_parameters() if weights.grad is not None)

    monkeypatch.setattr(training_loop, "learn_bare", learn)
    endi.time_messenger(shares_network=True)
    assert any(name.startswith("network.others.") for name in reached)
