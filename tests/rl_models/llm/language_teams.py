"""Small language teams whose messages and weights a test can stir."""

from rl_models.algorithms.ppo import Ppo
from rl_models.llm.llm_config import MessageSettings
from rl_models.llm.messages import PADDING
from rl_models.runtime.added_observations import narrated
from tests.rl_models.llm.small import collector, stir

BY_AGENT = Ppo(joint_ratio=False, value_loss_at="decisions")
DRAWN = MessageSettings(max_tokens=8, sampled=True)
FORMS = {
    "sum": {},
    "token": {"normalisation": "token"},
    "word": {"normalisation": "word"},
    "frozen_critic": {"critic_base": "frozen"},
    "drawn_messages": {"messages": DRAWN},
    "silence": {"messages": MessageSettings(heard="silence")},
    "shuffled": {"messages": MessageSettings(max_tokens=8, heard="shuffled")},
    "rows_of_a_table": {"by_row": True},
    "three_agents": {"num_agents": 3},
}
ROUNDING = ("log_prob", "agent_log_prob", "values", "final_values", "last_values")


def stirred(form="sum", **changed):
    """A collector whose adapters differ from the base and from each other."""
    one = collector(**(FORMS[form] | changed))
    language = one.policy.network.language
    stir(language.action.values())
    stir(language.message.values(), 0.03)  # little, so that what is said still depends on what is seen
    one.reset(3)
    return one


def narrated_again(policy, batch, **changed):
    """A batch whose agents are told what they see once more, some of it changed."""
    obs = {key.removeprefix("obs/"): value for key, value in batch.items() if key.startswith("obs/")}
    found = narrated(policy.network, obs | changed)
    return batch | {key if key.startswith("texts/") else f"obs/{key}": value for key, value in found.items()}


def shown_texts(fragment, key):
    """Token ids at every place, without what is behind their ends."""
    return [row[row != PADDING] for row in fragment.texts[key][fragment.obs[key].ravel()]]
