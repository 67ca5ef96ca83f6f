"""Custom environments in worker processes, with the interface of `EnvCopies`.

Each worker process owns some consecutive rows. It is started as a command and not forked, so a program needs no
`if __name__ == "__main__"` and Ray's threads are not copied. A worker ends when this side closes or dies.
"""

import os
import subprocess
import sys
import traceback
from collections.abc import Callable
from multiprocessing.connection import Connection, Pipe
from typing import Any

import cloudpickle
import numpy as np

from rl_envs.core.errors import CustomEnvError, EnvRaisedError
from rl_envs.core.spec import Array
from rl_envs.wrappers.custom.copies import EnvCopies
from rl_envs.wrappers.custom.declaration import Declaration, MakeEnv, described
from rl_envs.wrappers.custom.frame import Frame, Turn
from rl_envs.wrappers.hangs import watch


class EnvProcesses:
    """K environments in P processes."""

    def __init__(self, make_env: MakeEnv, count: int, processes: int, declaration: Declaration) -> None:
        """Start P processes with K environments.

        `make_env` is pickled by value if it is a lambda or defined in the main script. Raises CustomEnvError if it
        cannot be.
        """
        try:
            sent = cloudpickle.dumps((make_env, declaration))
        except Exception as error:  # whatever an object of its own raises
            raise CustomEnvError(
                f"what builds the environment cannot be sent to another process ({described(error)}): let it be a "
                "function of a module, or set num_processes to 0"
            ) from error
        self.declaration = declaration
        self._bounds = np.linspace(0, count, min(processes, count) + 1).astype(int)
        sizes = np.diff(self._bounds).tolist()
        self._workers: list[_Worker] = []
        try:
            self._workers += [_Worker(sent, size) for size in sizes]
            for worker in self._workers:  # all of them build side by side
                _raise(worker.receive())
        except BaseException:
            self.close()
            raise

    def reset(self, rows: Array, seeds: Array) -> Frame:
        """Begin episodes in some games, [K] rows with [K] seeds."""
        parts = self._ask("reset", rows, seeds)
        return _joined([part for part, _ in parts], [places for _, places in parts])

    def step(self, rows: Array, actions: Array) -> Turn:
        """One env step of some games, [K] rows with packed actions [K, N] or [K, N, P]."""
        parts = self._ask("step", rows, actions)
        turns, places = [turn for turn, _ in parts], [places for _, places in parts]
        frame = _joined([turn.frame for turn in turns], places)
        reward, terminated, truncated = (
            _in_order([getattr(turn, name) for turn in turns], places) for name in ("reward", "terminated", "truncated")
        )
        return Turn(frame, reward, terminated, truncated)

    def render(self, row: int) -> Array:
        """Rendered image, [H, W, 3] uint8."""
        owner = int(np.searchsorted(self._bounds, row, side="right")) - 1
        self._workers[owner].send("render", row - int(self._bounds[owner]))
        picture: Array = _raise(self._workers[owner].receive())
        return picture

    def close(self) -> None:
        """End the processes."""
        for worker in self._workers:
            worker.close()

    def _ask(self, what: str, rows: Array, values: Array) -> list[tuple[Any, Array]]:
        """Answers of all workers that own one of the rows, and the places of their rows."""
        owners = np.searchsorted(self._bounds, rows, side="right") - 1
        asked = [(owner, np.flatnonzero(owners == owner)) for owner in np.unique(owners).tolist()]
        for owner, places in asked:
            self._workers[owner].send(what, rows[places] - self._bounds[owner], values[places])
        answers = [(self._workers[owner].receive(), places) for owner, places in asked]  # all of them, also after one
        for answer, _ in answers:
            _raise(answer)
        return answers


def _raise(answer: Any) -> Any:
    """Return an answer, or raise it if it is an error of the other process."""
    if isinstance(answer, BaseException):
        raise answer
    return answer


class _Worker:
    def __init__(self, sent: bytes, count: int) -> None:
        self._pipe, theirs = Pipe()
        environment = os.environ | {"PYTHONPATH": os.pathsep.join(path or os.getcwd() for path in sys.path)}
        # -P: modules are looked for in the order of this process, and not first in the current folder.
        command = [sys.executable, "-P", "-c", f"from {__name__} import play; play({theirs.fileno()})"]
        self._process = subprocess.Popen(command, pass_fds=[theirs.fileno()], env=environment)
        theirs.close()
        self._pipe.send((sent, count))

    def send(self, *request: Any) -> None:
        try:
            self._pipe.send(request)
        except OSError:
            raise self._death() from None

    def receive(self) -> Any:
        """Answer to the oldest request; errors of the other process are returned, not raised."""
        try:
            return self._pipe.recv()
        except (EOFError, OSError):
            raise self._death() from None

    def close(self) -> None:
        self._pipe.close()
        try:
            self._process.wait(timeout=5)  # it closes its environments
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()

    def _death(self) -> RuntimeError:
        self._process.wait()
        return RuntimeError(
            f"a process that plays custom environments ended with exit code {self._process.returncode}: its own "
            "message stands above; begin the run again to continue from its checkpoint"
        )


def _joined(frames: list[Frame], places: list[Array]) -> Frame:
    """One frame of the parts' games, in the order of their places."""
    arrays = {key: _in_order([frame.arrays[key] for frame in frames], places) for key in frames[0].arrays}
    texts = {key: [row for frame in frames for row in frame.texts[key]] for key in frames[0].texts}
    order = np.argsort(np.concatenate(places)) if texts else ()
    others = (
        _in_order([getattr(frame, name) for frame in frames], places) for name in ("alive", "legal", "coordination")
    )
    return Frame(arrays, {key: [rows[place] for place in order] for key, rows in texts.items()}, *others)


def _in_order(parts: list[Array], places: list[Array]) -> Array:
    """The parts' rows at their places, each copied once."""
    joined = np.empty((sum(map(len, parts)), *parts[0].shape[1:]), parts[0].dtype)
    for part, own in zip(parts, places, strict=True):
        first, last = own[0], own[-1]
        joined[slice(first, last + 1) if last - first == len(own) - 1 else own] = part
    return joined


def _answer(what: str, act: Callable[..., Any], *values: Any) -> Any:
    try:
        return act(*values)
    except CustomEnvError as error:
        return error
    except Exception:
        return RuntimeError(f"a custom environment raised in {what}:\n{traceback.format_exc()}")


def _games(pickled: bytes, count: int) -> EnvCopies:
    make_env, declared = cloudpickle.loads(pickled)
    return EnvCopies(make_env, count, declared)


def play(descriptor: int) -> None:
    """Answer requests from the pipe with this file descriptor until the other side closes."""
    pipe = Connection(descriptor)
    watch(lambda message: pipe.send(EnvRaisedError(message)))
    games = None
    try:
        pickled, count = pipe.recv()
        games = _answer("being built", lambda: _games(pickled, count))
        if isinstance(games, BaseException):
            pipe.send(games)
            return
        pipe.send(None)
        while True:
            what, *values = pipe.recv()
            pipe.send(_answer(what, getattr(games, what), *values))
    except (EOFError, OSError):
        return
    finally:
        if isinstance(games, EnvCopies):
            games.close()
