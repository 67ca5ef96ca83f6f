"""Verco in the salad kitchen: two cooks on one language model, who write to each other before they act.

    make verco                                                              # three tasks, minutes each on 2 cores
    python tune_experiments/verco_salad.py --task secret_order              # the order that only Alice knows
    python tune_experiments/verco_salad.py --task lettuce_onion_c           # any salad on any map
    python tune_experiments/verco_salad.py --methods verco teacher_messages shuffled
    python tune_experiments/verco_salad.py --model FOLDER                   # any causal language model of Hugging Face
    OPENAI_API_KEY=... python tune_experiments/verco_salad.py --methods api --test-episodes 4 --out FOLDER
    python tune_experiments/verco_salad.py --methods api --test-episodes 4 --replay FOLDER  # again, offline
    python tune_experiments/verco_salad.py --preset smoke                   # under 2 minutes, learns nothing
    python tune_experiments/verco_salad.py --preset paper                   # the published constants: a GPU, days

Rows: `verco` first learns to write what a teacher would, then to act by PPO, while it writes as it did; `twosome` is
the same without messages; `shuffled` hears in training what is written in another kitchen, `teacher_messages` what the
scripted teacher writes. `symbolic_ppo` and `commnet` see numbers, and `commnet` passes vectors. `untrained` is the
language model as it is, before lessons and PPO. `api` asks a chat model. Beside them: the trained verco in silence,
with shuffled and with the teacher's messages; random legal actions; scripted cooks, deaf and hearing.
"""

from __future__ import annotations

import dataclasses
import sys

from rl_models.llm.distillation import DistillationSettings
from rl_models.llm.llm_config import LanguageModelSettings, LanguageTeamSettings, SmallModelSettings
from rl_models.networks.vector import VectorConfig
from rl_models.rllib.workers import Workers
from tune_experiments.experiment.experiment import Experiment
from tune_experiments.run.main import main
from tune_experiments.verco import figures
from tune_experiments.verco.config import (
    CorpusSettings,
    LearnerSettings,
    LessonSettings,
    VercoConfig,
    make_world,
    placed,
)
from tune_experiments.verco.deviations import departures
from tune_experiments.verco.evaluation import test
from tune_experiments.verco.kept_model import export, keep_model
from tune_experiments.verco.tables import tables
from tune_experiments.verco.trials import check, plan

CAPTION = "Verco in the salad kitchen"
LAPTOP = VercoConfig()
_TINY = SmallModelSettings(layers=1, width=16, heads=2, feed_forward=32, vocabulary=400, steps=20, batch_tokens=320)
SMOKE = dataclasses.replace(
    LAPTOP,
    team=LanguageTeamSettings(
        language=LanguageModelSettings(small=_TINY),
        normalisation="token",  # else a model that has learned next to nothing waits: the shortest phrase
        value_hidden=(16,),
    ),
    symbolic=VectorConfig(dense=(16,)),
    corpus=CorpusSettings(worlds=2, env_steps=10),
    lessons=LessonSettings(worlds=2, env_steps=8),
    distillation=DistillationSettings(epochs=1, batch=8, held_out=0.3),
    workers=Workers(worlds_per_runner=4, fragment_length=16),
    max_episode_steps=24,
    training_episode_steps=0,
    budget_env_steps=128,
    validations=1,
    valid_episodes=4,
    checkpoints=1,
    test_episodes=4,
)
PAPER = dataclasses.replace(
    LAPTOP,
    model="huggyllama/llama-7b",
    team=LanguageTeamSettings(
        language=LanguageModelSettings(gradient_checkpointing=True), normalisation="word", critic_base="frozen"
    ),
    distillation=DistillationSettings(learning_rate=2e-4),
    lessons_by="policy",
    rounds=4,
    lessons=LessonSettings(worlds=16, env_steps=100),
    learner=LearnerSettings(
        learning_rate=5e-7,
        critic_learning_rate=1e-5,
        symbolic_learning_rate=2.5e-4,
        final_learning_rate_share=0.0,
        gamma=0.99,
        lambda_=0.95,
        clip=0.2,
        epochs=1,
        minibatches=4,
        accumulate=8,
        by_decisions=True,
        target_kl=0.02,
        value_clip=0.2,
        value_weight=0.25,
        entropy_weight=0.01,
        final_entropy_weight=0.01,
        clip_gradient=0.5,
    ),
    workers=Workers(worlds_per_runner=4, fragment_length=64, learners=0, gpus_per_learner=1.0),
    training_episode_steps=200,
    budget_env_steps=1_000_000,
)
"""About 128 decisions of two cooks an update, in four optimiser steps of eight parts; 500,000 decisions. The base
method weighs half of the squared value error with 0.5."""
PRESETS = {"smoke": SMOKE, "laptop": LAPTOP, "paper": PAPER}

EXPERIMENT = Experiment(
    name="verco_salad",
    caption=CAPTION,
    presets=PRESETS,
    methods=lambda config: config.methods,
    plan=plan,
    test=test,
    departures=lambda config: departures(config, PAPER),
    tables=lambda results: tables(results, CAPTION),
    draw=figures.draw,
    film=figures.film,
    check=check,
    placed=placed,
    prepare=keep_model,
    export=export,
    make_test_world=make_world,
    make_valid_world=make_world,
    columns={"success": "episode/success", "return": "valid/return", "served": "valid/success"},
)

if __name__ == "__main__":
    sys.exit(main(EXPERIMENT))
