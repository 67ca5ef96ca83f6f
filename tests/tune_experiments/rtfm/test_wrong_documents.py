"""The evaluation with wrong documents against a perfect player who believes what it reads: it falls to not reading."""

import numpy as np
import pytest
import torch
from torch import nn

from rl_envs.rtfm.grid import make_grid
from rl_models.distributions.mixture import MixtureOfMarginals
from rl_models.policy import Features, TeamPolicy
from tune_experiments.rtfm.best_play import all_bags, solve
from tune_experiments.rtfm.config import LettersTask, make_world
from tune_experiments.rtfm.evaluation import WithWrongDocuments, play

WORLDS, SIZE, HORIZON = 200, 5, 20
BAGS = all_bags()


class Reader(nn.Module):
    """Takes rules and places from the world itself, but what beats the dragon only from the document it is shown.

    When an episode begins it believes what it reads, and then plays the best moves for that belief. A document that
    does not speak of the dragon's letter leaves it one of the two items that do not bear that letter, by turns.
    """

    num_agents = 1

    def __init__(self, world):
        super().__init__()
        self.world, self.moves = world, None
        self.unused = nn.Parameter(torch.zeros(()))

    def initial_state(self, batch):
        return {}

    def forward(self, obs, state, is_first):
        if self.moves is None:
            tokens = obs["texts/document"][obs["document"].flatten().long()]
            self._begin([self.world.lexicon.decode(row).split() for row in tokens.numpy()])
        scores = nn.functional.one_hot(torch.from_numpy(self._best_moves()), 5).float()
        return Features(scores[:, None, None], {}, None, {})

    def _begin(self, documents):
        world = self.world.state
        letters = [[self.world.lexicon.names[name] for name in names] for names in world["item_names"].tolist()]
        # Item k beats letter k of the triple, so the item before the right one has the dragon's letter.
        self.order = np.array([self._believed(number, letters[number], documents[number]) for number in range(WORLDS)])
        inside = make_grid(SIZE).inside
        items = np.searchsorted(inside, np.take_along_axis(world["item_cells"], self.order, 1))
        values, self.moves = solve(SIZE, items, 1, HORIZON)
        agent, dragon = (np.searchsorted(inside, world[name][:, 0]) for name in ("agent_cells", "monster_cells"))
        self.hoped = values[np.arange(WORLDS), 0, agent, dragon]

    def _believed(self, number, letters, document):
        """Items in the order of `best_play.py`: the one that is believed to win, another, the dragon's own letter's."""
        own = (self.world.state["dragon"][number] + 2) % 3
        sentences = {document[start + 2]: document[start] for start in range(0, len(document), 4)}
        read = sentences.get(letters[own])
        believed = letters.index(read) if read in letters else (own + 1 + number % 2) % 3
        return believed, 3 - own - believed, own

    def _best_moves(self):
        state, inside = self.world.state, make_grid(SIZE).inside
        held = state["held"][:, 0] - 1
        place = np.where(held < 0, -1, (self.order == held[:, None]).argmax(1))
        floor = np.take_along_axis(state["item_cells"] > 0, self.order, 1)
        bags = [BAGS.index((int(one), tuple(lies))) for one, lies in zip(place, floor.tolist(), strict=True)]
        cells = [np.searchsorted(inside, state[name][:, 0]) for name in ("agent_cells", "monster_cells")]
        return self.moves[np.arange(WORLDS), bags, cells[0], cells[1]]


class Likeliest(nn.Module):
    """The network's word as a policy."""

    def forward(self, features):
        logits = 50 * features.features
        return MixtureOfMarginals.from_logits(logits.new_zeros(*logits.shape[:2], 1), logits.unsqueeze(-2))


class NoValue(nn.Module):
    def forward(self, features):
        return features.features[..., 0] * 0


def wins(*way):
    """How often a reader wins, and how often it could if what it believes were right."""
    task = LettersTask(size=SIZE, setting="ten_letters", max_episode_steps=HORIZON)
    world = make_world(task, WORLDS, split="eval")
    reader = Reader(world)
    won = play(world, TeamPolicy(reader, Likeliest(), NoValue()), *way)["win_rate"]
    return won.mean(), reader.hoped.mean()


@pytest.mark.long
def test_who_reads_wins_with_the_right_document_and_falls_to_not_reading_with_a_wrong_one():
    (right, optimum), (wrong, _) = wins(), wins(WithWrongDocuments)
    error = 4 * (0.25 / WORLDS) ** 0.5
    assert abs(right - optimum) < error
    assert abs(wrong - optimum / 2) < error < right - wrong
