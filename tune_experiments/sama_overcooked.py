"""SAMA in Overcooked: a planner gives sub-goals as text to two chefs that have learned to reach them (figures 4 and 5).

    python tune_experiments/sama_overcooked.py --preset kitchens --seeds 0 1 2   # the table: all five kitchens
    python tune_experiments/sama_overcooked.py                               # laptop: cramped_room, offline planner
    python tune_experiments/sama_overcooked.py --tasks coordination_ring forced_coordination --methods sama
    python tune_experiments/sama_overcooked.py --planner noisy --reflections 1
    python tune_experiments/sama_overcooked.py --planner openai --model.name NAME     # OPENAI_BASE_URL, OPENAI_API_KEY
    python tune_experiments/sama_overcooked.py --manual PAPER.tex            # rules from a paper about the game
    python tune_experiments/sama_overcooked.py --methods sama --fine-tuning.rounds 2 # trains again on visited states
    python tune_experiments/sama_overcooked.py --preset smoke                # under 2 minutes, learns nothing

The default planner is a set of hand-written rules without a language model. Diverse states are generated and sub-goals
planned for them; a team learns by PPO to reach its sub-goals, given as text; then it plays whole episodes with the
planner, which reflects at most three times after a failed round. (In the preset `kitchens` it never reflects, and each
team is also tested with random commands, with reflections and with retries.) Methods: `sama`; `rules_scripted`, the
same rules with scripted chefs, without learning; `blind`, `sama`'s team without commands, the control for the use of
words; `mappo`, the same network trained on the game itself, whole episodes for soups and shaped points, without text
and planner; `selfplay`, for as many env steps. One policy a kitchen. `sama_retest.py` tests the teams of a run again.
Transcripts of all calls, goals and reflections are in the run folder, `transcripts/`.
"""

import dataclasses
import sys

from rl_envs.overcooked.layouts import LAYOUTS
from rl_models.chat.chat_settings import ChatSettings
from rl_models.chat.meter import Budget
from rl_models.networks.network_config import SamaNetworkConfig
from rl_models.rllib.workers import Workers
from rl_models.text.choice import BERT, TextEncoderConfig
from tune_experiments.launch.experiment import main
from tune_experiments.sama.overcooked.base_experiment import SamaExperiment
from tune_experiments.sama.overcooked.config import SamaConfig
from tune_experiments.sama.planner_config import ModelSettings

LAPTOP = SamaConfig()
KITCHENS = dataclasses.replace(
    LAPTOP,
    methods=("sama", "blind", "mappo", "selfplay"),
    tasks=tuple(LAYOUTS),
    reflections=0,
    also_tests=("random_commands", "reflections", "retries"),
    budget_env_steps=120_000,
    validate_every_env_steps=15_000,
    checkpoint_every_env_steps=15_000,
)
SMOKE = dataclasses.replace(
    LAPTOP,
    methods=("sama", "mappo", "selfplay"),
    network=SamaNetworkConfig(features=8, channels=(4, 4), hidden_size=16),
    encoder=TextEncoderConfig(word_features=8),
    states=20,
    workers=Workers(worlds_per_runner=8, fragment_length=20),
    round_steps=20,
    max_episode_steps=60,
    budget_env_steps=320,
    validate_every_env_steps=160,
    valid_episodes=8,
    checkpoint_every_env_steps=160,
    test_episodes=2,
)
PAPER = dataclasses.replace(
    LAPTOP,
    tasks=tuple(LAYOUTS),
    planner="openai",
    model=ModelSettings(chat=ChatSettings(budget=Budget(max_calls=150_000, max_tokens=150_000_000))),
    reward_source="code",
    encoder=TextEncoderConfig(name=BERT),
    network=SamaNetworkConfig(features=256, channels=(64, 64), hidden_size=128),
    learner=dataclasses.replace(
        LAPTOP.learner,
        learning_rate=5e-5,
        final_learning_rate_share=1.0,
        gamma=0.99,
        entropy_coef=0.01,
        final_entropy_coef=0.01,
    ),
    states=5_000,
    budget_env_steps=5_000_000,
    validate_every_env_steps=100_000,
    checkpoint_every_env_steps=100_000,
)
"""Settings of the paper, which prints the learning rate as 5 x 10^5; BERT is downloaded on first use. The budget is
ours, for one seed (about 92,000 calls)."""
PRESETS = {"smoke": SMOKE, "laptop": LAPTOP, "kitchens": KITCHENS, "paper": PAPER}


class SamaOvercooked(SamaExperiment):
    """SAMA, the same without commands, its rules with scripted chefs, and two methods that learn the game."""

    name = "sama_overcooked"
    caption = "SAMA in Overcooked"
    presets = PRESETS
    columns = {"completed": "valid/completed", "reached": "episode/reached", "soups": "valid/soups"}


EXPERIMENT = SamaOvercooked()

if __name__ == "__main__":
    sys.exit(main(EXPERIMENT))
