"""Pages of invented episodes, and what stands in them."""

import html.parser
import json

from tune_experiments.play.episode import AgentStep, Episode, Step
from tune_experiments.play.spectator import Note

EVIL = "</script><img src=x onerror=alert(1)><!--\u2028"


def make_episode(*texts, picture=None):
    """An episode of one agent that says these texts, one a step."""
    steps = [
        Step(picture, (AgentStep("stay", (("stay", 1.0),), text),), notes=(Note(text[:99], text),), rewards=(0.0,))
        for text in texts
    ]
    return Episode("seed 0", "start", ("agent_0",), (("stay",),), steps, picture, metrics={"length": float(len(steps))})


class Elements(html.parser.HTMLParser):
    """Start tags of a page with their attributes, and the text inside its scripts."""

    def __init__(self, text):
        super().__init__()
        self.tags, self.scripts, self._inside = [], [], None
        self.feed(text)

    def handle_starttag(self, tag, attributes):
        self.tags.append((tag, dict(attributes)))
        self._inside = tag

    def handle_data(self, data):
        if self._inside == "script":
            self.scripts.append(data)

    def handle_endtag(self, tag):
        self._inside = None


def read_data(page):
    return json.loads(Elements(page).scripts[0])
