"""What the small model has read: no tested kitchen, and none of the prompts that test the message adapter."""

import dataclasses

import numpy as np
import pytest

from rl_envs.salad.kitchen import LAYOUTS
from rl_envs.salad.procedural import procedural_kitchen
from rl_envs.salad.tasks import TASKS, TESTED
from rl_models.llm.distillation import is_held_out
from tune_experiments.verco.config import salad_world
from tune_experiments.verco.lookup import met_prompts
from tune_experiments.verco.supervised_stages import corpus, message_pairs, read_corpus
from tune_experiments.verco_salad import LAPTOP

HELD_OUT = (*TESTED, "tuning_order")


@pytest.fixture(scope="module", params=[9, pytest.param(LAPTOP.corpus.kitchens, marks=pytest.mark.slow)])
def laptop(request):
    """The preset `laptop`, with the first kitchens of its corpus."""
    return dataclasses.replace(LAPTOP, corpus=dataclasses.replace(LAPTOP.corpus, kitchens=request.param))


@pytest.fixture(scope="module")
def read(laptop):
    """All prompts of its corpus."""
    return {prompt for prompt, _ in corpus(laptop)}


@pytest.mark.long
@pytest.mark.parametrize("task", HELD_OUT)
@pytest.mark.parametrize("error", [0.0, 0.5, 1.0])
def test_no_tested_prompt_is_in_the_corpus(read, task, error):
    met = met_prompts(salad_world(TASKS[task], 4), 80, error)
    assert len(met) > 30 and not met & read


@pytest.mark.long
def test_the_corpus_has_prompts_of_the_kitchens_that_it_was_played_in(read):
    """So the test above can fail: only messages that are held out are missing of a kitchen that was read about."""
    from tune_experiments.verco.config import FIRST_WARM_START_WORLD

    settings = LAPTOP.corpus
    met = met_prompts(salad_world(procedural_kitchen(0), settings.worlds, FIRST_WARM_START_WORLD), 20, 0.0)
    assert np.mean([prompt in read for prompt in met]) > 0.5


@pytest.mark.long
@pytest.mark.parametrize("task", HELD_OUT)
def test_a_tested_order_and_its_boards_never_stand_together_in_the_corpus(read, task):
    """For every prompt that could come up, not only those that were met."""
    world = salad_world(TASKS[task])
    boards = "two cutting boards" if world.kitchen.num_boards > 1 else "one cutting board"
    orders = {f"order a salad of {recipe}." for recipe in TASKS[task]["recipes"]}
    orders |= {"Only Alice knows"} if "order_known_by" in TASKS[task] else set()
    assert not [prompt for prompt in read if boards in prompt and any(order in prompt for order in orders)]


def test_no_generated_kitchen_has_a_tested_map_or_order():
    for number in range(LAPTOP.corpus.kitchens):
        kitchen = procedural_kitchen(number)
        assert kitchen["drawing"] not in LAYOUTS.values()
        assert kitchen["drawing"] != TASKS["tuning_order"]["drawing"]
        assert "tomato" not in kitchen["recipes"]


@pytest.mark.long
@pytest.mark.parametrize("task", [*TESTED, "lettuce_onion_c"])
def test_no_held_out_prompt_of_the_message_adapter_was_read_by_the_base_model(laptop, task):
    """Not in a tested kitchen, and not in one that is like those that were read about either."""
    config = dataclasses.replace(laptop, task=task)
    share = config.distillation.held_out
    held_out = {prompt for prompt, _ in message_pairs(config, 0, 0) if is_held_out(prompt, share)}
    spoken = {prompt for prompt, _ in read_corpus(config).messages}
    assert len(held_out) > 3 and not held_out & spoken
    assert not [prompt for prompt in spoken if is_held_out(prompt, share)]
