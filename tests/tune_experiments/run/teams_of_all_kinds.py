"""One team of each kind, as a trial's last stage builds it, in a loop of a few steps; for the tests of devices."""

import copy
import dataclasses
import importlib

from rl_models.training.loop import Learner
from tests.rl_models.training.small import begun

WORLDS, STEPS, MINIBATCHES = 2, 2, 2
TEAMS = {
    ("furnmove_methods", "sync_13_cordial"): (5, 1),
    ("furnmove_methods", "marginal"): (5, 1),
    ("furnmove_methods", "central_cordial"): (5, 1),
    ("furnmove_visual", "sync_13_cordial"): (5, 1),
    ("rtfm_txt2pi", "txt2pi"): (2, 1),
    ("rtfm_matching", "matching"): (2, 1),
    ("messenger_emma", "emma_grounding"): (2, 1),
    ("endi_rtfm", "endi_dis"): (2, 1),
    ("endi_rtfm", "qmix"): (4, 2),
    ("endi_messenger", "silg"): (2, 1),
    ("overcooked_selfplay", "selfplay"): (2, 1),
    ("sama_overcooked", "sama-cramped_room"): (2, 1),
    ("verco_salad", "verco"): (11, 3),
    ("verco_salad", "commnet"): (2, 1),
}
"""(script, method) -> copies and syncs of a first update; three of FurnMove's copies are CORDIAL's tables, once."""


def plan_of(script, method):
    """The last stage of a trial of the smoke preset, with fewer minibatches and games of validation."""
    experiment = importlib.import_module(f"tune_experiments.{script}").EXPERIMENT
    smoke = experiment.presets["smoke"]
    fewer = {key: 2 for key in ("valid_episodes",) if hasattr(smoke, key)}
    plan = experiment.plan(dataclasses.replace(smoke, **fewer), method, 0).stages[-1].plan
    changes = {"num_epochs": 1, "num_minibatches": MINIBATCHES, "gradient_steps": MINIBATCHES}
    known = {field.name for field in dataclasses.fields(plan.objective)}
    objective = dataclasses.replace(plan.objective, **{key: changes[key] for key in known & changes.keys()})
    # With a large constant Adam does not blow up what differs in the last digit of a small gradient.
    optimiser = dataclasses.replace(plan.optimiser, optimiser_epsilon=0.1)
    return dataclasses.replace(plan, objective=copy.deepcopy(objective), optimiser=optimiser)


def loop_of(plan, policy):
    """A collector in its first episodes and a learner, both of one policy."""
    world = plan.make_world(num_worlds=WORLDS, first_world=0)
    collector = begun(world, policy, STEPS, plan.objective.needs_values, seed=0)
    return collector, Learner(policy, copy.deepcopy(plan.objective), plan.optimiser)


def play_and_learn(collector, learner, updates):
    """Fragments and statistics of some updates, one fragment each."""
    fragments, statistics = [], []
    for _ in range(updates):
        fragments.append(collector.collect())
        statistics.append(learner.update(fragments[-1:]))
    return fragments, statistics


def numbers_of(fragment):
    """What a fragment says, name -> array."""
    return {**fragment.obs, **fragment.steps, **fragment.ends}


def weights_of(policy):
    return {name: value.detach().cpu().numpy() for name, value in policy.state_dict().items()}
