"""Deviations of a run from the published agents, one sentence each."""

from __future__ import annotations

from rl_envs.salad.tasks import TASKS
from tune_experiments.results.differences import differences
from tune_experiments.verco.config import VercoConfig, make_world
from tune_experiments.verco.trials import ROWS

PUBLISHED_MAPS = ("A", "B")
_READ = (
    "the small model has read what scripted cooks say and do in generated kitchens, and the tested kitchens are held "
    "out as wholes; the paper's model has read the internet, and nothing made for this game"
)
_OF_LANGUAGE = "team."
"""Beginning of the fields that only rows with a language model read."""
_COMPARED = {
    "team.normalisation": "normalisation of scores",
    "team.critic_base": "whose state the critic reads",
    "team.value_hidden_sizes": "hidden layers of the critic",
    "team.language.lora.rank": "rank of the adapters",
    "team.language.lora.alpha": "alpha of the adapters",
    "team.language.lora.targets": "layers with adapters",
    "learner.learning_rate": "learning rate",
    "learner.critic_learning_rate": "learning rate of the critic (0: the same)",
    "learner.final_learning_rate_share": "share of the learning rate at the end",
    "learner.gamma": "discount",
    "learner.gae_lambda": "lambda of GAE",
    "learner.clip_range": "clipping range",
    "learner.target_kl": "target KL (0: none)",
    "learner.value_clip_range": "value clipping (0: none)",
    "learner.value_coef": "weight of the squared value error",
    "learner.num_epochs": "epochs over a batch",
    "learner.num_minibatches": "minibatches of an epoch",
    "learner.gradient_accumulation_steps": "parts of a minibatch",
    "learner.decision_minibatches": "minibatches of decisions, not of fragments",
    "learner.entropy_coef": "entropy weight",
    "learner.final_entropy_coef": "entropy weight at the end",
    "learner.max_grad_norm": "largest gradient norm",
    "budget_env_steps": "env steps of training",
}


def deviations(config: VercoConfig, published: VercoConfig) -> list[str]:
    """Compare with the preset that has the base method's constants; the paper states none of its own."""
    notes = [
        "advantages are standardised over the decisions of an update, the base method's over 4 at a time; one norm "
        "clips the gradients of actor and critic, each has its own there",
        "actions that would do nothing are not offered, the base method offers all; a food pays once an episode",
    ]
    rows = [ROWS[method] for method in config.methods if method in ROWS]
    if any(row.has_warm_start for row in rows):
        if config.warm_start_by != published.warm_start_by:
            errs = f"that err in {config.warm_start.error:.0%} of their decisions"
            notes.append(f"the warm start is about play of scripted cooks {errs}, the paper's about its initial policy")
        if config.teacher == "scripted":
            notes.append("the teacher is scripted, the paper's is GPT-4")
    notes += _of_task(config.task)
    tested, trained = (make_world(one).max_episode_steps for one in (config, config.training))
    if trained != tested:
        notes.append(f"episodes of training take up to {trained} env steps, those of tests {tested}")
    has_model = any(row.has_language_model for row in rows)
    if has_model and config.model != published.model:
        notes.append(f"language model: {config.model or 'the small one'}, published is {published.model}")
    if has_model and not config.model:
        notes.append(_READ)
    ours, theirs = (each.workers.env_steps_of_update for each in (config, published))
    if ours != theirs:
        notes.append(f"env steps of an update: {ours:,}, published is {theirs:,}")
    found = differences(config, published, _COMPARED, "published is")
    return notes + [note for path, note in found.items() if has_model or not path.startswith(_OF_LANGUAGE)]


def _of_task(task: str) -> list[str]:
    arguments = TASKS[task]
    notes = []
    layout = arguments.get("layout", "generated for tuning")
    if layout not in PUBLISHED_MAPS:
        notes.append(f"map {layout} is not one of the paper's, {' and '.join(PUBLISHED_MAPS)}")
    if "order_known_by" in arguments:
        notes.append(f"only {arguments['order_known_by']} knows the order, in the paper both do: here words are needed")
    return notes
