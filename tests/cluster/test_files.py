"""The files of cluster/ agree with the repository, and a submitted job ships code and nothing else."""

from __future__ import annotations

import re
import shutil
import zipfile
from pathlib import Path
from typing import Any

import pytest
import yaml

ROOT = Path(__file__).resolve().parents[2]
RAYJOB = ROOT / "cluster" / "kuberay" / "furnmove_rayjob.yaml"
IMAGE_HOME = "/home/concord/concord/"


@pytest.fixture(scope="module")
def rayjob() -> dict[str, Any]:
    return yaml.safe_load(RAYJOB.read_text())


def pods(rayjob: dict[str, Any]) -> list[dict[str, Any]]:
    cluster = rayjob["spec"]["rayClusterSpec"]
    groups = [cluster["headGroupSpec"], *cluster["workerGroupSpecs"]]
    return [group["template"]["spec"] for group in groups]


def pins() -> dict[str, str]:
    lines = (ROOT / "constraints.txt").read_text().splitlines()
    return dict(line.split("==") for line in lines if not line.startswith("#"))


def test_the_job_is_a_rayjob_whose_script_exists(rayjob: dict[str, Any]) -> None:
    assert (rayjob["apiVersion"], rayjob["kind"]) == ("ray.io/v1", "RayJob")
    interpreter, script, *arguments = rayjob["spec"]["entrypoint"].split()
    assert interpreter == "python"
    assert script.startswith(IMAGE_HOME)
    assert (ROOT / script.removeprefix(IMAGE_HOME)).is_file()
    assert arguments[arguments.index("--out") + 1].startswith("/storage/")
    assert yaml.safe_load(rayjob["spec"]["runtimeEnvYAML"])["env_vars"]["OMP_NUM_THREADS"] == "1"


def test_the_cluster_asks_for_a_token_from_a_secret_and_holds_none(rayjob: dict[str, Any]) -> None:
    assert rayjob["spec"]["rayClusterSpec"]["authOptions"] == {"mode": "token", "secretName": "concord-ray-token"}
    assert not re.search(r"\b[0-9a-f]{32,}\b", RAYJOB.read_text())


def test_the_job_runs_the_ray_that_the_tests_ran(rayjob: dict[str, Any]) -> None:
    assert rayjob["spec"]["rayClusterSpec"]["rayVersion"] == pins()["ray"]


def test_every_pod_is_bounded_unprivileged_and_mounts_the_storage(rayjob: dict[str, Any]) -> None:
    claim = yaml.safe_load((ROOT / "cluster" / "kuberay" / "storage.yaml").read_text())
    assert claim["kind"] == "PersistentVolumeClaim"
    assert claim["spec"]["accessModes"] == ["ReadWriteMany"]
    for pod in pods(rayjob):
        assert pod["securityContext"]["runAsNonRoot"] is True
        assert pod["volumes"][0]["persistentVolumeClaim"]["claimName"] == claim["metadata"]["name"]
        (container,) = pod["containers"]
        assert container["securityContext"]["allowPrivilegeEscalation"] is False
        assert set(container["resources"]) == {"requests", "limits"}
        assert container["volumeMounts"][0]["mountPath"] == "/storage"


def test_one_image_serves_all_pods(rayjob: dict[str, Any]) -> None:
    submitter = rayjob["spec"]["submitterPodTemplate"]["spec"]["containers"][0]["image"]
    assert {pod["containers"][0]["image"] for pod in pods(rayjob)} == {submitter}


def test_the_image_has_both_targets_pins_and_no_root() -> None:
    dockerfile = (ROOT / "cluster" / "Dockerfile").read_text()
    for target in ("cpu", "cuda"):
        stage = dockerfile.split(f" AS {target}\n")[1].split("\nFROM ")[0]
        assert "USER 1000" in stage
        assert "-c constraints.txt" in stage
        for package in ("rl_envs", "rl_models", "tune_experiments"):
            assert f"COPY {package} {package}" in stage


def test_a_submitted_job_ships_code_and_no_junk(tmp_path: Path) -> None:
    from ray._private.ray_constants import get_runtime_env_default_excludes
    from ray._private.runtime_env.packaging import create_package

    checkout = tmp_path / "checkout"
    wanted = {"rl_envs/__init__.py", "rl_models/a.py", "tune_experiments/x.py", "cluster/README.md", "pyproject.toml"}
    junk = {
        ".venv/bin/python",
        ".git/HEAD",
        "runs/a/checkpoint",
        "tests/test_a.py",
        "docs/pictures/a.gif",
        "bench.jsonl",
    }
    junk |= {"rl_envs/__pycache__/a.pyc", ".pytest_cache/a", ".mypy_cache/a", ".ruff_cache/a", ".hypothesis/a"}
    for name in wanted | junk:
        (checkout / name).parent.mkdir(parents=True, exist_ok=True)
        (checkout / name).write_text(name)
    for name in (".gitignore", ".rayignore"):
        shutil.copy(ROOT / name, checkout / name)

    package = tmp_path / "package.zip"
    create_package(str(checkout), package, include_gitignore=True, excludes=get_runtime_env_default_excludes())
    with zipfile.ZipFile(package) as archive:
        shipped = {name for name in archive.namelist() if not name.endswith("/")}
    assert shipped == wanted | {".gitignore", ".rayignore"}
