"""Ray's job SDK: uploads, the environment of a job, and each error of the SDK as one sentence."""

import asyncio
import logging
import os
import shutil
import tempfile
import tomllib
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any
from urllib.parse import urlparse

from cluster.user_code import ROOT
from tune_experiments.core.errors import UserError, one_line

PINNED = ("ray", "numpy", "torch", "gymnasium", "safetensors", "transformers", "peft", "pyarrow", "scipy")
"""Packages that results depend on; a job compares their versions before it trains."""
_ALSO_PINNED = ("tyro", "rich", "pydantic", "tensorboard", "matplotlib", "pillow", "pettingzoo")
"""Other packages that a job needs."""
_LOOPBACK = ("127.0.0.1", "localhost", "::1")


def pinned_packages() -> dict[str, str]:
    """Package -> version, for every pin of constraints.txt."""
    lines = (ROOT / "constraints.txt").read_text().splitlines()
    return dict(line.split("==") for line in lines if line and not line.startswith("#"))


def runtime_environment(
    variables: Mapping[str, str], installs: bool, uploads: Sequence[str] = (), packages: Sequence[str] = ()
) -> dict[str, Any]:
    """Ray's runtime environment of a job, with this checkout (without files of .gitignore and .rayignore).

    If it `installs`, each node installs the pinned versions and `packages` first; `uploads` are more files and folders.
    """
    fixed = {"OMP_NUM_THREADS": "1", "PYTHONHASHSEED": "0", "RAY_USAGE_STATS_ENABLED": "0"}
    environment: dict[str, Any] = {"working_dir": str(ROOT), "env_vars": fixed | dict(variables)}
    if uploads:
        environment["py_modules"] = list(uploads)
    if installs:
        # Ray does not allow a job to replace Ray.
        pins = pinned_packages()
        names = dict.fromkeys((*PINNED, *_ALSO_PINNED, *(name for name in packages if name in pins)))
        wanted = [f"{name}=={pins[name]}" for name in names if name != "ray"]
        environment["pip"] = {"packages": wanted}
    return environment


def as_folder(place: Path, folder: Path) -> str:
    """A package's folder; for a module a new package of the same name in `folder`, because Ray uploads only folders."""
    if place.is_dir():
        return str(place)
    package = folder / place.stem
    package.mkdir()
    shutil.copyfile(place, package / "__init__.py")
    return str(package)


