"""What a user is told before anything is uploaded, and what a job refuses before it trains. No cluster is started."""

import http.server
import runpy
import shlex
import sys
import threading
from pathlib import Path

import pytest

from cluster import entry, jobs, submit
from cluster.jobs import missing_on_nodes, pinned_packages, runtime_environment
from cluster.user_code import user_code
from tests import private_ray
from tune_experiments.core import errors
from tune_experiments.experiment.command_line import parse
from tune_experiments.launch import experiment


@pytest.fixture(autouse=True)
def nothing_in_the_environment(monkeypatch, tmp_path):
    monkeypatch.setenv("RAY_API_SERVER_ADDRESS", "")  # set, so that what a command sets is taken back
    for name in ("RAY_AUTH_TOKEN_PATH", "CONCORD_STORAGE"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("RAY_AUTH_TOKEN", "f" * 64)
    monkeypatch.setenv("RAY_AUTH_MODE", "token")
    monkeypatch.setenv("HOME", str(tmp_path))  # whose .ray/auth_token does not exist
    # Ray reads a process's token once; these tests have several, and those after them their own.
    private_ray.forget_token()
    yield
    private_ray.forget_token()


@pytest.fixture
def head():
    """A server that answers every request as a head does that was started with another token."""

    class Refuses(http.server.BaseHTTPRequestHandler):
        def do_GET(self):
            asked.append(self.headers.get("Authorization"))
            self.send_response(403)
            self.end_headers()
            self.wfile.write(b"Forbidden: Invalid authentication token")

        def log_message(self, *args):
            pass

    asked = []
    server = http.server.HTTPServer(("127.0.0.1", 0), Refuses)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    yield f"http://127.0.0.1:{server.server_port}", asked
    server.shutdown()


def said(capsys, *words):
    """The one sentence on which the command ends."""
    assert submit.main(words) == 2
    captured = capsys.readouterr()
    assert captured.out == ""
    (line,) = captured.err.splitlines()
    return line


def test_a_wrong_token_is_refused_in_one_sentence(head, capsys):
    address, asked = head
    line = said(capsys, "list", "--address", address)
    assert address in line and "--token-file" in line
    assert asked
    assert set(asked) == {"Bearer " + "f" * 64}


def test_the_token_of_a_file_is_the_one_that_is_sent(head, capsys, tmp_path):
    address, asked = head
    (tmp_path / "token").write_text("e" * 64 + "\n")
    said(capsys, "list", "--address", address, "--token-file", str(tmp_path / "token"))
    assert set(asked) == {"Bearer " + "e" * 64}


@pytest.mark.parametrize("token", ["", "two words", "\x01", "t\N{LATIN SMALL LETTER U WITH DIAERESIS}r"])
def test_a_token_that_is_none_is_told_before_anybody_is_asked(head, capsys, monkeypatch, token):
    address, asked = head
    monkeypatch.setenv("RAY_AUTH_TOKEN", token)
    line = said(capsys, "list", "--address", address)
    assert ("token" if token else "--token-file") in line
    assert asked == []


@pytest.mark.parametrize(
    "address",
    [
        [],
        *(["--address", one] for one in ("10.0.0.1:8265", "ray://a:10001", "http://[::1", "http://a:b", "http://a:0")),
    ],
)
def test_an_address_is_that_of_a_dashboard(capsys, address):
    assert "--address" in said(capsys, "list", *address)


@pytest.mark.parametrize("flags", [["--games", "many"], ["--gamez", "3"]])
def test_a_wrong_flag_of_the_experiment_is_named_before_a_cluster_is_asked(capsys, flags):
    assert submit.main(["matrix_game", "--storage", "/shared", *flags]) == 2
    assert flags[0] in capsys.readouterr().err


def test_a_secret_in_the_flags_is_refused_before_the_job_is_listed_with_them(capsys):
    words = ["train", "--storage", "/shared", "--env", "a.b:C", "--env-arguments", '{"api_key": "f00"}']
    assert submit.main(words) == 2
    error = capsys.readouterr().err
    assert "env_arguments" in error.replace("-", "_") and "f00" not in error


def test_a_cluster_that_is_gone_is_told_with_what_to_do(capsys):
    assert "http://127.0.0.1:9" in said(capsys, "stop", "job", "--address", "http://127.0.0.1:9")


@pytest.mark.parametrize(
    ("words", "named"),
    [
        (["matrix_gane", "--storage", "/shared"], "matrix_gane"),
        (["matrix_game"], "--storage"),
        (["train", "--env", "nobodys:parallel_env", "--out", "/shared/a"], "'nobodys'"),
        (["matrix_game", "--out", "runs/here"], "runs/here"),
        (["matrix_game", "--storage", "/shared", "--env", "NOBODYS_KEY"], "NOBODYS_KEY"),
        (["list", "too", "much"], "cluster.submit list"),
        (["stop"], "stop JOB"),
    ],
)
def test_a_mistake_is_told_before_a_cluster_is_asked(capsys, monkeypatch, words, named):
    monkeypatch.setattr(submit, "Jobs", Recorded)
    assert named in said(capsys, *words)


class Recorded:
    """Stands in for a cluster."""

    submitted = ()

    def __init__(self, *arguments):
        pass

    def submit(self, job, entrypoint, environment):
        Recorded.submitted = (job, entrypoint, environment)

    def follow(self, job, write):
        write("training\n")
        return self.ended

    def status(self, job):
        return self.ended, "Job entrypoint failed, last available logs (truncated): a hundred lines"


@pytest.mark.parametrize(("ended", "code"), [("SUCCEEDED", 0), ("FAILED", 1), ("STOPPED", 1)])
def test_a_job_is_named_followed_and_ends_with_its_code(capsys, monkeypatch, ended, code):
    monkeypatch.setattr(Recorded, "ended", ended, raising=False)
    monkeypatch.setattr(submit, "Jobs", Recorded)
    monkeypatch.setenv("MY_KEY", "secret value")
    words = ["matrix_game", "--preset", "smoke", "--storage", "s3://bucket/runs/?region=a", "--env", "MY_KEY"]
    assert submit.main(words) == code
    job, entrypoint, environment = Recorded.submitted
    out = "s3://bucket/runs/matrix_game_smoke?region=a"
    assert entrypoint == f"python -m cluster.entry matrix_game --preset smoke --out '{out}'"
    assert environment["env_vars"].items() >= {"MY_KEY": "secret value", "PYTHONHASHSEED": "0"}.items()
    printed = capsys.readouterr().out
    assert printed.startswith(f"job {job}\n") and out in printed and "\ntraining\n" in printed
    assert "a hundred lines" not in printed


@pytest.mark.parametrize("given", [("--config", "own file.yaml"), ("--config=own file.yaml",)])
def test_the_file_of_config_reaches_the_node_by_its_text(monkeypatch, tmp_path, given):
    monkeypatch.chdir(tmp_path)
    Path("own file.yaml").write_text("---\nseeds: [7, 8]\npreset: smoke\n")
    monkeypatch.setattr(submit, "Jobs", Recorded)
    assert submit.main(["matrix_game", *given, "--out", "/shared/a", "--no-wait"]) == 0
    Path("own file.yaml").unlink()
    words = shlex.split(Recorded.submitted[1])
    assert words[:3] == ["python", "-m", "cluster.entry"]
    trained = []
    monkeypatch.setattr("tune_experiments.launch.experiment.main", lambda *given: trained.append(given) or 0)
    assert entry.main(["--any-versions", *words[3:]]) == 0
    experiment, flags = trained[0]
    assert parse(experiment.presets, flags, "")[1].seeds == (7, 8)


def test_an_experiments_own_env_goes_to_it_and_variables_are_named_otherwise(monkeypatch):
    monkeypatch.setattr(submit, "Jobs", Recorded)
    monkeypatch.setenv("MY_KEY", "secret value")
    words = ["train", "--preset", "smoke", "--out", "/shared/a", "--no-wait"]
    assert submit.main([*words, "--env", "mpe2.simple_spread_v3", "--pass-env", "MY_KEY"]) == 0
    _, entrypoint, environment = Recorded.submitted
    assert entrypoint.endswith("--out /shared/a --env mpe2.simple_spread_v3")
    assert environment["env_vars"]["MY_KEY"] == "secret value"


ALONE = """
import numpy, json
from pettingzoo import ParallelEnv
import beside
def parallel_env():
    import openai, mpe2
    from packed.inner import late
"""


@pytest.fixture
def own_folder(tmp_path, monkeypatch):
    """A user's folder: a module, one that it imports, a package with a file of data, and files that nobody imports."""
    files = {
        "alone_rescue.py": ALONE,
        "beside.py": "from examples import errands",
        "packed/__init__.py": "",
        "packed/inner/__init__.py": "",
        "packed/inner/late.py": "import beside_late",
        "packed/levels.txt": "1",
        "beside_late.py": "",
        "json.py": "raise ImportError",
        "unused.py": "",
        "../elsewhere/library/__init__.py": "",
        "../elsewhere/library/part.py": "import beside_the_library",
        "../elsewhere/beside_the_library.py": "",
        "of_two_folders.py": "def parallel_env():\n    from library.part import name",
    }
    monkeypatch.syspath_prepend(str(tmp_path / "elsewhere"))
    for name, text in files.items():
        path = tmp_path / "own" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    monkeypatch.syspath_prepend(str(tmp_path / "own"))
    return tmp_path / "own"


def named(places):
    return sorted(Path(place).name for place in places)


def test_the_checkout_needs_no_upload_beside_it_and_what_the_upload_leaves_out_does():
    ours = ["tune_experiments.furnmove_sync", "examples.corridor_experiment", "cluster", "furnmove-v0", "json"]
    assert user_code(ours) == ([], [])
    assert named(user_code(["tests.toy_worlds"]).uploads) == ["tests"]


def test_a_module_goes_along_with_what_it_imports_of_its_folder_and_with_its_whole_package(own_folder):
    assert named(user_code(["alone_rescue"]).uploads) == ["alone_rescue.py", "beside.py", "beside_late.py", "packed"]
    assert named(user_code(["packed.inner"]).uploads) == ["packed"]
    assert all(Path(place).parent == own_folder for place in user_code(["alone_rescue"]).uploads)


def test_what_a_module_imports_of_another_folder_of_the_users_goes_along(own_folder):
    uploads = user_code(["of_two_folders"]).uploads
    assert named(uploads) == ["beside_the_library.py", "library", "of_two_folders.py"]


def test_what_is_uploaded_are_folders_and_a_file_becomes_a_package_of_its_name(own_folder, tmp_path, monkeypatch):
    (tmp_path / "new").mkdir()
    assert jobs.as_folder(own_folder / "packed", tmp_path / "new") == str(own_folder / "packed")
    folder = Path(jobs.as_folder(own_folder / "beside.py", tmp_path / "new"))
    assert folder == tmp_path / "new" / "beside"
    assert [(path.name, path.read_text()) for path in folder.iterdir()] == [
        ("__init__.py", (own_folder / "beside.py").read_text())
    ]


def test_installed_packages_do_not_go_along_and_are_told_unless_a_node_has_them(own_folder):
    uploads, packages = user_code(["alone_rescue", "mpe2.simple_spread_v3"])
    assert {"mpe2", "numpy", "openai", "pettingzoo"} <= set(packages) and "mpe2" not in named(uploads)
    assert missing_on_nodes([*packages, "theirs"], installs=False) == ["mpe2", "openai", "theirs"]
    assert missing_on_nodes([*packages, "theirs"], installs=True) == ["theirs"]
    assert "pip" not in runtime_environment({}, False, packages=packages)
    installed = dict(one.split("==") for one in runtime_environment({}, True, packages=packages)["pip"]["packages"])
    assert {"mpe2", "openai", "numpy"} <= set(installed) and "ray" not in installed  # Ray cannot replace itself
    assert installed.items() <= pinned_packages().items()


@pytest.mark.parametrize(
    ("words", "module"),
    [
        (["train", "--env", "alone_rescue:parallel_env"], "alone_rescue.py"),
        (["train", "--env", "packed.inner"], "packed"),
        (["of_a_user:EXPERIMENT"], "alone_rescue.py"),
    ],
)
def test_what_flags_and_presets_name_is_uploaded(own_folder, monkeypatch, words, module, capsys):
    (own_folder / "of_a_user.py").write_text(
        "import dataclasses\nfrom tune_experiments import train as ours\n"
        "class Mine(ours.Train):\n    name = 'mine'\n"
        "    presets = {'laptop': dataclasses.replace(ours.LAPTOP, env='alone_rescue:parallel_env')}\n"
        "EXPERIMENT = Mine()\n"
    )
    monkeypatch.setattr(submit, "Jobs", Recorded)
    assert submit.main([*words, "--out", "/shared/a", "--no-wait"]) == 0
    assert module in named(Recorded.submitted[2]["py_modules"])
    assert ("mpe2" in capsys.readouterr().err) == (module == "alone_rescue.py")


def test_a_job_refuses_a_cluster_of_other_versions(capsys, monkeypatch):
    pins = {"torch": "2.13.0", "numpy": "2.4.0", "ray": "2.60.0"}
    assert entry.differences(pins, {"torch": "2.13.0+cpu", "numpy": "2.4.0", "ray": "2.60.0"}) == []
    assert entry.differences(pins, {"torch": "2.9.0+cpu", "ray": "2.60.0"}) == [
        "numpy missing for 2.4.0",
        "torch 2.9.0 for 2.13.0",
    ]
    monkeypatch.setattr(entry, "pinned_packages", lambda: pinned_packages() | {"numpy": "1.0"})
    assert entry.main(["matrix_game"]) == 2
    assert "numpy" in capsys.readouterr().err


def test_a_job_ends_although_an_environment_leaves_a_thread(monkeypatch):
    monkeypatch.setattr(experiment, "main", lambda *_: 3)
    monkeypatch.setattr(errors, "ending_threads", lambda code: code + 100)  # tested beside it
    monkeypatch.setattr(sys, "argv", ["cluster.entry", "--any-versions", "matrix_game"])
    monkeypatch.delitem(sys.modules, "cluster.entry")
    with pytest.raises(SystemExit) as ended:
        runpy.run_module("cluster.entry", run_name="__main__")
    assert ended.value.code == 103


def test_a_token_over_an_open_network_is_remarked_on():
    with pytest.raises(pytest.fail.Exception, match=r"192\.0\.2\.1"):
        jobs.Jobs("http://192.0.2.1:9", None, pytest.fail)
