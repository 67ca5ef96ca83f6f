"""The files of cluster/ agree with the repository, and a submitted job ships code and nothing else."""

from __future__ import annotations

import json
import re
import shutil
import zipfile
from pathlib import Path
from typing import Any

import jsonschema
import pytest
import yaml

from cluster import wheels
from cluster.jobs import pinned_packages
from tests import private_ray
from tests.cluster.kuberay_schema import SCHEMAS
from tune_experiments.core.errors import EXIT_CODE, UserError
from tune_experiments.experiment.command_line import parse
from tune_experiments.experiment.finding import find_experiment

ROOT = Path(__file__).resolve().parents[2]
KUBERAY = ROOT / "cluster" / "kuberay"
RAYJOB = KUBERAY / "furnmove_rayjob.yaml"
IMAGE_HOME = "/home/concord/concord/"


@pytest.fixture(scope="module")
def rayjob() -> dict[str, Any]:
    return yaml.safe_load(RAYJOB.read_text())


_SPECS = {path.stem: yaml.safe_load(path.read_text())["spec"] for path in KUBERAY.glob("*ray*.yaml")}
CLUSTERS = {name: spec.get("rayClusterSpec", spec) for name, spec in _SPECS.items()}
"""File -> the cluster that it describes."""


@pytest.mark.parametrize("path", sorted(KUBERAY.glob("*.yaml")), ids=lambda path: path.name)
def test_every_manifest_fits_the_schema_of_its_kind(path: Path) -> None:
    for document in yaml.safe_load_all(path.read_text()):
        jsonschema.Draft202012Validator(SCHEMAS[document["kind"]]).validate(document)


def test_the_launcher_file_fits_rays_own_schema() -> None:
    import ray.autoscaler

    schema = json.loads((Path(ray.autoscaler.__file__).parent / "ray-schema.json").read_text())
    launcher = yaml.safe_load((ROOT / "cluster" / "launcher" / "on_premise.yaml").read_text())
    jsonschema.Draft7Validator(schema).validate(launcher)
    commands = [launcher["head_start_ray_commands"][-1], launcher["worker_start_ray_commands"][-1]]
    assert all("RAY_AUTH_MODE=token" in command for command in commands)
    assert any(place.endswith("/.ray/auth_token") for place in launcher["file_mounts"])
    assert "--dashboard-host=127.0.0.1" in commands[0]


def test_the_job_is_a_rayjob_whose_script_exists(rayjob: dict[str, Any]) -> None:
    assert (rayjob["apiVersion"], rayjob["kind"]) == ("ray.io/v1", "RayJob")
    interpreter, script, *arguments = rayjob["spec"]["entrypoint"].split()
    assert interpreter == "python"
    assert script.startswith(IMAGE_HOME)
    assert (ROOT / script.removeprefix(IMAGE_HOME)).is_file()
    assert arguments[arguments.index("--out") + 1].startswith("/storage/")
    assert yaml.safe_load(rayjob["spec"]["runtimeEnvYAML"])["env_vars"]["OMP_NUM_THREADS"] == "1"


@pytest.mark.parametrize("name", CLUSTERS)
def test_a_cluster_has_a_token_from_a_secret_the_tested_ray_and_bounded_unprivileged_pods(name: str) -> None:
    cluster, claim = CLUSTERS[name], yaml.safe_load((KUBERAY / "storage.yaml").read_text())
    assert cluster["authOptions"] == {"mode": "token", "secretName": "concord-ray-token"}
    assert not re.search(r"\b[0-9a-f]{32,}\b", (KUBERAY / f"{name}.yaml").read_text())
    assert cluster["rayVersion"] == pinned_packages()["ray"]
    assert claim["spec"]["accessModes"] == ["ReadWriteMany"]
    for group in (cluster["headGroupSpec"], *cluster["workerGroupSpecs"]):
        pod = group["template"]["spec"]
        (container,) = pod["containers"]
        assert pod["securityContext"]["runAsNonRoot"] is True
        assert pod["volumes"][0]["persistentVolumeClaim"]["claimName"] == claim["metadata"]["name"]
        assert container["securityContext"]["allowPrivilegeEscalation"] is False
        assert set(container["resources"]) == {"requests", "limits"}
        assert container["volumeMounts"][0]["mountPath"] == "/storage"
        has_gpu = "nvidia.com/gpu" in container["resources"]["limits"]
        assert container["image"] == f"registry.example.org/concord:{'cuda' if has_gpu else 'cpu'}"


