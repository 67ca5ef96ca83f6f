"""Verco in the salad kitchen: two cooks on one language model, which exchange messages before they act.

    make verco                                                              # three tasks, four seeds: hours on 2 cores
    python tune_experiments/verco_salad.py --task secret_order              # an order that only Alice observes
    python tune_experiments/verco_salad.py --task lettuce_onion_c           # any salad on any map
    python tune_experiments/verco_salad.py --methods verco teacher_messages shuffled
    python tune_experiments/verco_salad.py --model FOLDER                   # any causal language model of Hugging Face
    OPENAI_API_KEY=... python tune_experiments/verco_salad.py --methods api --test-episodes 4 --out FOLDER
    python tune_experiments/verco_salad.py --methods api --test-episodes 4 --replay FOLDER  # again, offline
    python tune_experiments/verco_salad.py --methods api --task tomato_a --seeds 0 --test-episodes 4 \
        --chat.model scripted_cooks_no_model --replay docs/results/verco_api_record  # answered by scripts, no model
    python tune_experiments/verco_salad.py --preset smoke                   # under 2 minutes, learns nothing
    python tune_experiments/verco_salad.py --preset paper                   # the published constants: a GPU, days

Methods: `verco` first learns to write a teacher's messages, then to act by PPO with a frozen message adapter; `twosome`
is the same without messages; `shuffled` is trained with messages from another kitchen, `teacher_messages` with the
scripted teacher's. `symbolic_ppo` and `commnet` have vector observations, and `commnet` exchanges vectors. `base` is
the language model before warm start and PPO; `base_sum`, `base_token` and `base_word` are the same without messages,
with actions scored by the sum of log-probabilities, by token and by word. `lookup` takes the answer of the nearest
prompt in the corpus, without a network. `symbolic_imitation_ppo` imitates the corpus' decisions from vectors, then
learns by PPO. `api` uses a chat model. Baselines: the trained verco without messages, with shuffled and with the
teacher's messages; verco after its warm start only; random legal actions; scripted cooks without and with messages.

The default language model was trained on messages and actions of cooks that follow a script in three quarters of their
decisions, in generated kitchens (`rl_envs/salad/procedural.py`). They contain no tested combination of map, salad and
order, and no tested prompt.
"""

from __future__ import annotations

import dataclasses
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from rl_envs.core.metrics import COUNT, SHARE
from rl_envs.salad.world import Salad
from rl_models.chat.endpoint import EndpointSettings
from rl_models.chat.meter import Budget
from rl_models.llm.llm_config import (
    DistillationSettings,
    LanguageModelSettings,
    LanguageTeamSettings,
    SmallModelSettings,
)
from rl_models.networks.network_config import VectorConfig
from rl_models.rllib.workers import Workers
from tune_experiments.core.drawing import Drawn
from tune_experiments.core.lazy_module import LazyModule
from tune_experiments.experiment.curriculum import Curriculum
from tune_experiments.experiment.optimiser_steps import describe_optimiser_steps
from tune_experiments.experiment.plan import Tests, TrialPlan
from tune_experiments.launch.experiment import Experiment, main
from tune_experiments.play.recording import SEED
from tune_experiments.results.main_comparison import MainComparison
from tune_experiments.results.rows import Result
from tune_experiments.results.tables import PaperTable
from tune_experiments.verco.config import CorpusSettings, VercoConfig, VercoLearnerConfig, WarmStartSettings, make_world
from tune_experiments.verco.tables import DISTANCES, tables

if TYPE_CHECKING:
    from rl_models.policy import TeamPolicy
    from tune_experiments.play.loading import LoadedPolicy
    from tune_experiments.play.trial_figures import Trials
    from tune_experiments.verco import evaluation, replay, trials
else:
    evaluation = LazyModule("tune_experiments.verco.evaluation")
    replay = LazyModule("tune_experiments.verco.replay")
    trials = LazyModule("tune_experiments.verco.trials")

LAPTOP = VercoConfig()
_TINY = SmallModelSettings(layers=1, width=16, heads=2, feed_forward=32, vocabulary=400, steps=20, batch_tokens=320)
SMOKE = dataclasses.replace(
    LAPTOP,
    methods=("verco", "symbolic_imitation_ppo", "lookup"),
    team=LanguageTeamSettings(
        language=LanguageModelSettings(small=_TINY),
        normalisation="token",  # else an untrained model waits, because that is the shortest phrase
        value_hidden_sizes=(16,),
    ),
    symbolic=VectorConfig(hidden_sizes=(16,)),
    corpus=CorpusSettings(kitchens=4, worlds=1, env_steps=10),
    warm_start=WarmStartSettings(worlds=2, env_steps=8),
    distillation=DistillationSettings(num_epochs=1, batch_size=8, held_out=0.3),
    workers=Workers(worlds_per_runner=4, fragment_length=16),
    max_episode_steps=24,
    training_episode_steps=0,
    budget_env_steps=128,
    validate_every_env_steps=128,
    valid_episodes=4,
    checkpoint_every_env_steps=128,
    test_episodes=4,
)
PAPER = dataclasses.replace(
    LAPTOP,
    model="huggyllama/llama-7b",
    team=LanguageTeamSettings(
        language=LanguageModelSettings(gradient_checkpointing=True), normalisation="word", critic_base="frozen"
    ),
    distillation=DistillationSettings(learning_rate=2e-4),
    warm_start_by="policy",
    rounds=4,
    warm_start=WarmStartSettings(worlds=16, env_steps=100),
    learner=VercoLearnerConfig(
        learning_rate=5e-7,
        critic_learning_rate=1e-5,
        symbolic_learning_rate=2.5e-4,
        final_learning_rate_share=0.0,
        gamma=0.99,
        gae_lambda=0.95,
        clip_range=0.2,
        num_epochs=1,
        num_minibatches=4,
        gradient_accumulation_steps=8,
        decision_minibatches=True,
        target_kl=0.02,
        value_clip_range=0.2,
        value_coef=0.25,
        entropy_coef=0.01,
        final_entropy_coef=0.01,
        max_grad_norm=0.5,
    ),
    workers=Workers(worlds_per_runner=4, fragment_length=64, learners=0, gpus_per_learner=1.0),
    training_episode_steps=200,
    budget_env_steps=1_000_000,
    validate_every_env_steps=125_000,
    checkpoint_every_env_steps=200_000,
)
"""About 128 decisions of two cooks an update, in four optimiser steps of eight parts; 500,000 decisions. The base
method weighs half of the squared value error with 0.5."""
PRESETS = {"smoke": SMOKE, "laptop": LAPTOP, "paper": PAPER}


