"""Deviations of a run on MESSENGER from the paper and its release, one sentence each."""

from __future__ import annotations

from rl_envs.messenger.corpus_file import OWN
from rl_models.text.choice import BERT, resolve_encoder
from tune_experiments.experiment.optimiser_steps import optimiser_steps, optimiser_steps_in_words
from tune_experiments.messenger.config import GROUNDED, MOVING, MessengerConfig, MessengerRunConfig
from tune_experiments.results.differences import differences

_COMPARED = {
    "stages": "stages",
    "network.features": "width of keys, values and symbols",
    "network.channels": "maps of the convolution",
    "network.hidden_size": "hidden units",
    "network.averages_sentences": "values averaged over sentences",
    "network.shares_hidden": "hidden layer shared by policy and value",
    "encoder.padded_to": "tokens to which sentences are padded",
    "freezes_attention": "attention frozen after the first stage",
    "learner.learning_rate": "learning rate",
    "learner.final_learning_rate_share": "share of the learning rate at the end",
    "learner.clip_range": "clipping range",
    "learner.num_epochs": "epochs over a batch",
    "learner.num_minibatches": "minibatches of an epoch",
    "learner.gae_lambda": "lambda of GAE",
    "learner.entropy_coef": "entropy weight",
    "learner.final_entropy_coef": "entropy weight at the end",
    "learner.max_grad_norm": "maximum global gradient norm (0: any)",
    "workers.worlds_per_runner": "worlds of a runner",
    "workers.fragment_length": "env steps of a fragment",
    "first_stage_env_steps": "env steps of the first stage",
    "budget_env_steps": "env steps of each later stage",
}


def deviations(config: MessengerRunConfig, reference: MessengerRunConfig) -> list[str]:
    """Compare with the preset that has the release's constants."""
    notes = [
        "the convolution sees the moments of a cell as channels, as the paper says; the release's sees three cells",
        "values are bootstrapped where a fragment ends and advantages standardised; the release cuts and standardises "
        "returns",
    ]
    weight = config.learner.grounding_coef
    for row in (row for row in config.methods if row.endswith(GROUNDED)):
        notes.insert(0, f"row {row}: a contrastive grounding loss of weight {weight:g}; the paper has none")
    if config.frames != 3:
        notes.append(f"moments that are seen: {config.frames}, the paper has 3")
    if config.texts == OWN:
        notes.append("sentences are our own, from 82 templates; --texts published reads the published corpus")
    if config.max_sentences_per_cell is not None:
        notes.append(f"at most {config.max_sentences_per_cell} sentences of each kind; the paper has all")
    if resolve_encoder(config.encoder.name)[0] != BERT:
        notes.append(f"{_encoder_in_words(config)} The paper has {BERT}, frozen.")
    later = {"budget_env_steps", "freezes_attention"} if len(config.stages) == 1 else set()
    found = differences(config, reference, _COMPARED, "the release has")
    return notes + [sentence for path, sentence in found.items() if path not in later]


def optimiser_steps_beside(config: MessengerRunConfig, reference: MessengerRunConfig) -> str:
    """Sentence on the optimiser steps of the first stage of a run beside those of the release's."""
    steps = optimiser_steps(reference.learner.at_stage(1), reference.workers, reference.first_stage_env_steps)
    own, how = config.learner.at_stage(config.stages[0]), ", each in the first stage"
    return optimiser_steps_in_words(own, config.workers, config.first_stage_env_steps, steps, "the release", how)


def movement_deviations(config: MessengerConfig) -> list[str]:
    """Deviations of rows whose queries hold movements."""
    notes, weight = [], config.movement_grounding_coef
    for row in (row for row in config.methods if row.startswith(MOVING)):
        notes.append(f"row {row}: a sprite's query says whether it comes nearer or goes away; the paper's does not")
        if weight:
            notes.append(f"row {row}: a movement contrast of weight {weight:g}; the paper has none")
    return notes


def _encoder_in_words(config: MessengerRunConfig) -> str:
    return resolve_encoder(config.encoder.name)[1]
