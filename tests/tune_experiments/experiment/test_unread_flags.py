"""A flag that changes nothing is refused, or named where it changes some of a run's methods."""

import pytest

from tests.tune_experiments.experiments import TRAINED
from tests.tune_experiments.run.refusals import assert_contract, refusal
from tune_experiments.core.config_path import leaves, with_overrides
from tune_experiments.experiment.command_line import RunOptions, parse
from tune_experiments.experiment.config_file import CONFIG_YAML, CUSTOM, write_config_file
from tune_experiments.experiment.finding import find_experiment
from tune_experiments.experiment.unread_flags import check_flags, unread_flags
from tune_experiments.launch.launch import check_run


def check(script, preset="laptop", is_local=False, **changes):
    """Check a run with changed fields, nested ones with two underscores."""
    experiment = find_experiment(script)
    start = experiment.presets[preset]
    config = with_overrides(start, {name.replace("__", "."): value for name, value in changes.items()})
    return check_flags(config, experiment.methods(config), [start], is_local)


DUAL_CLIP = "examples.dual_clip:DualClipPpo"
UNREAD = [
    ("train", {"methods": ("ippo",), "qmix__learning_rate": 0.1}, "--qmix.learning-rate", "ippo"),
    ("train", {"methods": ("qmix", "vdn"), "learner__learning_rate": 0.1}, "--learner.learning-rate", "--qmix"),
    ("train", {"methods": ("vdn",), "qmix__mixing_hidden_size": 8}, "--qmix.mixing-hidden-size", "vdn"),
    ("train", {"network__name": "film2", "network__reader__name": "words"}, "--network.reader.name", "--network.name"),
    ("train", {"learner__loss_reduction": "sum"}, "--learner.loss-reduction", "--learner.algorithm impala"),
    ("train", {"learner__algorithm": DUAL_CLIP, "learner__loss_reduction": "sum"}, "--learner.loss-reduction"),
    ("train", {"learner__final_entropy_coef": None, "learner__entropy_env_steps": 9}, "--learner.final-entropy-coef"),
    ("train", {"workers__gpus_per_runner": 1.0}, "--workers.gpus-per-runner", "--workers.runners"),
    ("furnmove_methods", {"methods": ("marginal",), "sync__learning_rate": 0.1}, "--sync.learning-rate", "marginal"),
    ("furnmove_methods", {"methods": ("sync_2",), "cordial__floor": 0.0}, "--cordial.floor", "sync_2"),
    ("furnmove_methods", {"learner__algorithm": "impala", "learner__clip_range": 0.1}, "--learner.clip-range", "ppo"),
    ("train", {"env": "rtfm-v0", "max_words": 9}, "--max-words"),
    ("rtfm_curriculum", {"methods": ("random_to_nl",), "budget_env_steps": 9}, "--first-stage-env-steps"),
    ("messenger_emma", {"budget_env_steps": 9}, "--budget-env-steps", "--first-stage-env-steps", "--stages"),
    ("rtfm_matching", {"budget_env_steps": 9}, "--budget-env-steps", "--matching.budget-env-steps"),
    ("rtfm_matching", {"workers__runners": 1}, "--workers.runners", "--matching.workers"),
    ("rtfm_matching", {"test_sizes": (8,)}, "--test-sizes", "--larger-sizes"),
    ("rtfm_matching", {"methods": ("matching_named",), "matching__sees_names": True}, "--matching.sees-names"),
    ("rtfm_rock_paper_scissors", {"methods": ("matching", "random"), "network__features": 9}, "--network.features"),
    ("rtfm_rock_paper_scissors", {"methods": ("cnn_from_scratch",), "budget_env_steps": 9}, "--transfer-env-steps"),
    *(
        ("endi_rtfm", {"methods": ("matching", "endi_dis_matching"), field: 1}, "--matching")
        for field in ("first_stage_env_steps", "workers__runners", "learner__num_epochs", "network__features")
    ),
    ("endi_rtfm", {"budget_env_steps": 9}, "--budget-env-steps", "--first-stage-env-steps"),
    ("endi_rtfm", {"stages": (5,), "task__dyna": True}, "--task.dyna", "--stages"),
    ("rtfm_matching", {"stages": ("group",), "task__group": True}, "--task.group", "--stages"),
    ("furnlift", {"network__communicates": False}, "--network.no-communicates", "no_communication"),
    ("overcooked_roles", {"methods": ("qmix",), "learner__gamma": 0.5}, "--learner.gamma", "--roles"),
    ("red_minirts", {"learner__schedule_optimiser_steps": 9}, "--learner.schedule-optimiser-steps"),
    ("sama_frozen_lake", {"goals": "deps"}, "--goals", "--planner"),
    ("sama_frozen_lake", {"network__name": "lstm"}, "--network.name", "--network.hidden-sizes"),
    ("sama_minirts", {"planner": "scored", "model__name": "m", "extracts_objects": False}, "objects", "writes"),
    ("sama_minirts", {"budget_env_steps": 9}, "--budget-env-steps"),
    ("verco_salad", {"team__messages__heard": "silence"}, "--team.messages.heard", "twosome"),
    ("verco_salad", {"replay": "/nowhere"}, "--replay", "--teacher endpoint"),
]


