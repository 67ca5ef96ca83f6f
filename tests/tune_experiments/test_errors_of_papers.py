"""The contract of errors, for settings of the papers' experiments; `test_errors.py` has the rules.

Each row of the tables is a wrong setting of a script's preset `smoke` and what its sentence must name. Ranges of single
fields are part of their types, and `test_errors.py` has some of them.
"""

import pytest

from rl_models.networks.network_config import VisualConfig
from tests.tune_experiments.run.refusals import assert_contract, refusal
from tune_experiments.core.config_path import with_overrides
from tune_experiments.experiment.finding import find_experiment

DEEP = VisualConfig(channels=(4,) * 6)
SCORED = {"planner": "scored", "model.name": "smollm2-135m-instruct"}
SETTINGS = {
    "furnmove_sync": [
        ({"cordial.decline_episodes": 5, "cordial.decline_optimiser_steps": 5},
         "--cordial.decline-episodes", "--cordial.decline-optimiser-steps"),
    ],
    "furnmove_visual": [({"visual_network": DEEP}, "--visual-network.channels", "--frame-pixels")],
    "furnlift": [({"network": DEEP}, "--network.channels", "--frame-pixels")],
    "furnmove_communication": [
        ({"training.methods": (method,)}, "--training.methods") for method in ("central", "no_communication_cordial")
    ],
    "overcooked_selfplay": [
        ({"task": "counter_circuit"}, "--task", "counter_circuit", "cramped_room"),
        ({"methods": ()}, "--methods"),
        ({"network.hidden_sizes": ()}, "--network.hidden-sizes"),
        ({"network.first_kernel": 4}, "--network.first-kernel", 4),
        ({"cole.population_size": 11}, "--cole.population-size", 10, 11),
    ],
    "overcooked_roles": [
        ({"methods": ("cole5",)}, "--methods", "qmix", "cole5"),
        ({"task": "bakery"}, "--task", "bakery"),
        ({"roles.precision": "bfloat16"}, "--roles.precision", "float32"),
    ],
    "endi_rtfm": [
        ({"stages": (2, 1)}, "--stages", 5),
        ({"goal_channels": ()}, "--goal-channels"),
        ({"goal_channels": (8, 4, 6)}, "--goal-channels"),
        ({"qmix.precision": "bfloat16"}, "--qmix.precision", "float32"),
    ],
    "endi_messenger": [({"silg.channels": (8, 4, 6)}, "--silg.channels")],
    "messenger_emma": [
        ({"stages": (2, 1)}, "--stages"),
        ({"stages": ()}, "--stages"),
    ],
    "rtfm_matching": [({"stages": ("simplest", "simplest")}, "--stages")],
    "rtfm_txt2pi": [
        ({"network.channels": (16, 32, 64)}, "--network.channels"),
    ],
    "rtfm_rock_paper_scissors": [
        ({"network.text_encoder": "minilm", "methods": ("cnn", "matching")}, "--network.text-encoder"),
    ],
    "red_minirts": [
        ({"num_agents": 4}, "--num-agents", 4),
        ({"opponents": ()}, "--opponents"),
    ],
    "sama_overcooked": [
        ({"tasks": ("kitchen",)}, "--tasks", "kitchen", "cramped_room"),
        ({"planner": "scored"}, "--model.name"),
        (SCORED | {"reward_source": "code"}, "--reward-source code"),
        (SCORED | {"manual": "paper.tex"}, "--manual"),
        (SCORED | {"translates_states": True}, "--translates-states"),
        (SCORED | {"goals": "deps"}, "--goals deps"),
        (SCORED | {"methods": ("sama", "code")}, "--methods code"),
    ],
    "sama_minirts": [
        ({"methods": ("learned_2",)}, "--methods", "--team"),
        ({"team": "runs/red"}, "--team"),
        ({"opponents": ("medum",)}, "--opponents", "medum"),
        ({"tests": ()}, "--tests"),
        ({"min_round_steps": 13}, "--min-round-steps", "--round-steps"),
        ({"record": "a", "replay": "b"}, "--record", "--replay"),
    ],
    "sama_frozen_lake": [({"map": "5x5"}, "--map", "5x5", "4x4")],
    "verco_salad": [
        ({"task": "soup"}, "--task", "soup", "tomato_a"),
        ({"methods": ("shuffled",), "valid_episodes": 1}, "--valid-episodes"),
        ({"methods": ("symbolic_imitation_ppo",), "budget_env_steps": 30}, "--budget-env-steps"),
        ({"team.language.small.width": 18}, "--team.language.small.width", 18),
        ({"methods": ("twosome",), "learner.value_loss_at": "all"}, "--learner.value-loss-at", "twosome"),
        ({"methods": ("verco",), "learner.joint_ratio": True}, "--learner.no-joint-ratio", "verco"),
    ],
}  # fmt: skip


