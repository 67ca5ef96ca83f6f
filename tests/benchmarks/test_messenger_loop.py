"""The loop around EMMA is measured in every stage, with encodings as a frozen BERT leaves them. No time is asserted."""

import pytest
import torch

from benchmarks.harness import messenger_loop as loop
from rl_envs.messenger.world import Messenger
from rl_models.networks.network_config import EmmaConfig


def test_random_encodings_have_a_vector_for_each_word_and_two_marks():
    world = Messenger(1, max_sentences_per_cell=1)
    table = loop.random_encodings(world)
    states, lengths = table(torch.arange(5))
    words = [len(world.sentences[number].replace(",", " ,").replace(".", " .").split()) for number in range(5)]
    assert lengths.tolist() == [count + 2 for count in words]
    assert states.shape[-1] == 768
    assert table.num_sentences == len(world.sentences)


@pytest.mark.long
def test_a_loop_is_measured_for_every_stage_and_with_the_grounding_loss(monkeypatch):
    for name, value in (("WORLDS", 4), ("LENGTH", 2), ("TURNS", 1), ("SENTENCES_PER_CELL", 1), ("TOKEN_FEATURES", 4)):
        monkeypatch.setattr(loop, name, value)
    monkeypatch.setattr(loop, "RELEASED", EmmaConfig(features=4, channels=2, hidden_size=2))
    measurements = {measurement.name: measurement.value for measurement in loop.measure_loops()}
    for part in ("loop_stage1", "loop_stage2", "loop_stage3", "loop_stage1_grounded"):
        assert measurements[f"messenger.{part}.agent_steps_per_cpu_second"] > 0
        assert measurements[f"messenger.{part}.overhead"] > 0
