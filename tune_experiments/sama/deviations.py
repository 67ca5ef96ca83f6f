"""What a run changes against the paper, one sentence each."""

from __future__ import annotations

from tune_experiments.results.differences import differences
from tune_experiments.sama.config import RULES, SamaConfig
from tune_experiments.sama.trials import UNPLANNED

_COMPARED = {
    "learner.learning_rate": "learning rate",
    "learner.gamma": "discount",
    "network.features": "width of symbols and words",
    "max_episode_steps": "env steps of an episode",
    "test_episodes": "episodes of a test",
    "reward_source": "rewards written by",
    "encoder.name": "text encoder",
    "is_greedy": "most likely actions in tests",
}


def deviations(config: SamaConfig, published: SamaConfig) -> list[str]:
    """Compare with the preset that has the paper's constants."""
    notes = ["the paper gives no numbers for its figures, and neither budget nor network sizes"]
    planned = [f"planner: {planner_in_words(config)}"] if set(config.methods) - set(UNPLANNED) else []
    counting = ["soups within the env steps of all rounds, undone ones too; the paper leaves undone ones out"]
    return [*planned, *notes, *(counting if planned else []), *differences(config, published, _COMPARED).values()]


def planner_in_words(config: SamaConfig) -> str:
    """Who plans in a run."""
    if config.planner not in RULES:
        how = "recorded answers of" * (config.planner == "replay")
        return f"{how} the language model {config.model.name}, the paper names GPT-3.5 and GPT-4".strip()
    errs = f", which err on purpose ({config.noise})" if config.planner == "noisy" else ""
    return (
        f"rules, written by hand (tuned worths, exhaustive search over structured state){errs}; prompts, manual and "
        "shots do not reach them; the paper has a language model"
    )
