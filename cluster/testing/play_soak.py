"""Soak test of the game in a browser: an hour of keys, while the memory of the server and of the browser is sampled.

    python -m cluster.testing.play_soak                                  # an hour in a kitchen with a trained team
    python -m cluster.testing.play_soak --team pretrained/furnmove_sync --human agent_0 --minutes 30
    python -m cluster.testing.play_soak --read runs/play_soak.csv        # the table of a soak that has ended

Chromium without a screen presses random buttons at the pace of a quick person, plays each episode to its end and begins
the next. It needs the extras `play` and `browser`, and Debian's Chromium. The table is that of `soak.py`.
"""

from __future__ import annotations

import argparse
import contextlib
import os
import random
import re
import shutil
import subprocess
import sys
import threading
import time
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from cluster.testing.memory import read_samples, sample, write_samples
from cluster.testing.processes import MARK, command_of, kill_marked, marked
from cluster.testing.soak import report
from tune_experiments.core.errors import UserError, exits_with_one_sentence

PATIENCE_SECONDS = 120.0
CHROMIUM = ("chromium", "chromium-browser", "google-chrome")


@exits_with_one_sentence
def main(arguments: Sequence[str] | None = None) -> int:
    """Play and sample, then print the table; 1 if the page complained."""
    words = _parser().parse_args(arguments)
    if words.read:
        print(report(read_samples(words.read), words.warm_up))
        return 0
    mark = f"play-soak-{os.getpid()}"
    try:
        with _serving(words, mark) as address, _tab(mark) as (page, complaints):
            words.write.unlink(missing_ok=True)
            episodes, presses = _play(page, address, mark, words)
    finally:
        kill_marked(mark)
    print(f"{episodes} episodes, {presses:,} presses, {len(complaints)} complaints of the page\n")
    print("\n".join([*complaints[:5], report(read_samples(words.write), words.warm_up)]))
    return int(bool(complaints))


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="python -m cluster.testing.play_soak",
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
        allow_abbrev=False,
    )
    parser.add_argument("--team", default="pretrained/overcooked_selfplay", help="Team that plays the other agents.")
    parser.add_argument("--human", default="chef_0", help="Agent whose buttons are pressed.")
    parser.add_argument("--minutes", type=float, default=60.0, help="Duration of the soak in minutes.")
    parser.add_argument("--warm-up", type=float, default=15.0, help="Minutes that the slopes leave out at the start.")
    parser.add_argument("--every-seconds", type=float, default=30.0, help="Seconds between two samples of memory.")
    parser.add_argument("--pause-seconds", type=float, default=0.15, help="Seconds between two presses.")
    parser.add_argument("--record", type=Path, default=Path("runs/play_soak"), help="Folder for the played episodes.")
    parser.add_argument("--write", type=Path, default=Path("runs/play_soak.csv"), help="CSV file for the samples.")
    parser.add_argument("--read", type=Path, help="CSV file whose table is printed; nothing is played.")
    return parser


@contextlib.contextmanager
def _serving(words: argparse.Namespace, mark: str) -> Iterator[str]:
    """The command that a person types; yields the address that it prints."""
    command = [sys.executable, "-u", "-m", "tune_experiments", "play", words.team, "--human", words.human]
    command += ["--record", str(words.record)]
    environment = os.environ | {MARK: mark}
    server = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, env=environment)
    assert server.stdout is not None
    printed = []
    try:
        for line in server.stdout:
            printed.append(line)
            if address := re.search(r"http://\S+", line):
                threading.Thread(target=server.stdout.read, daemon=True).start()  # a full pipe would stop the server
                yield address.group()
                return
        raise UserError(f"the game did not start: {''.join(printed).strip()}")
    finally:
        server.terminate()
        server.wait(PATIENCE_SECONDS)


@contextlib.contextmanager
def _tab(mark: str) -> Iterator[tuple[Any, list[str]]]:
    """A page of a browser of its own, and a list of what its programs complain about."""
    path = next(filter(None, map(shutil.which, CHROMIUM)), None)
    if path is None:
        raise UserError(f"none of {', '.join(CHROMIUM)} is on the PATH; install one (Debian: apt-get install chromium)")
    try:
        from playwright.sync_api import sync_playwright
    except ImportError as error:
        raise UserError("Playwright is not installed; run pip install -e '.[browser]'") from error
    complaints: list[str] = []
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(
            executable_path=path, args=["--no-sandbox"], env={**os.environ, MARK: mark}
        )
        page = browser.new_page()
        page.set_default_timeout(PATIENCE_SECONDS * 1000)
        page.on("pageerror", lambda error: complaints.append(str(error)))
        page.on("console", lambda said: complaints.append(said.text) if said.type == "error" else None)
        yield page, complaints
        browser.close()


def _play(page: Any, address: str, mark: str, words: argparse.Namespace) -> tuple[int, int]:
    """Press buttons and write samples until the time is over; returns the numbers of whole episodes and of presses."""
    page.goto(address)
    chance, begun, sampled = random.Random(0), time.monotonic(), -float("inf")
    step = episodes = presses = 0
    while (passed := time.monotonic() - begun) < 60 * words.minutes:
        page.wait_for_function("step => document.body.dataset.step == step", arg=str(step))
        if passed - sampled >= words.every_seconds:
            sampled = passed
            pids = dict.fromkeys(pid for top in marked(mark) for pid in _family(top))
            found = (sample(passed / 60, pid, _name(pid)) for pid in pids)
            write_samples(words.write, [one for one in found if one is not None])
        if page.is_visible("#end"):
            page.keyboard.press("Backspace")
            step, episodes = 0, episodes + 1
        else:
            buttons = page.locator("#actions button")  # a handle of an element would keep it in memory
            buttons.nth(chance.randrange(max(buttons.count(), 1))).click()
            step, presses = step + 1, presses + 1
        time.sleep(words.pause_seconds)
    return episodes, presses


def _family(pid: int) -> Iterator[int]:
    """A process and all its descendants; Chromium's write over the environment that would mark them."""
    yield pid
    with contextlib.suppress(OSError):  # it has ended
        for child in Path(f"/proc/{pid}/task/{pid}/children").read_text().split():
            yield from _family(int(child))


def _name(pid: int) -> str:
    """`game`, or the kind of process that Chromium started."""
    command = command_of(pid)
    kind = re.search(r"--type=(\S+)", command)
    return "game" if "tune_experiments" in command else f"browser: {kind.group(1) if kind else 'main'}"


if __name__ == "__main__":
    sys.exit(main())
