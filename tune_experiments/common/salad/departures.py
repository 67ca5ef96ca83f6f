"""What a run changes against the published agents, one sentence each."""

from __future__ import annotations

from rl_envs.salad.tasks import TASKS
from tune_experiments.common.differences import differences
from tune_experiments.common.salad.config import VercoConfig, make_world

_COMPARED = {
    "team.normalisation": "normalisation of scores",
    "team.critic_base": "whose state the critic reads",
    "learner.learning_rate": "learning rate",
    "learner.critic_learning_rate": "learning rate of the critic (0: the same)",
    "learner.target_kl": "target KL (0: none)",
    "learner.value_clip": "value clipping (0: none)",
    "learner.value_weight": "weight of the squared value error",
    "learner.epochs": "passes over a batch",
    "learner.entropy_weight": "entropy weight",
    "learner.clip_gradient": "largest gradient norm",
    "budget_env_steps": "env steps of training",
}


def departures(config: VercoConfig, published: VercoConfig) -> list[str]:
    """Compare with the preset that has the base method's constants; the paper states none of its own."""
    notes = []
    if config.lessons_by != published.lessons_by:
        notes.append(
            "the teacher's lessons are about play of scripted cooks that err, the paper's about its initial policy"
        )
    if config.teacher == "scripted":
        notes.append("the teacher is scripted, the paper's is GPT-4")
    if "drawing" in TASKS[config.task] or TASKS[config.task]["layout"] not in ("A", "B"):
        notes.append(f"the task {config.task} is not the paper's: there words are needed")
    tested, trained = (make_world(one).max_episode_steps for one in (config, config.training))
    if trained != tested:
        notes.append(f"episodes of training take up to {trained} env steps, those of tests {tested}")
    if config.model != published.model:
        notes.append(f"language model: {config.model or 'the small one'}, published is {published.model}")
    return [*notes, *differences(config, published, _COMPARED, "published is").values()]
