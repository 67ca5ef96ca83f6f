"""Protocols of joint policies, which rollouts and objectives use, and the functions that joint policies share."""

from collections.abc import Callable
from typing import Any, ClassVar, Protocol, Self, TypeAlias, runtime_checkable

import torch
from torch import Tensor

JointActions: TypeAlias = Tensor | dict[str, Tensor]
"""[..., N] int64, or factor -> [..., N] int64 if actions are factored."""


class JointPolicy(Protocol):
    """A distribution over the joint actions of N agents, with batch shape [...].

    Attributes:
        explores: whether random actions are for exploration alone, so that tests take the mode.
    """

    explores: ClassVar[bool]

    @property
    def num_uniforms(self) -> int:
        """U, number of uniform numbers that one sample takes."""

    def first_steps(self, steps: int) -> Self:
        """The policy at the first `steps` steps of its batch shape [B, T]."""

    def sample(self, uniforms: Tensor) -> tuple[JointActions, Tensor]:
        """Draw joint actions [..., N] int64 (by factor if factored) with uniforms [..., U] in [0, 1).

        Also returns the drawn mixture component [...] int64, or [..., K] for K factors.
        """

    def mode(self) -> tuple[JointActions, Tensor]:
        """Joint actions [..., N] and component [...] that greedy play takes in place of a sample."""

    def log_prob(self, actions: Any, decides: Tensor | None = None) -> Tensor:
        """Exact joint log-probability of actions [..., N] (by factor), [...] float32, of the agents that decide."""

    def component_log_prob(self, actions: Any, component: Tensor) -> Tensor:
        """Each agent's log-probability of (drawn component, own action), [..., N] float32.

        Actions are [..., N] int64 (by factor if they are factored), the component [...] int64, or [..., K] for K
        factors.
        """

    def component_entropy(self) -> Tensor:
        """Entropy of (component, own action) for each agent, [..., N] float32, in nats."""

    def marginal_entropy(self) -> Tensor:
        """Entropy of each agent's marginal policy, [..., N] float32, in nats."""


@runtime_checkable
class WholeJointPolicy(JointPolicy, Protocol):
    """A joint policy with one action per agent that gives the probability of every joint action.

    Coordination sets, the metrics of A Cordial Sync and RLlib's stock learners need such a policy.
    """

    @property
    def num_agents(self) -> int:
        """N."""

    @property
    def num_actions(self) -> int:
        """A."""

    def sample(self, uniforms: Tensor) -> tuple[Tensor, Tensor]:
        """Uniforms [..., U] in [0, 1) -> joint actions [..., N] int64 and drawn component [...] int64."""

    def mode(self) -> tuple[Tensor, Tensor]:
        """Joint actions [..., N] int64 and component [...] int64 that greedy play takes."""

    def select_worlds(self, worlds: slice) -> Self:
        """The policy in some of the worlds of its batch shape [B, ...]."""

    def log_joint_at(self, joint_actions: Tensor) -> Tensor:
        """Log-probabilities of E joint actions a sample: [..., E, N] int64 -> [..., E] float32."""

    def log_joint(self) -> Tensor:
        """Log of the joint tensor Pi, [..., A, ..., A] float32 with N action axes."""

    def joint(self) -> Tensor:
        """The joint tensor Pi, [..., A, ..., A] float32 with N action axes, probabilities."""

    def marginals(self) -> Tensor:
        """Each agent's marginal policy, [..., N, A] float32, probabilities."""

    def tvd(self) -> Tensor:
        """Total variation distance between Pi and the product of its marginals, [...] float32 in [0, 1]."""


ILLEGAL_LOGIT = -1e9
"""Logit of an illegal action. Its probability is 0 in every precision; it is finite, so its entropy is 0 and no NaN."""


def choose(policy: JointPolicy, uniforms: Tensor, is_greedy: bool | None) -> tuple[JointActions, Tensor]:
    """Joint actions [..., N] and component [...] of a test: the mode if greedy, else a sample with uniforms [..., U].

    Without `is_greedy` (None) a policy that explores is greedy, and others sample.
    """
    return policy.mode() if (policy.explores if is_greedy is None else is_greedy) else policy.sample(uniforms)


def is_possible(log_probabilities: Tensor) -> Tensor:
    """Whether actions, or joint actions with all of their parts, are legal: [...] log-probabilities -> [...] bool.

    What a policy may draw is far more probable than an action whose logit is `ILLEGAL_LOGIT`, however rare it is.
    """
    return log_probabilities > ILLEGAL_LOGIT / 2


def legal_logits(logits: Tensor, legal: Tensor | None) -> Tensor:
    """Logits [..., A] with those of illegal actions far below all others; `legal` is [..., A] bool or None.

    The result is [..., A]; with None it is the logits as they are.
    """
    return logits if legal is None else logits.masked_fill(~legal, ILLEGAL_LOGIT)


def legal_or_all(legal: Tensor | None) -> Tensor | None:
    """The mask of legal actions, [..., A] bool -> [..., A] bool: everything where nothing is legal; None stays None."""
    return None if legal is None else legal | ~legal.any(-1, keepdim=True)


def as_whole_joint(policy: JointPolicy) -> WholeJointPolicy:
    """The policy itself, checked to have a joint tensor, else TypeError."""
    if not isinstance(policy, WholeJointPolicy):
        raise TypeError(f"a policy with a joint tensor is needed here, and this policy is a {type(policy).__name__}")
    return policy


def outer(vectors: Tensor, combine: Callable[[Tensor, Tensor], Tensor]) -> Tensor:
    """Outer product (`torch.mul`) or outer sum (`torch.add`) of one vector per agent [..., N, A]: [..., A, ..., A]."""
    total = vectors[..., 0, :]
    for agent in range(1, vectors.shape[-2]):
        total = combine(total[..., None], vectors[..., agent, :].reshape(*vectors.shape[:-2], *[1] * agent, -1))
    return total


def l1_to_product(joint: Tensor, marginals: Tensor) -> Tensor:
    """L1 distance between Pi [..., A, ..., A] and the product of its marginals [..., N, A]: [...] float32 in [0, 2].

    Half of it is the total variation that the authors' code reports (A Cordial Sync, section 6.2). The paper defines
    the distance to the nearest rank-one tensor, and this distance is an upper bound of it.
    """
    return (joint - outer(marginals, torch.mul)).abs().flatten(-marginals.shape[-2]).sum(-1)


def inverse_cdf(log_probabilities: Tensor, uniform: Tensor) -> Tensor:
    """Sample by inverse CDF, [...] int64: the one of K outcomes [..., K] whose interval holds a number in [0, 1)."""
    if log_probabilities.shape[-1] == 1:  # nothing to draw
        return torch.zeros_like(uniform, dtype=torch.int64)
    # In single precision a uniform number just below 1 rounds up to 1 and picks the last index, whatever its
    # probability. In double precision it stays below the total, to which it is scaled because rounding moves that too.
    cumulative = log_probabilities.double().exp().cumsum(-1)
    index = (cumulative <= (uniform * cumulative[..., -1])[..., None]).sum(-1)
    return index.clamp_(max=log_probabilities.shape[-1] - 1)


def select_component(values: Tensor, component: Tensor) -> Tensor:
    """The values of one component: [..., N, M, D] at [...] int64 -> [..., N, D]."""
    if values.shape[-2] == 1:
        return values.squeeze(-2)
    index = component[..., None, None, None].expand(*values.shape[:-2], 1, values.shape[-1])
    return values.gather(-2, index).squeeze(-2)
