"""Supervised fine-tuning of messages to a teacher's (Verco, eq. 1)."""

from __future__ import annotations

from torch import Tensor


def message_cross_entropy(log_probs: Tensor) -> Tensor:
    """Mean over messages of -log P(message | prompt), a scalar to minimise; log-probabilities [R] are sums over tokens.

    The paper sums over agents; with pairs of all agents in one pool that is this mean times N.
    """
    return -log_probs.mean()
