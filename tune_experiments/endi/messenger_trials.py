"""Training run of a method in MESSENGER, built from settings: its team, its losses, its tests."""

import functools

from rl_envs.messenger.symbols import ACTIONS, AVATARS, SIDE, SYMBOLS
from rl_models.losses.extra_loss import ExtraLoss
from rl_models.losses.grounding import GroundingLoss
from rl_models.networks.emma_body import EmmaSizes
from rl_models.networks.entity_divider_emma import DividedEmmaConfig
from rl_models.policy import TeamPolicy
from rl_models.schedule import Schedule
from rl_models.teams.emma_team import EmmaTeamConfig, emma_team
from rl_models.teams.endi_team import silg_entities_team
from tune_experiments.endi.division import is_divided, make_evaluation, make_losses
from tune_experiments.endi.messenger_config import EndiMessengerConfig
from tune_experiments.experiment.curriculum import Curriculum
from tune_experiments.experiment.plan import Episodes, Tests
from tune_experiments.messenger import evaluation
from tune_experiments.messenger.config import GROUNDED, corpus_of_run
from tune_experiments.messenger.evaluation import Way, WithRandomMoves
from tune_experiments.messenger.trials import MethodParts, make_encoder, plan_stages, training_sentences

ATTENTION = tuple(f"network*.{part}.*" for part in ("reader.key_score", "reader.key_projection", "body.symbols"))
"""Parameters that the release freezes after the first stage; symbols of the goal are still trained."""


def plan(config: EndiMessengerConfig, method: str, seed: int) -> Curriculum:
    """The stages of one method with one seed."""
    row = MethodParts(
        build_policy=functools.partial(build_policy, config, method, seed),
        extra_losses=extra_losses(config, method),
        attention=ATTENTION if method != "silg" else (),
        chosen_by="win_rate" if config.weights == "validated" else None,
        evaluate=evaluate,
        validate=validate,
    )
    return plan_stages(config, row, seed)


def build_policy(config: EndiMessengerConfig, method: str, seed: int) -> TeamPolicy:
    """The team of one method with its initial weights."""
    sizes = EmmaSizes(config.num_agents, len(SYMBOLS), len(AVATARS), SIDE, moments=config.frames)
    encoder, shares = functools.partial(make_encoder, config), config.division.shares_network
    if method == "silg":  # with word vectors of its own for all sentences, and those of training
        sentences = corpus_of_run(config)[0].sentences, training_sentences(config)
        return silg_entities_team(config.silg, sizes, len(ACTIONS), sentences, shares, seed)
    if not is_divided(method):
        return emma_team(EmmaTeamConfig(config.network, shares_network=shares), sizes, len(ACTIONS), encoder, seed)
    network = DividedEmmaConfig(
        config.network,
        config.goal_features,
        # The contrastive loss grounds the policy's symbols; as the divider uses them, it is grounded, too.
        has_own_goal_table=not method.endswith(GROUNDED),
        models_others=make_losses(_variant(method), config.division).modelling_coef > 0,
    )
    return emma_team(EmmaTeamConfig(network, shares_network=shares), sizes, len(ACTIONS), encoder, seed)


def extra_losses(config: EndiMessengerConfig, method: str) -> tuple[ExtraLoss, ...]:
    """Losses of a method's teams besides PPO's."""
    found: tuple[ExtraLoss, ...] = ()
    if is_divided(method):
        found += make_losses(_variant(method), config.division).extra_losses()
    if method.endswith(GROUNDED):
        # The loss is a mean over agents; all others are sums over independent agents.
        found += (GroundingLoss(Schedule.constant(config.learner.grounding_coef * config.num_agents)),)
    return found


def evaluate(config: EndiMessengerConfig, stage: int, policy: TeamPolicy) -> Tests:
    """Tests of `messenger.evaluation.evaluate`."""
    return evaluation.evaluate(config, stage, policy, _way(config))


def validate(config: EndiMessengerConfig, stage: int, policy: TeamPolicy) -> Episodes:
    """Metrics in games and sentences of the validation split."""
    return evaluation.validate(config, stage, policy, _way(config))


def _way(config: EndiMessengerConfig) -> Way:
    return functools.partial(make_evaluation, config.division, WithRandomMoves)


def _variant(method: str) -> str:
    return method.removesuffix(GROUNDED)