@pytest.mark.parametrize(
    ("script", "changes", "named"), [(script, changes, named) for script, changes, *named in UNREAD]
)
def test_a_flag_that_no_method_of_the_run_reads_is_refused(script, changes, named):
    assert_contract(refusal(lambda: check(script, **changes)), *named)


@pytest.mark.parametrize(
    ("script", "changes"),
    [
        ("train", {"methods": ("ippo", "qmix"), "learner__gamma": 0.9}),
        ("train", {"methods": ("lora",), "language__learning_rate": 0.1}),
        ("furnmove_methods", {"methods": ("sync_2_cordial",), "sync__learning_rate": 0.1, "cordial__floor": 0.0}),
        ("messenger_emma", {"stages": (1, 2), "budget_env_steps": 9}),
        ("endi_rtfm", {"stages": (1, 2), "task__dyna": True, "task__distractor_item": False}),
        ("rtfm_matching", {"stages": ("simplest",), "task__dyna": True}),
        ("rtfm_matching", {"stages": ("simplest", "group"), "budget_env_steps": 9, "later_learning_rate": 0.1}),
        ("sama_frozen_lake", {"methods": ("sama",), "planner": "noisy", "goals": "deps", "noise": "weaker"}),
    ],
)
def test_a_flag_that_all_methods_read_is_taken_without_a_word(script, changes):
    assert check(script, **changes) == []


def test_flags_that_some_methods_do_not_read_are_named_with_them():
    (note,) = check("train", methods=("ippo", "qmix"), learner__learning_rate=0.1, learner__clip_range=0.3)
    assert [word in note for word in ("qmix", "--learner.learning-rate 0.1", "--learner.clip-range 0.3")] == [True] * 3
    assert "ippo" not in note


def test_processes_that_a_run_without_ray_has_not_are_named():
    (note,) = check("train", methods=("ippo",), is_local=True, workers__learners=2, workers__runners=2)
    assert "--workers.learners 2" in note and "--workers.runners" not in note


@pytest.mark.parametrize("script", TRAINED)
def test_no_preset_and_no_default_is_a_given_flag(script):
    experiment = find_experiment(script)
    for preset in experiment.presets:
        config, _ = parse(experiment.presets, ["--preset", preset], "")
        assert check_flags(config, experiment.methods(config), [experiment.presets[preset]]) == []


@pytest.mark.parametrize("script", TRAINED)
def test_every_method_reads_something_and_only_fields_are_declared(script):
    experiment = find_experiment(script)
    for config in experiment.presets.values():
        for method in experiment.methods(config):
            assert unread_flags(config, method).keys() < dict(leaves(config)).keys()


def test_the_file_of_a_run_from_python_has_no_given_flags(tmp_path, capsys):
    experiment = find_experiment("overcooked_selfplay")
    config, file = experiment.presets["smoke"], tmp_path / CONFIG_YAML
    assert refusal(lambda: check("overcooked_selfplay", cole__generations=config.cole.generations))
    write_config_file(file, experiment.entry_point, config, RunOptions(CUSTOM))
    again, options = parse(experiment.presets, ["--config", str(file), "--device", "cpu"], "", experiment.seeds)
    assert check_run(experiment, again, options, tmp_path / "run") == config
    assert "no effect" not in capsys.readouterr().out


def test_what_a_file_says_of_other_methods_is_named_and_not_refused(tmp_path, capsys):
    experiment = find_experiment("overcooked_selfplay")
    config = with_overrides(experiment.presets["smoke"], {"cole.generations": 99})
    write_config_file(tmp_path / CONFIG_YAML, experiment.entry_point, config, RunOptions("smoke"))
    again, options = parse(experiment.presets, ["--config", str(tmp_path / CONFIG_YAML)], "", experiment.seeds)
    check_run(experiment, again, options, tmp_path / "run")
    assert "--cole.generations 99" in capsys.readouterr().out


def test_a_flag_that_only_a_setting_of_the_search_reads_is_not_refused(tmp_path):
    experiment = find_experiment("overcooked_selfplay")

    def check_given(*more):
        words = ["--preset", "smoke", "--methods", "selfplay", "--learner.loss-reduction", "sum", *more]
        config, options = parse(experiment.presets, words, "", experiment.seeds)
        return check_run(experiment, config, options, tmp_path / "run")

    assert_contract(refusal(check_given), "--learner.loss-reduction")
    check_given("--search", "2", "--search-over", "learner.algorithm=choice:ppo,impala")
