"""Protocol of the trainer of a stage: RLlib's loop, one without Ray, supervised warm starts, fine-tuning."""

from typing import Any, Protocol, TypeAlias

from rl_models.policy import TeamPolicy
from rl_models.schedule import Progress

Tensors: TypeAlias = dict[str, dict[str, Any]]
"""Group -> name -> tensor or array, as checkpoints hold them; `weights` are the policy's."""

SKIPPED_UPDATES = "skipped_updates"
"""Group of a checkpoint that says which of the last updates were skipped; absent if none was."""

REPLAY = "replay"
"""Group of the first learner's replay in a checkpoint; that of learner 1 is `replay_1`, and so on."""

RESTARTED = "restarted_games"
"""Key of the metrics of `train`: number of environments that `restore` could not restore; absent if there are none."""

OTHERS_CPU_SECONDS = "others_cpu_seconds"
"""Key of the metrics of `train`: CPU-seconds of its own processes (runners, learners) since the last call; absent if
there are none."""

ENDED_EPISODES = "ended_episodes"
"""Key of the metrics of `train`: number of episodes over which `episode/NAME` are means; absent if none ended, and
optional for trainers of which each call of `train` advances training."""


def replay_group(rank: int) -> str:
    """Group of a learner's replay in a checkpoint."""
    return f"{REPLAY}_{rank}" if rank else REPLAY


class Algorithm(Protocol):
    """Trains one team in iterations; resumes from `checkpoint`."""

    def train(self) -> dict[str, float]:
        """Run one training iteration; returns its metrics, name -> number."""

    def progress(self) -> Progress:
        """Progress of training."""

    def policy(self, weights: dict[str, Any] | None = None) -> TeamPolicy:
        """The team in this process, for evaluation, with the weights of a checkpoint or its present ones."""

    def checkpoint(self) -> tuple[Tensors, Progress]:
        """State for `restore`, and the progress of training."""

    def restore(self, tensors: Tensors, progress: Progress) -> None:
        """Continue where `checkpoint` was taken, or begin with the weights of the stage before."""

    def close(self) -> None:
        """Stop all processes and worlds."""
