"""Arguments and data that a part of a team refuses: one sentence that names what is wrong."""

import pytest
import torch

from rl_envs import make
from rl_models.algorithms.impala import Impala
from rl_models.algorithms.optimiser import OptimiserSettings
from rl_models.algorithms.ppo import Ppo
from rl_models.algorithms.qmix import Qmix
from rl_models.algorithms.replay import Replay
from rl_models.algorithms.role_objectives import role_objective
from rl_models.batch import to_batch
from rl_models.heads.mixture_heads import SyncHead
from rl_models.llm.llm_config import LanguageModelSettings, SmallModelSettings
from rl_models.llm.model_cache import small_model
from rl_models.llm.scoring import build_trie
from rl_models.llm.tokens import load_tokenizer
from rl_models.networks.network_config import GridCnnConfig, TextReaderConfig
from rl_models.networks.role_team_config import RoleTeamConfig
from rl_models.networks.text_readers import TextReader, WordTable
from rl_models.networks.txt2pi import Txt2PiConfig
from rl_models.networks.visual import FrameConvolutions
from rl_models.policy import Features
from rl_models.rllib.workers import Workers
from rl_models.teams.constant_team import constant_team
from rl_models.teams.grid_cnn_team import grid_cnn_team
from rl_models.teams.llm_team import adapted_model
from rl_models.teams.reader_team import ReaderTeamConfig, reader_team
from rl_models.text.edit_distance import TextIndex
from rl_models.text.words import Vocabulary
from rl_models.training.loop import Learner
from rl_models.training.weight_transfer import FrozenBuild, matching, transfer_weights
from tests.rl_models.algorithms import small_qmix
from tests.rl_models.algorithms.test_replay import filled
from tests.rl_models.networks import small, small_endi
from tests.rl_models.training.small import begun, collector


def read_without(key):
    """A reading team in front of row numbers whose texts are not there."""
    obs = small.observations()
    del obs[f"texts/{key}"]
    small.run(small.team("released"), obs)


def learned_by_qmix(name, other):
    """A batch whose entry has another name."""
    batch = to_batch(small_qmix.collector().collect())
    batch[other] = batch.pop(name)
    small_qmix.objective().prepare(batch)


def taught_by_qmix(policy):
    """A team that plays the two-step game."""
    one = begun(make("two_step_game-v0", 4), policy, 2, needs_values=False, seed=0)
    Learner(policy, Qmix(), OptimiserSettings()).update([one.collect()])


def with_memory(objective):
    one = collector()
    Learner(one.policy, objective, OptimiserSettings()).update([one.collect()])


def leavers(method):
    """Learning of a method whose other losses count all agents, where some leave."""
    role_objective(RoleTeamConfig(), method, Qmix()).prepare({"obs/alive": torch.zeros(1, 2, 2, dtype=torch.bool)})


def layer():
    return torch.nn.Linear(2, 2)


REFUSED = {
    "rows without texts": (lambda: read_without("goal"), "texts/goal"),
    "channels that cannot be added": (
        lambda: reader_team(ReaderTeamConfig(Txt2PiConfig(channels=(4, 8, 16))), small.sizes(), small.ACTIONS),
        "channels",
    ),
    "one sentence for EMMA": (
        lambda: TextReader(TextReaderConfig("emma"), {"manual": 1}, WordTable(50, 8), query=5),
        "--max-sentences",
    ),
    "SYNC of silent agents": (
        lambda: SyncHead(4, 3, 2, 2, 4)(Features(torch.zeros(1, 1, 2, 4), {})),
        "messages",
    ),
    "a grid too small": (lambda: grid_cnn_team(GridCnnConfig(), 2, (26, 2, 5), 6), "2 x 5"),
    "a checkpoint of a larger replay": (lambda: Replay(3).load(filled((0, 4)).tensors()), "capacity"),
    "frames too small": (lambda: FrameConvolutions((4,) * 5, 20), "20 x 20"),
    "too many convolutions": (lambda: FrameConvolutions((4,) * 6, 84), "6"),
    "no convolution": (lambda: FrameConvolutions((), 84), "0"),
    **{f"{one} divided for one agent": (lambda one=one: small_endi.team(one, 1), "2") for one in small_endi.BACKBONES},
    "an index of nothing": (lambda: TextIndex([]), "text"),
    "sentences without words": (lambda: Vocabulary.of(["...", ""]), "words"),
    "teams that share nothing": (lambda: transfer_weights({"other": torch.zeros(2)}, layer().state_dict()), "weight"),
    "a pattern near a name": (lambda: matching(["weigh"], layer().state_dict()), r"weigh\W.*weight"),
    "nothing left to train": (lambda: FrozenBuild(layer, ("*",))(), "parameter"),
    "frozen and not there": (lambda: FrozenBuild(layer, ("heads.*",))(), "heads"),
    "more groups than worlds": (
        lambda: Workers(worlds_per_runner=2, world_groups=3).check_learners(Impala()),
        "--workers.world-groups 3",
    ),
    "single steps of a team with memory": (lambda: with_memory(Ppo(decision_minibatches=True)), "decision_minibatches"),
    "QMIX and macro actions": (lambda: learned_by_qmix("obs/legal", "obs/decides"), "PPO or IMPALA"),
    "QMIX and factors": (lambda: learned_by_qmix("actions", "actions/go"), "PPO or IMPALA"),
    "QMIX without action values": (lambda: taught_by_qmix(constant_team(1, 2, 2)), "qmix_team"),
    **{f"{one} and leavers": (lambda one=one: leavers(one), "agents") for one in ("roma", "ldsa", "maser")},
    "an encoder as a language model": (lambda: load_tokenizer("minilm"), "minilm"),
    "a default model without a corpus": (lambda: adapted_model(LanguageModelSettings()), "corpus"),
    "a corpus of nothing": (lambda: small_model(list, SmallModelSettings()), "text"),
    "a candidate of nothing": (lambda: build_trie(((3,), ())), "token"),
}


@pytest.mark.parametrize("case", REFUSED)
def test_what_cannot_be_used_is_refused_in_a_sentence_that_names_it(case):
    call, named = REFUSED[case]
    with pytest.raises(ValueError, match=named) as told:
        call()
    assert "\n" not in str(told.value)
