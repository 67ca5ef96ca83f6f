"""Every private name of Ray that tests touch, beside those of `rl_models/rllib/private_ray.py`; no other test does.

A name that a new Ray has not is an error of the import where it is used.
"""

from __future__ import annotations

from pathlib import Path

SETTING_OF_TITLE = "import ray._raylet; ray._raylet.setproctitle({title!r})"
"""Program that gives its process a title, as Ray's own processes do."""


def setup_hook_variable() -> str:
    """Environment variable that names a function for every worker process to call first."""
    from ray._private.ray_constants import WORKER_PROCESS_SETUP_HOOK_ENV_VAR

    return WORKER_PROCESS_SETUP_HOOK_ENV_VAR


def forget_token() -> None:
    """Let this process read its authentication token anew; Ray reads it once."""
    from ray._raylet import AuthenticationTokenLoader

    AuthenticationTokenLoader.instance().reset_cache()


def package(folder: Path, target: Path) -> None:
    """Write the archive that Ray would ship of a job's working directory."""
    from ray._private.ray_constants import get_runtime_env_default_excludes
    from ray._private.runtime_env.packaging import create_package

    create_package(str(folder), target, include_gitignore=True, excludes=get_runtime_env_default_excludes())