@pytest.mark.parametrize(("script", "row"), [(script, row) for script, rows in SETTINGS.items() for row in rows])
def test_a_setting_that_no_run_can_have(script, row):
    smoke, (changes, *named) = find_experiment(script).presets["smoke"], row
    assert_contract(refusal(lambda: with_overrides(smoke, changes)), *named)


CHECKS = [
    ("overcooked_selfplay", {"methods": ("cole",), "cole.generations": 5}, ("--cole.generations", 4, 5)),
    ("verco_salad", {"team.language.chat_template": True}, ("chat-template",)),
    ("verco_salad", {"replay": "/nowhere", "teacher": "endpoint"}, ("--replay", "/nowhere")),
    ("verco_salad", {"methods": ("api",)}, ("OPENAI_API_KEY", "--replay")),
    ("verco_salad", {"teacher": "endpoint"}, ("OPENAI_API_KEY", "--replay")),
    ("sama_overcooked", {"planner": "openai"}, ("OPENAI_API_KEY",)),
    ("sama_overcooked", {"planner": "replay", "model.folder": "/nowhere"}, ("/nowhere",)),
    ("sama_overcooked", {"manual": "/nowhere.tex"}, ("/nowhere.tex",)),
    ("sama_overcooked", {"manual": "/dev/null"}, ("/dev/null", "--manual")),
    ("sama_minirts", {"replay": "/nowhere"}, ("/nowhere",)),
    *(
        ("sama_minirts", {"methods": ("learned_2",), "team": team}, (team,))
        for team in ("/nowhere", "pretrained/overcooked_selfplay")
    ),
]


@pytest.mark.parametrize(("script", "changes", "named"), CHECKS)
def test_what_a_run_lacks(script, changes, named, monkeypatch):
    monkeypatch.delenv("OPENAI_API_KEY", raising=False)
    experiment = find_experiment(script)
    experiment.check(experiment.presets["smoke"])
    config = with_overrides(experiment.presets["smoke"], changes)
    assert_contract(refusal(lambda: experiment.check(config)), *named)


@pytest.mark.parametrize("script", ["overcooked_selfplay", "verco_salad"])
def test_an_unknown_method(script):
    experiment = find_experiment(script)
    smoke = experiment.presets["smoke"]
    assert_contract(refusal(lambda: experiment.plan(smoke, "gpt", 0)), "--methods", "gpt", smoke.methods[0])


ROOMS = [
    ({"valid_rooms": "test"}, ("test_room_01", "--valid-rooms", "--test-rooms")),
    (
        {"train_rooms": "ithor_train", "test_rooms": "ithor_FloorPlan201"},
        ("FloorPlan201", "--train-rooms", "--test-rooms"),
    ),
]


@pytest.mark.parametrize(("changes", "named"), ROOMS)
def test_a_room_of_furnlift_that_serves_twice(changes, named):
    experiment = find_experiment("furnlift")
    smoke = experiment.presets["smoke"]
    experiment.valid_world(smoke, 1)
    assert_contract(refusal(lambda: experiment.valid_world(with_overrides(smoke, changes), 1)), *named)
