"""What a run is said to cost before it starts."""

from tests.tune_experiments.run.stages import plan, three_stages
from tune_experiments.run import cost as module
from tune_experiments.run.cost import cost, longest_lane


def test_a_trial_begins_as_soon_as_another_ends():
    assert longest_lane([10, 10, 10], 2) == 20
    assert longest_lane([10, 30, 10, 10], 2) == 30
    assert longest_lane([10, 30], 5) == 30


def test_stages_and_trials_of_all_lengths_are_counted(monkeypatch):
    timed = []
    monkeypatch.setattr(module, "_seconds_per_env_step", lambda plan: timed.append(plan) or 0.5)
    staged = three_stages()  # at most 60 env steps each
    said = cost([plan(budget_env_steps=20), staged, plan(budget_env_steps=30)], 2)
    assert said == (
        "cost: 3 trials of at most 20 to 180 env steps in up to 3 stages, 2 at a time: "
        "training alone takes about 90 seconds at this machine's 2 env steps a second and process"
    )
    assert timed == [staged.stages[2].plan]
    alone = cost([plan(budget_env_steps=7_000)], 1)
    assert alone.startswith("cost: 1 trial of 7,000 env steps, 1 at a time: training alone takes about 58 minutes at")
