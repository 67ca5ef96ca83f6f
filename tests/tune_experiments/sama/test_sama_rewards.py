"""Rewards that a model wrote: their processes end with whoever owns them, and results say which were done without."""

import dataclasses
import json

import pytest

from rl_models.chat.client import ChatClient
from rl_models.chat.exchange import ChatReply
from rl_models.planners.calling import Caller
from rl_models.planners.offline import OfflineBackend
from rl_models.planners.planner import Planner
from rl_models.planners.rewards import DesignedReward
from rl_models.rllib.config import rllib_config
from rl_models.rllib.env_runner import FragmentEnvRunner, episode_means
from rl_models.rllib.workers import Workers
from rl_models.training.collector import Collector
from rl_models.training.local_algorithm import LocalAlgorithm
from rl_models.training.loop import Learner
from tests.rl_models.planners.processes import sandboxes
from tune_experiments.experiment.finding import find_experiment
from tune_experiments.experiment.plan import TrialPlan
from tune_experiments.results.trial_log import read_metrics
from tune_experiments.run.final_evaluation import read_test_results
from tune_experiments.run.trial import Trial
from tune_experiments.sama.overcooked import trials
from tune_experiments.sama.overcooked.domain import get_domain
from tune_experiments.sama.overcooked.tables import tables, training_results
from tune_experiments.sama.overcooked.trials import (
    make_rounds,
    offline_planner,
    prepare_training_data,
    with_training_data,
)
from tune_experiments.sama_ablations import PRESETS

LAYOUT, METHOD = "cramped_room", "code-cramped_room"
pytestmark = pytest.mark.processes
CONFIG = dataclasses.replace(
    PRESETS["smoke"],
    methods=("code",),
    workers=Workers(worlds_per_runner=4, fragment_length=10),
    budget_env_steps=80,
    round_steps=5,
    max_episode_steps=10,
    test_episodes=1,
)
DOMAIN = get_domain(LAYOUT)
ONION, SOUP, DISH = (
    "bring an onion from the onion store to pot 0",
    "bring a soup to the hatch",
    "take a dish from the dish store",
)
FAILING = "def reward(previous, current):\n    return 1 // 0\n"


class Careless(OfflineBackend):
    """Writes code that is refused for two sub-goals, and honest code for the others."""

    def complete(self, request):
        outcome = super().complete(request)
        question = request.messages[1].content.rstrip()
        if request.stage != "code" or not question.endswith((ONION, SOUP)):
            return outcome
        return ChatReply(json.dumps({"code": "import os\n" + json.loads(outcome.text)["code"]}))


def code(text, source=None):
    return DesignedReward(text, source or DOMAIN.code(text))


def commands(*texts):
    """Rounds from one state in which the chefs are told this."""
    ((state, _), *_) = prepare_training_data(offline_planner(LAYOUT), LAYOUT, 1, "builtin", 0).pairs
    return [(state, texts)]


def stay(world, steps):
    """Chefs who do nothing; the metrics of the last episode that has ended, [B] each."""
    for _ in range(steps):
        info = world.step(world.state["agent_cells"])[-1]
    return info["episode"]


def plan_with(designed):
    return with_training_data(trials.plan(CONFIG, METHOD, 0), DOMAIN.manual, commands(ONION, DISH), designed)


@pytest.mark.processes
def test_queries_are_counted_that_a_built_in_test_answers_in_place_of_a_models():
    """The onion's was refused before; the dish's fails when it is asked first; nobody asks for the soup's."""
    designed = [DesignedReward(ONION), code(DISH, FAILING), code(SOUP)]
    with_soup = make_rounds(CONFIG, LAYOUT, 2, pairs=commands(ONION, SOUP), rewards=designed)
    with_dish = make_rounds(CONFIG, LAYOUT, 2, pairs=commands(ONION, DISH), rewards=designed)
    for world, subgoals, share in ((with_soup, 1.0, 0.5), (with_dish, 2.0, 1.0)):
        world.reset(0)
        found = stay(world, CONFIG.round_steps)
        assert found["rewards_fallen_back"].tolist() == [subgoals] * 2
        assert found["queries_fallen_back"].tolist() == [share] * 2
        assert stay(world, CONFIG.round_steps)["queries_fallen_back"].tolist() == [share] * 2
        world.close()


