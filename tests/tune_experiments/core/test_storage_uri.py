"""A place is a folder or a URI that is understood; whatever looks like another URI is refused wherever it is named."""

from pathlib import Path

import pytest

from cluster import entry, submit
from tune_experiments.__main__ import main as after_training
from tune_experiments.core.errors import UserError
from tune_experiments.core.storage_uri import parse_uri
from tune_experiments.launch.experiment import main
from tune_experiments.matrix_game import EXPERIMENT

UNKNOWN = ("memory://x/y", "az://box/run", "adl://x/y", "wasbs://x/y", "S3://bucket/run", "GS://b/r", "https://a.b/c")
PASSWORDS = ("s3://KEY:hunter2@bucket/run", "s3:/KEY:1hunter2/+@b/r", "az://k:hunter2@box", "abfs://b:hunter2@a.net/r")
NOTHING = ("s3://", "gs:", "s3:bucket/run", "hdfs:///")


@pytest.mark.parametrize(
    ("out", "uri"),
    [
        ("s3://bucket/runs/a", "s3://bucket/runs/a"),
        ("s3:/bucket/runs/a", "s3://bucket/runs/a"),  # what Path makes of the former
        ("hdfs://head:8020/a", "hdfs://head:8020/a"),
        ("file:///mnt/a", "file:///mnt/a"),
        ("s3://bucket/run?region=eu-west-1", "s3://bucket/run?region=eu-west-1"),
        ("gs://anonymous@bucket/a", "gs://anonymous@bucket/a"),
        ("abfss://box@account.dfs.core.windows.net/a", "abfss://box@account.dfs.core.windows.net/a"),
        ("hdfs://head:8020/a:b@c", "hdfs://head:8020/a:b@c"),
        ("/mnt/a:b:c@d", None),
        ("/mnt/a", None),
        ("C:/runs", None),
        ("C:\\runs\\a", None),
        ("runs/12:30", None),
        ("/mnt/s3://a", None),
        (".", None),
    ],
)
def test_a_uri_is_told_from_a_path(out, uri):
    assert parse_uri(out) == uri
    assert parse_uri(Path(out)) == uri


@pytest.mark.parametrize("place", [*UNKNOWN, *NOTHING, *PASSWORDS])
def test_a_uri_that_is_not_understood_or_has_a_password_is_refused_also_after_path_has_cut_it(place):
    for given in (place, Path(place)):
        with pytest.raises(UserError) as refused:
            parse_uri(given)
        assert place.partition(":")[0] in str(refused.value)
        assert "hunter2" not in str(refused.value)


@pytest.mark.parametrize("place", ["az://box/run", "s3://"])
def test_every_command_that_names_a_place_refuses_it_and_makes_no_folder(place, tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(entry, "pinned_packages", dict)
    monkeypatch.setattr(submit, "Jobs", None)
    monkeypatch.delenv("CONCORD_STORAGE", raising=False)
    run = ["--preset", "smoke", "--out", place]
    commands = {
        "the script": lambda: main(EXPERIMENT, run),
        "the node": lambda: entry.main(["matrix_game", *run]),
        "submission": lambda: submit.main(["matrix_game", *run]),
        "submission to a storage": lambda: submit.main(["matrix_game", "--storage", place]),
        "a file of a command": lambda: after_training(["render", "minirts-v0", "--policies", "a", "b", "--out", place]),
    }
    for name, command in commands.items():
        assert command() == 2, name
        (line,) = capsys.readouterr().err.splitlines()
        assert place.partition("/")[0] in line, name
    monkeypatch.setenv("CONCORD_STORAGE", place)
    assert submit.main(["matrix_game"]) == 2
    with pytest.raises(UserError, match=place.partition(":")[0]):
        EXPERIMENT.run("smoke", out=place)
    assert list(tmp_path.iterdir()) == []
