"""Configuration files give the run that they were written by, and are refused in one sentence."""

import dataclasses
import json

import pytest

from tests.tune_experiments.experiments import TRAINED
from tune_experiments.__main__ import main
from tune_experiments.core.config_path import with_overrides
from tune_experiments.core.errors import UserError
from tune_experiments.experiment.command_line import RunOptions, parse
from tune_experiments.experiment.config_file import check_for_secrets, read_config_file, write_config_file
from tune_experiments.experiment.finding import find_experiment
from tune_experiments.matrix_game import EXPERIMENT, SMOKE, Method

PRESETS = EXPERIMENT.presets


def read(*words):
    return parse(PRESETS, list(map(str, words)), "A test.", experiment="matrix_game")


@pytest.mark.parametrize("name", TRAINED)
def test_the_file_of_a_run_gives_its_configuration_whatever_the_preset(name, tmp_path):
    experiment = find_experiment(name)
    for preset, config in experiment.presets.items():
        write_config_file(tmp_path / "config.yaml", name, config, RunOptions(preset, seeds=(3, 4)))
        file = read_config_file(tmp_path / "config.yaml")
        options, found = file.apply(RunOptions("other"), list(experiment.presets.values())[-1])
        assert (found, options.seeds, options.preset, file.experiment) == (config, (3, 4), preset, name)


def test_a_command_line_and_its_file_are_read_alike(tmp_path):
    config, options = read("--preset", "smoke", "--seeds", 2, 3, "--learning-rate", 1e-4, "--search", 3)
    write_config_file(tmp_path / "config.yaml", "matrix_game", config, options)
    again, same = read("--config", tmp_path / "config.yaml")
    assert (again, dataclasses.replace(same, config=None)) == (config, options)


def test_flags_win_over_the_file_and_keys_may_be_nested_or_dotted(tmp_path):
    file = tmp_path / "mine.yaml"
    file.write_text("seeds: [1, 2]\ngames: 64\nlearning-rate: 1e-4\nsync: {components: 2}\nsync.entropy_coef: .05e1\n")
    config, options = read(f"--config={file}", "--games", 128)
    assert (config.games, config.learning_rate, config.sync) == (128, 1e-4, Method(2, 0.5))
    assert options.seeds == (1, 2)


def test_values_are_written_as_on_the_command_line_or_as_yaml(tmp_path):
    train = find_experiment("train").presets["smoke"]
    file = tmp_path / "mine.yaml"
    file.write_text("network: emma\nenv_arguments: {kitchen: cramped_room}\n")
    _, found = read_config_file(file).apply(RunOptions("smoke"), train)
    assert (found.network.name, found.arguments()) == ("emma", {"kitchen": "cramped_room"})


def test_run_takes_the_experiment_from_the_file(tmp_path, capsys):
    file = tmp_path / "config.yaml"
    write_config_file(file, "matrix_game", SMOKE, RunOptions("smoke"))
    with pytest.raises(SystemExit):
        main(["run", "--config", str(file), "--help"])
    assert "usage: concord run matrix_game " in capsys.readouterr().out
    for text in ("seeds: [1]", "experiment: tests.tune_experiments.run.bomb:EXPERIMENT"):
        file.write_text(text)
        assert main(["run", f"--config={file}"]) == 2
        assert str(file) in capsys.readouterr().err
    assert main(["run", "--config"]) == 2
    assert "--config ." not in capsys.readouterr().err, "no value is not the current folder"


@pytest.mark.parametrize(
    ("text", "named"),
    [
        ("game: 1", "game"),
        ("games: many", "games"),
        ("preset: smokey", "smokey"),
        ("experiment: furnlift", "furnlift"),
        ("a: [", "line 1"),
        ("seeds: [0]\ngames: 1\nseeds: [1]", "seeds"),
        ("learning-rate: 1e-4\nlearning_rate: 1e-3", "learning-rate"),
        ("sync: {entropy-coef: 0.1}\nsync.entropy_coef: 0.2", "sync.entropy_coef"),
        ("config: other.yaml", "config"),
        ("a: " + "[" * 400, "mine.yaml"),
        ("components: 2", "sync.components or marginal.components"),
        ("just words", "key: value"),
    ],
)
def test_a_wrong_file_is_refused_with_its_name_and_its_key(tmp_path, text, named):
    file = tmp_path / "mine.yaml"
    file.write_text(text)
    with pytest.raises(UserError) as refused:
        read("--config", file)
    assert "mine.yaml" in str(refused.value) and named in str(refused.value)


def test_a_file_that_is_missing_or_another_preset_beside_it_is_refused(tmp_path):
    with pytest.raises(UserError, match=r"nothing\.yaml"):
        read("--config", tmp_path / "nothing.yaml")
    with pytest.raises(UserError, match="--config"):
        read("--config")
    (tmp_path / "mine.yaml").write_text("preset: laptop")
    with pytest.raises(UserError, match="--preset smoke"):
        read("--config", tmp_path / "mine.yaml", "--preset", "smoke")


@pytest.mark.parametrize("name", ["", "config.json", "manifest.json", "trials/sync-seed0/metrics.jsonl"])
def test_another_file_of_a_run_folder_is_refused_with_the_name_of_the_right_one(tmp_path, name):
    (tmp_path / "trials/sync-seed0").mkdir(parents=True)
    (tmp_path / "config.yaml").write_text("games: 64")
    if name:
        (tmp_path / name).write_text('{"games": 64}')
    with pytest.raises(UserError, match=f"{tmp_path}/config.yaml"):
        read("--config", tmp_path / name)


@pytest.mark.parametrize(
    "arguments",
    [
        {"api_key": "sk-1"},
        {"api-key": "sk-1"},
        {"api_keys": ["", "sk-1"]},
        {"headers": {"Authorization": "Bearer sk-1"}},
        {"credentials": {"user": "me"}},
        {"servers": [{"ssh": {"private_key": "-----"}}]},
        {"config": '{"password": "hunter2"}'},
    ],
)
def test_a_secret_in_a_configuration_is_refused_because_it_would_be_written(arguments):
    train = find_experiment("train").presets["smoke"]
    harmless = {"max_tokens": "9", "eos_token": "</s>", "api_key": "", "use_token": True, "keys": ["up", "down"]}
    check_for_secrets(with_overrides(train, {"env_arguments": json.dumps(harmless)}))
    with pytest.raises(UserError, match="--env-arguments"):
        check_for_secrets(with_overrides(train, {"env_arguments": json.dumps(arguments)}))
