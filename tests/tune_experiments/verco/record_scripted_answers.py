"""Make the small record behind the table of the row `api`: no chat model answers it, scripted cooks do.

    python -m tests.tune_experiments.verco.record_scripted_answers FOLDER

A server on this machine answers in the chat protocol what scripted cooks did in the same kitchen behind the nearest
prompt. So the row, its record, its cost and its replay can be seen without an endpoint; it says nothing of any model.
"""

import dataclasses
import os
import shutil
import sys
import tempfile
from pathlib import Path

from rl_envs.salad.corpus import collect_corpus
from tests.rl_models.chat.loopback import Loopback, say
from tune_experiments.experiment.finding import trial_name
from tune_experiments.run.trial import Trial
from tune_experiments.verco.config import make_world
from tune_experiments.verco.lookup import Answers
from tune_experiments.verco_salad import EXPERIMENT, LAPTOP

MODEL = "scripted_cooks_no_model"
"""Name of the model in the record's requests, so that nobody takes it for one."""
CONFIG = dataclasses.replace(
    LAPTOP,
    task="tomato_a",
    methods=("api",),
    test_episodes=4,
    valid_episodes=4,
    chat=dataclasses.replace(LAPTOP.chat, model=MODEL),
)
TRIAL = Path("trials") / trial_name("api", 0)


def answering(config):
    """A script of the server: what cooks that hear nothing did behind the nearest prompt."""
    known = Answers(collect_corpus(make_world(config, 8), 120, expert_share=1.0).actions)

    def script(body, number):
        prompt, _, actions = body["messages"][-1]["content"].partition("\n\nActions: ")
        return say(f'{{"action": "{known.choose(prompt, tuple(actions.split("; ")))}"}}')

    return script


def main(out):
    """Play the row once and keep its record alone."""
    with tempfile.TemporaryDirectory() as folder, Loopback(answering(CONFIG)) as server:
        os.environ |= {"OPENAI_BASE_URL": server.url, "OPENAI_API_KEY": "any"}
        Trial(EXPERIMENT, CONFIG, "api", 0, Path(folder) / TRIAL).run(lambda row: None)
        (out / TRIAL).mkdir(parents=True, exist_ok=True)
        shutil.copy(Path(folder) / TRIAL / CONFIG.chat.record, out / TRIAL)


if __name__ == "__main__":
    main(Path(sys.argv[1]))
