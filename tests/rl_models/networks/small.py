"""Observations of an invented reading world, and small teams of every kind, for the tests of reading networks."""

import dataclasses

import torch

from rl_models.networks.network_config import SilgConfig
from rl_models.networks.readers import ReaderConfig
from rl_models.networks.reading import ReadingSizes
from rl_models.networks.txt2pi import PAPER, CnnConfig, FilmConfig, Txt2PiConfig
from rl_models.teams.reader_team import ReaderTeamConfig, reader_team

WORDS, NAMES, ACTIONS = 40, 12, 5
DOCUMENT_LENGTH, GOAL_LENGTH = 11, 6
RELEASED = Txt2PiConfig()

NETWORKS = {
    "released": RELEASED,
    "paper": PAPER,
    "no_task_attn": Txt2PiConfig(ReaderConfig(attends_to_goal=False)),
    "no_vis_attn": Txt2PiConfig(ReaderConfig(attends_to_grid=False)),
    "no_text_mod": Txt2PiConfig(modulates_text=False),
    "shared_words": Txt2PiConfig(ReaderConfig(shares_words=True)),
    "goal_in_text": Txt2PiConfig(ReaderConfig(has_goal=True)),
    "film": FilmConfig(),
    "film_lstm": FilmConfig(cell="lstm"),
    "cnn": CnnConfig(),
    "silg": SilgConfig(),
}


def sizes(agents=1, vocabulary=WORDS):
    """Names of two words, but for the empty one and a short one."""
    names = torch.randint(1, vocabulary, (NAMES, 2), generator=torch.Generator().manual_seed(5))
    names[0] = 0
    names[1, 1] = 0
    return ReadingSizes(agents, vocabulary, names)


def sizes_of(world):
    names = torch.from_numpy(world.tables["name_words"].astype("int64"))
    return ReadingSizes(world.num_agents, world.text_spec["document"].vocabulary, names)


def narrow(config):
    """The same network with layers a few units wide."""
    width = {"word_features": 6, "channels": (4, 5, 7, 7, 7), "features": 9}
    if isinstance(config, Txt2PiConfig):
        reader = dataclasses.replace(config.reader, document_hidden_size=4, goal_hidden_size=5, inventory_hidden_size=3)
        return dataclasses.replace(config, reader=reader, **width)
    if isinstance(config, SilgConfig):
        return dataclasses.replace(config, hidden_size=4, **width)
    return dataclasses.replace(config, document_hidden_size=4, goal_hidden_size=5, inventory_hidden_size=3, **width)


def team(name, agents=1, seed=0, head_hidden_size=0):
    config = ReaderTeamConfig(narrow(NETWORKS[name]), head_hidden_size)
    return reader_team(config, sizes(agents), ACTIONS, seed).double()


def observations(agents=1, batch=3, time=7, texts=5, height=4, width=5, seed=0):
    """Texts of all lengths, the empty one and the full one among them, and of each more than one frame."""
    generator = torch.Generator().manual_seed(seed)

    def draw(high, *shape, low=0, dtype=torch.uint8):
        return torch.randint(low, high, shape, generator=generator, dtype=dtype)

    def table(count, length):
        tokens = draw(WORDS, count, length, low=1, dtype=torch.int32)
        lengths = torch.linspace(0, length, count).long()
        return tokens * (torch.arange(length) < lengths[:, None])

    lead = (batch, time, agents)
    legal = draw(2, *lead, ACTIONS).bool()
    legal[..., 0] = True
    return {
        "grid": draw(NAMES, *lead, height, width, 2),
        "position": torch.stack([draw(height, *lead, agents), draw(width, *lead, agents)], -1),
        "inventory": draw(NAMES, *lead, agents),
        "legal": legal,
        "document": draw(texts, *lead, dtype=torch.int32),
        "goal": draw(3, *lead, dtype=torch.int32),
        "texts/document": table(texts, DOCUMENT_LENGTH),
        "texts/goal": table(3, GOAL_LENGTH),
    }


def run(policy, obs):
    batch, time = obs["grid" if "grid" in obs else "symbols"].shape[:2]
    return policy(obs, policy.initial_state(batch), torch.zeros(batch, time, dtype=torch.bool))


def weigh(*outputs):
    """A scalar that weighs every output differently."""
    generator = torch.Generator().manual_seed(1)
    return sum((output * torch.randn(output.shape, generator=generator)).sum() for output in outputs)


def gradients(policy, obs):
    """Gradients of `weigh`, name -> tensor."""
    policy.zero_grad(set_to_none=True)
    output = run(policy, obs)
    policies = output.policy.log_marginals
    weigh(policies[obs["legal"][:, :, :, None]] if "legal" in obs else policies, output.values).backward()
    return {name: parameter.grad for name, parameter in policy.named_parameters()}