def test_a_worker_of_the_jobs_cluster_holds_a_trial_of_what_the_job_runs(rayjob: dict[str, Any]) -> None:
    words = rayjob["spec"]["entrypoint"].split()
    experiment = find_experiment(Path(words[1]).stem)
    config, _ = parse(experiment.presets, words[2:], "")
    (workers,) = rayjob["spec"]["rayClusterSpec"]["workerGroupSpecs"]
    offered = workers["template"]["spec"]["containers"][0]["resources"]["limits"]
    for method in experiment.methods(config):
        needed = experiment.plan(config, method, 0).workers
        assert needed.cpus <= int(offered["cpu"])
        assert needed.gpus <= float(offered.get("nvidia.com/gpu", 0))


def test_the_image_gets_what_it_copies_pins_versions_and_has_no_root() -> None:
    dockerfile = (ROOT / "cluster" / "Dockerfile").read_text()
    everything, *patterns = (ROOT / ".dockerignore").read_text().split()
    sent = {pattern[1:] for pattern in patterns if pattern.startswith("!")}
    copied = re.findall(r"^COPY (.+) \S+$", dockerfile, re.MULTILINE)
    assert everything == "*" and {source for sources in copied for source in sources.split()} == sent
    for target in ("cpu", "cuda"):
        stage = dockerfile.split(f" AS {target}\n")[1].split("\nFROM ")[0]
        assert "USER 1000" in stage and "-c constraints.txt" in stage


def test_a_submitted_job_ships_code_and_no_junk(tmp_path: Path) -> None:
    checkout = tmp_path / "checkout"
    wanted = {"rl_envs/__init__.py", "rl_models/a.py", "tune_experiments/x.py", "cluster/README.md", "pyproject.toml"}
    junk = {".venv/bin/python", ".git/HEAD", "runs/a/checkpoint", "tests/test_a.py", "docs/figures/a.gif"}
    junk |= {"rl_envs/__pycache__/a.pyc", ".mypy_cache/a", "bench.jsonl"}
    for name in wanted | junk:
        (checkout / name).parent.mkdir(parents=True, exist_ok=True)
        (checkout / name).write_text(name)
    for name in (".gitignore", ".rayignore"):
        shutil.copy(ROOT / name, checkout / name)

    private_ray.package(checkout, tmp_path / "package.zip")
    with zipfile.ZipFile(tmp_path / "package.zip") as archive:
        shipped = {name for name in archive.namelist() if not name.endswith("/")}
    assert shipped == wanted | {".gitignore", ".rayignore"}


PAGE = Path(__file__).resolve().parents[2] / "docs" / "cluster.md"
ROW = re.compile(r"^\| `(\w+)`, (\w+) \| (\d+) x (\d+), (\d+)\b[^|]*\| (\d+), (\d+) \| ([\d,]+) \|", re.MULTILINE)
ROWS = ROW.findall(PAGE.read_text(encoding="utf-8"))
"""Script, preset, runners, worlds, learners, CPUs, GPUs, env steps, in every row of the table."""


def test_every_row_of_the_table_is_read():
    (table,) = re.findall(r"(?m)^\| experiment, preset .*\n\|[-:|]+\|\n((?:\|.*\n)+)", PAGE.read_text(encoding="utf-8"))
    assert len(ROWS) == len(table.splitlines())


@pytest.mark.parametrize("row", ROWS, ids=lambda row: "-".join(row[:2]))
def test_a_row_has_the_presets_workers_and_env_steps(row: tuple[str, ...]) -> None:
    experiment = find_experiment(row[0])
    config = experiment.presets[row[1]]
    plans = [experiment.plan(config, method, 0, None) for method in experiment.methods(config)]
    workers = [plan.workers for plan in plans]
    used = [(each.runners, each.worlds_per_runner, each.learners, each.cpus, each.gpus) for each in workers]
    found = {(*each, plan.budget_env_steps) for each, plan in zip(used, plans, strict=True)}
    assert found == {tuple(int(number.replace(",", "")) for number in row[2:])}


def test_the_wheels_are_those_of_what_is_wanted_and_of_all_that_it_needs():
    found = wheels.list_wheels()
    assert set(found) <= {f"{name}=={version}" for name, version in pinned_packages().items()}  # in the tested versions
    names = {wheel.partition("==")[0].lower() for wheel in found}
    assert names >= {*wheels.WANTED, "pydantic_core", "typing_extensions", "cloudpickle", "docstring_parser"}
    assert not names & {*wheels.PRESENT, "ray"}


def test_what_no_version_is_known_of_is_named():
    with pytest.raises(UserError, match="no-such-package"):
        wheels.list_wheels(["no_such_package"])


@pytest.mark.parametrize("arguments", [[], ["--help-me"], ["a", "b"]])
def test_the_command_wants_a_folder(capsys, arguments):
    assert wheels.main(arguments) == EXIT_CODE
    assert "FOLDER" in capsys.readouterr().err