class VercoSalad(Experiment[VercoConfig]):
    """Language teams with and without messages; teams with vector observations; a chat model."""

    metric_ranges = Salad.metric_ranges | {"success_of_*": SHARE} | dict.fromkeys(("chat_*", *DISTANCES), COUNT)
    name = "verco_salad"
    caption = "Verco in the salad kitchen"
    presets = PRESETS
    seeds = (0, 1, 2, 3)
    columns = {"success": "episode/success", "return": "valid/return", "served": "valid/success"}

    def plan(
        self, config: VercoConfig, method: str, seed: int, trial_folder: Path | None = None
    ) -> TrialPlan | Curriculum:
        """Perhaps a warm start of the message adapter, then PPO on actions."""
        return trials.plan(config, method, seed, trial_folder)

    def depends_on_seed(self, method: str) -> bool:
        """Whether a method is trained."""
        return trials.METHODS[method].learns

    def evaluate(self, config: VercoConfig, method: str, policy: TeamPolicy) -> Tests:
        """Whole episodes, with ablations of messages and baselines without training."""
        return evaluation.evaluate(config, policy)

    def evaluate_trial(self, config: VercoConfig, method: str, policy: TeamPolicy, trial_folder: Path | None) -> Tests:
        """The same with the costs of the trial's chat model."""
        return evaluation.evaluate(config, policy, trial_folder)

    def evaluation_seeds(self, config: VercoConfig) -> Sequence[int]:
        """Seeds of validation and test."""
        return evaluation.VALIDATION_SEED, evaluation.EVALUATION_SEED

    def tables(self, results: Sequence[Result]) -> Sequence[PaperTable]:
        """One table a kitchen."""
        return tables(results, self.caption)

    def main_comparisons(self, config: VercoConfig) -> Sequence[MainComparison]:
        """Teams with and without messages, and with a pretrained model vector observations; none for one method."""
        first = (MainComparison("verco", "twosome", "success", config.task),) if len(config.methods) > 1 else ()
        if not config.model or not {"verco", "twosome", "symbolic_ppo"} <= set(config.methods):
            return first
        return *first, *(MainComparison(one, "symbolic_ppo", "return", config.task) for one in ("verco", "twosome"))

    def deviation_notes(self, config: VercoConfig) -> Sequence[str]:
        """Deviations from the published constants."""
        return trials.deviation_notes(config)

    def optimiser_steps(self, config: VercoConfig) -> str:
        """Optimiser steps of PPO, compared with those of the base method's release; Verco gives none."""
        steps = 4 * (500_000 // 128)  # of each 128 decisions
        who = "TWOSOME's release"
        return describe_optimiser_steps(config.learner, config.workers, config.budget_env_steps, steps, who)

    def as_loaded(self, config: VercoConfig) -> VercoConfig:
        """The configuration with recorded answers of the trial's folder: loading a run queries no chat model."""
        record = Path(config.chat.record)
        own = record.name if record.is_absolute() or ".." in record.parts else config.chat.record
        ours = EndpointSettings(), Budget()
        chat = dataclasses.replace(config.chat, backend="recall", record=own, endpoint=ours[0], budget=ours[1])
        return dataclasses.replace(config, chat=chat)

    def check(self, config: VercoConfig) -> None:
        """Check the chat model, if there is one."""
        trials.check(config)

    def prepare(self, config: VercoConfig, method: str, trial_folder: Path) -> None:
        """Copy the small language model into the trial's folder."""
        replay.save_model(config, method, trial_folder)

    def export(self, loaded: LoadedPolicy, folder: Path) -> Sequence[Path]:
        """The adapters in peft's format."""
        return replay.export(loaded, folder)

    def figures(self, run_folder: Path, trials: Trials) -> Sequence[Drawn]:
        """Curves, and an episode of each method with its messages."""
        return replay.draw(run_folder, trials)

    def video(self, loaded: LoadedPolicy, seed: int = SEED) -> Sequence[np.ndarray]:
        """An episode with messages, [H, W, 3] uint8 a step."""
        return replay.video(loaded, seed)

    def spectator(self, loaded: LoadedPolicy) -> replay.KitchenSpectator:
        """Shows each cook's observation as text."""
        return replay.KitchenSpectator(loaded)

    def test_world(self, config: VercoConfig, num_worlds: int, method: str = "") -> Salad:
        """The run's kitchen."""
        return make_world(config, num_worlds)

    def valid_world(self, config: VercoConfig, num_worlds: int) -> Salad:
        """The same."""
        return make_world(config, num_worlds)


EXPERIMENT = VercoSalad()

if __name__ == "__main__":
    sys.exit(main(EXPERIMENT))