def missing_on_nodes(packages: Sequence[str], installs: bool) -> list[str]:
    """The distributions that are not part of an installation of Concord and that the job does not install."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    extras = {name for names in project["optional-dependencies"].values() for name in names}
    ours = {project["name"], *pinned_packages()} - (set() if installs else extras)
    return [name for name in packages if name not in ours]


class Jobs:
    """The jobs of one cluster.

    Args:
        address: `http://HOST:PORT` of the head's dashboard; RAY_API_SERVER_ADDRESS by default.
        token_file: a file that holds the token; RAY_AUTH_TOKEN, or Ray's own places, by default.
        warn: called with a message about a legal but unsafe setting.

    Raises:
        UserError: no address, no token, a wrong token, or no answer from the address.
    """

    def __init__(
        self, address: str | None = None, token_file: Path | None = None, warn: Callable[[str], None] = print
    ) -> None:
        self.address = _checked_address(address or os.environ.get("RAY_API_SERVER_ADDRESS", ""))
        _find_token(token_file)
        url = urlparse(self.address)
        if url.scheme == "http" and url.hostname not in _LOOPBACK:
            warn(f"the token travels to {url.hostname} unencrypted: use a private network, a tunnel or https")
        # Ray gives the variable precedence over the argument.
        os.environ["RAY_API_SERVER_ADDRESS"] = self.address
        with self._sentences():
            from ray.job_submission import JobSubmissionClient  # after the environment is set: Ray reads it on import

            logging.getLogger("ray").setLevel(logging.ERROR)  # Ray would print every file that it does not upload
            self._client = JobSubmissionClient(self.address)
            self._client.list_jobs()  # needs a valid token; the version is shown without one

    def submit(self, job: str, entrypoint: str, environment: dict[str, Any]) -> None:
        """Upload what changed and start the job under this id."""
        with self._sentences(), tempfile.TemporaryDirectory() as folder:
            modules = [as_folder(Path(place), Path(folder)) for place in environment.get("py_modules", [])]
            environment = environment | ({"py_modules": modules} if modules else {})
            self._client.submit_job(entrypoint=entrypoint, runtime_env=environment, submission_id=job)

    def follow(self, job: str, write: Callable[[str], None]) -> str:
        """Pass the job's output to `write` until the job ends; returns its last status."""

        async def tail() -> None:
            async for text in self._client.tail_job_logs(job):
                write(text)

        with self._sentences():
            asyncio.run(tail())
            return str(self._client.get_job_status(job).value)

    def stop(self, job: str) -> bool:
        """Stop a job; returns whether it was running."""
        with self._sentences(job):
            return bool(self._client.stop_job(job))

    def status(self, job: str) -> tuple[str, str]:
        """Status and status message of a job."""
        with self._sentences(job):
            details = self._client.get_job_info(job)
            return str(details.status.value), str(details.message or "")

    def all(self) -> list[Any]:
        """Details of every submitted job, the oldest first."""
        with self._sentences():
            found = [one for one in self._client.list_jobs() if one.submission_id]
        return sorted(found, key=lambda one: one.start_time or 0)

    def _gone(self) -> UserError:
        return UserError(
            f"nothing answers at {self.address}: start that cluster or correct --address; "
            f"the same command continues its run"
        )

    @contextmanager
    def _sentences(self, job: str = "") -> Iterator[None]:
        """Turn each error of the SDK into a UserError of one sentence."""
        from aiohttp import ClientError  # Ray's client follows a job with aiohttp
        from ray.exceptions import AuthenticationError

        try:
            yield
        except AuthenticationError as error:
            raise UserError(
                f"{self.address} refused the token: give the token with which that cluster was started, "
                f"by --token-file or RAY_AUTH_TOKEN"
            ) from error
        except (ClientError, OSError) as error:
            raise self._gone() from error
        except RuntimeError as error:
            if "WebSocket" in str(error):  # the connection that followed the output broke
                raise self._gone() from error
            if job and "does not exist" in str(error):
                raise UserError(f"no job is called {job!r}; `python -m cluster.submit list` names them") from error
            raise UserError(f"{self.address} refused: {one_line(error)[:300]}") from error


def _checked_address(address: str) -> str:
    try:
        url = urlparse(address)
        is_one = url.scheme in ("http", "https") and bool(url.hostname) and url.port != 0
    except ValueError:  # an incomplete IPv6 address, or a port that is no number
        is_one = False
    if not is_one:
        given = f"not {address!r}" if address else "and none was given"
        raise UserError(f"--address must be http://HOST:PORT of the head's dashboard (usually port 8265), {given}")
    return address.rstrip("/")


def _find_token(token_file: Path | None) -> None:
    os.environ["RAY_AUTH_MODE"] = "token"
    if token_file is not None:
        try:
            token = token_file.read_text().strip()
        except (OSError, UnicodeDecodeError) as error:
            raise UserError(f"--token-file {token_file} cannot be read ({error}); name the token's file") from error
        if not token:
            raise UserError(f"--token-file {token_file} is empty; name the file of the token")
        os.environ["RAY_AUTH_TOKEN"] = token
    places = [os.environ.get("RAY_AUTH_TOKEN_PATH"), str(Path.home() / ".ray" / "auth_token")]
    has_file = any(place and Path(place).is_file() for place in places)
    given = os.environ.get("RAY_AUTH_TOKEN", "").strip()
    if not all("!" <= sign <= "~" for sign in given):
        raise UserError("the token has spaces or non-ASCII characters: use the cluster's token unchanged")
    if not given and not has_file:
        raise UserError("no token was given: set RAY_AUTH_TOKEN to the cluster's token, or name its file: --token-file")
