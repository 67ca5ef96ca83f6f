"""Environments of Python that know nothing of the checkout, and commands in them."""

from __future__ import annotations

import os
import subprocess
import sys
import sysconfig
import venv
from pathlib import Path

from tests.timeouts import TIMEOUT_SECONDS

PACKAGES = ("rl_envs", "rl_models", "tune_experiments")
_OF_THESE_TESTS = ("PYTHON", "PYTEST", "VIRTUAL_", "RAY_ADDRESS")


def run(*command: str | Path, cwd: Path) -> str:
    """Run a command that knows nothing of the checkout, and return what it prints."""
    env = {name: value for name, value in os.environ.items() if not name.startswith(_OF_THESE_TESTS)}
    done = subprocess.run(command, cwd=cwd, env=env, capture_output=True, text=True, timeout=TIMEOUT_SECONDS)
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


def interpreter_with(folder: Path, wheel: Path | None = None, packages_of: Path | None = None) -> Path:
    """The interpreter of a new environment with a wheel, or with the packages of a checkout, as in editable form.

    Dependencies come from this environment, which is only a path there. A path entry reads no .pth files, so the
    checkout that is installed here in editable form is not seen there.
    """
    venv.create(folder, with_pip=False)
    interpreter = folder / "bin" / "python"
    (packages,) = folder.glob("lib/python3*/site-packages")
    if wheel is not None:
        pip = (sys.executable, "-m", "pip", "--disable-pip-version-check", "--python", interpreter)
        run(*pip, "install", "-q", "--no-deps", "--no-index", wheel, cwd=folder)
    for name in PACKAGES if packages_of is not None else ():
        (packages / name).symlink_to(packages_of / name)  # and nothing else of it, such as `examples`
    places = [sysconfig.get_paths()["purelib"], *(path for path in sys.path if path.endswith("site-packages"))]
    (packages / "dependencies.pth").write_text("\n".join(dict.fromkeys(places)) + "\n")
    return interpreter
