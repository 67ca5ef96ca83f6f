"""Warm start of a reader's attention by mentions: at first it learns to attend where a thing is mentioned.

The target is the attention of a mention-matching reader that was never trained: its words are random, so a word matches
itself and hardly any other (equations 1 to 3 of `networks/mentions.py`). It needs no label: it says where a thing is
mentioned, and not what that means. The weight falls to 0, and the rest is learned by reward.
"""

from dataclasses import dataclass

import torch
from torch import Tensor

from rl_models.batch import Batch
from rl_models.losses.attention_supervision import ATTENTION, EPSILON
from rl_models.losses.extra_loss import Statistics, weighed
from rl_models.losses.policy_gradient import masked_mean
from rl_models.policy import TeamOutput
from rl_models.schedule import Progress, Schedule

_NEVER = -1e9
"""Score of padding; it is finite, so an empty document gives no NaN."""


@dataclass(frozen=True)
class MentionWarmStart:
    """weight(t) * cross-entropy of the attention of all layers to where the things asked for are mentioned.

    The weight ends at 0. `names` [K, L] int64 are the words of each name in the grid, of which the target is about
    those in `is_asked` [K] bool; of the V random words it has width and seed, and beta (`sharpness`).
    """

    weight: Schedule
    names: Tensor
    is_asked: Tensor
    vocabulary: int
    word_features: int = 64
    sharpness: float = 4.0
    seed: int = 0

    def __call__(self, output: TeamOutput, batch: Batch, progress: Progress) -> tuple[Tensor, Statistics]:
        """See `ExtraLoss`; the network has the extra `attention/grid`, [B, T or T + 1, N, layers, L].

        The batch has `obs/grid`, `obs/document` and `texts/document`. Raises ValueError without that extra.
        """
        if ATTENTION not in output.extras:
            raise ValueError(f"a warm start of attention needs {ATTENTION!r}: set `shows_attention` of the network")
        weight, steps = self.weight.coefficient(progress), batch["reward"].shape[1]
        attention = output.extras[ATTENTION][:, :steps]
        if self.weight.is_zero(progress):
            return attention.new_zeros(()), {"schedule/mention_warm_start": weight}
        target, exists = (part.unflatten(0, attention.shape[:3]) for part in self._targets(batch, steps))
        errors = -(target[..., None, :] * (attention + EPSILON).log()).sum(-1).mean(-1)
        return weighed("mention_warm_start", masked_mean(errors, exists), weight)

    def _targets(self, batch: Batch, steps: int) -> tuple[Tensor, Tensor]:
        """Attention to the words that mention the things asked for, [K, L] float32, and whether there are any, [K]."""
        grid = batch["obs/grid"][:, :steps].flatten(0, 2).flatten(1).long()
        tokens = batch["texts/document"][batch["obs/document"][:, :steps].flatten().long()].long()
        words = self.words(grid.device)
        asked = self.is_asked.to(grid.device)[grid]
        vectors = (words[self.names.to(grid.device)].sum(1)[grid] * asked[..., None]).sum(1)
        is_word = tokens != 0
        matches = self.sharpness * (vectors @ words.T).gather(1, tokens)
        return matches.masked_fill(~is_word, _NEVER).softmax(-1), asked.any(1) & is_word.any(1)

    def words(self, device: torch.device) -> Tensor:
        """Random words, N(0, 1 / F), whose padding is 0: [V, F] float32."""
        generator = torch.Generator().manual_seed(self.seed)
        words = torch.randn(self.vocabulary, self.word_features, generator=generator) / self.word_features**0.5
        words[0] = 0
        return words.to(device)