def test_without_a_model_nothing_is_said_of_its_rewards():
    world = make_rounds(CONFIG, LAYOUT, 2, pairs=commands(ONION, DISH))
    world.reset(0)
    assert set(stay(world, CONFIG.round_steps)) == {"return", "length", "reached", "completed"}
    assert training_results("sama-cramped_room", [{"episode/reached": 0.5}]) == {}


@pytest.mark.processes
def test_a_runner_ends_the_processes_of_its_worlds_also_of_those_that_it_replaces():
    designed = [DesignedReward(ONION), code(DISH)]
    runner = FragmentEnvRunner(config=rllib_config(plan_with(designed)))
    first = sandboxes()
    assert len(first) == 1
    runner.sample(num_timesteps=1)
    means = episode_means({"episode": runner.get_metrics()["episode"].peek()})
    assert (means["episode/rewards_fallen_back"], means["episode/queries_fallen_back"]) == (1.0, pytest.approx(0.5))
    runner.make_env()
    assert len(sandboxes()) == 1 and not sandboxes() & first
    runner.stop()
    assert sandboxes() == set()


@pytest.mark.processes
def test_a_local_algorithm_ends_the_processes_of_its_worlds():
    plan = plan_with([code(DISH)])
    policy = plan.build_policy()
    learner = Learner(policy, plan.objective, plan.optimiser)
    algorithm = LocalAlgorithm(Collector(plan.make_world(num_worlds=2, first_world=0), policy, 3), learner, 0)
    assert len(sandboxes()) == 1
    algorithm.close()
    assert sandboxes() == set()


class StoppedError(Exception):
    """Comes in the middle of training."""


def test_a_trial_leaves_no_process_and_its_results_say_what_fell_back(ray_session, tmp_path, monkeypatch):
    """The first attempt dies in the middle of training, while its rewards' processes live."""
    careless = Caller(ChatClient(Careless(), 1), "careless")
    monkeypatch.setattr(trials, "make_planner", lambda *_, **__: Planner(careless, DOMAIN))
    experiment, seen = find_experiment("sama_ablations"), []
    assert isinstance(experiment.plan(CONFIG, METHOD, 0), TrialPlan)

    def fail(row):
        seen.append(len(sandboxes()))
        raise StoppedError

    with pytest.raises(StoppedError):
        Trial(experiment, CONFIG, METHOD, 0, tmp_path).run(fail)
    assert seen[0] > 0
    assert sandboxes() == set()
    Trial(experiment, CONFIG, METHOD, 0, tmp_path).run(lambda row: seen.append(len(sandboxes())))
    assert seen[1] == seen[0]
    assert sandboxes() == set()
    rows = read_metrics(tmp_path / "metrics.jsonl")
    assert all(row["episode/rewards_fallen_back"] == 2 for row in rows)
    assert all(0 < row["episode/queries_fallen_back"] < 1 for row in rows)
    assert not any("fallen" in name for row in rows for name in row if name.startswith("valid/"))
    results = read_test_results(tmp_path)
    found = {line.metric: line for line in results if line.split == "train"}
    assert set(found) == {"rewards_fallen_back", "queries_fallen_back"}
    assert {(line.method, line.world, line.seed) for line in found.values()} == {(METHOD, LAYOUT, 0)}
    assert found["rewards_fallen_back"].value == 2
    shares = [row["episode/queries_fallen_back"] for row in rows]
    assert found["queries_fallen_back"].value == pytest.approx(sum(shares) / len(shares))
    (table,) = tables(results, "C")
    share = 100 * found["queries_fallen_back"].value
    assert f"{share:.1f} %" in table.caption
    assert not any("train" in label for label, _ in table.rows)
