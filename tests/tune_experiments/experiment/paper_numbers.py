"""Numbers that the papers print, by experiment and setting of its preset `paper`.

Only what a text prints is here; what it leaves open is the preset's own. Readings: EnDi and SAMA print a learning rate
of 5 x 10^5, and both an epsilon of 0.01, which may be PPO's clipping range.
"""

COORDINATED = {
    "max_episode_steps": 250,
    "workers.env_steps_at_once": 45,
    "learner.gamma": 0.99,
    "marginal.learning_rate": 1e-4,
    "sync.learning_rate": 1e-4,
    "central.learning_rate": 1e-4,
}
MOVED = COORDINATED | {"cordial.start": 1.0, "cordial.floor": 0.01, "cordial.decline_optimiser_steps": 25_000}
"""A Cordial Sync, appendix A.3."""

READ = {
    "task.max_episode_steps": 1_000,
    "workers.fragment_length": 80,
    "learner.algorithm": "impala",
    "learner.optimiser": "rmsprop",
    "learner.optimiser_epsilon": 0.01,
    "learner.learning_rate": 0.005,
    "learner.gamma": 0.99,
    "learner.entropy_coef": 0.005,
    "learner.value_coef": 0.5,
}
RTFM = READ | {
    "workers.env_steps_at_once": 24,
    "learner.final_learning_rate_share": 0.0,
    "network.channels": (16, 32, 64, 64, 64),
    "network.document_hidden_size": 100,
    "network.goal_hidden_size": 10,
    "network.inventory_hidden_size": 10,
}
SIMPLEST = RTFM | {"network.word_features": 30, "budget_env_steps": 100_000_000}
STAGES = RTFM | {"first_stage_env_steps": 100_000_000, "budget_env_steps": 50_000_000}
"""RTFM, appendices C and D."""

ENDI_RTFM = READ | {
    "workers.runners": 10,
    "workers.env_steps_at_once": 20,
    "annealing_env_steps": 100_000_000,
    "first_stage_env_steps": 15_000_000,
    "budget_env_steps": 50_000_000,
}
ENDI_MESSENGER = {
    "learner.learning_rate": 5e-5,
    "learner.clip_range": 0.01,
    "learner.gamma": (0.99, 0.99, 0.99),
    "first_stage_env_steps": 30_000_000,
    "budget_env_steps": 50_000_000,
}
"""EnDi, appendix B."""

EMMA = {"learner.learning_rate": 5e-5, "learner.num_minibatches": (1, 1, 1), "encoder.name": "bert-base-uncased"}
"""EMMA's released code."""

SAMA = {
    "learner.learning_rate": 5e-5,
    "learner.gamma": 0.99,
    "learner.clip_range": 0.01,
    "max_episode_steps": 400,
    "encoder.name": "bert-base-uncased",
    "model.name": "GPT-3.5 and GPT-4",
}
RED = {
    "learner.gamma": 0.999,
    "learner.peak_learning_rate": 5e-5,
    "learner.warm_up_share": 300 / 1_500,
    "learner.num_minibatches": 4,
    "cloning.learning_rate": 2e-4,
    "iterations": 15,
    "updates": 100,
}
"""SAMA, appendix E."""

ROLES = {
    "roles.optimiser": "rmsprop",
    "roles.learning_rate": 5e-4,
    "roles.gamma": 0.99,
    "roles.max_grad_norm": 10.0,
    "roles.batch_size": 32,
    "roles.buffer_size": 5000,
    "roles.update_target_every_updates": 200,
    "roles.exploration_env_steps": 50_000,
    "roles.exploration_final_epsilon": 0.05,
}
"""Released code of QMIX, ROMA, LDSA and MASER."""
QMIX = {path.replace("roles.", "qmix."): number for path, number in ROLES.items() if path != "roles.gamma"}

PAPERS = {
    "endi_messenger": ENDI_MESSENGER,
    "endi_rtfm": ENDI_RTFM | QMIX,
    "endi_rtfm_generalisation": ENDI_RTFM,
    "endi_three_agents": ENDI_RTFM,
    "furnlift": COORDINATED | {"warm_start.decline_episodes": 10_000},
    "furnmove_communication": {f"training.{path}": value for path, value in MOVED.items()},
    "furnmove_cordial": MOVED,
    "furnmove_methods": MOVED,
    "furnmove_mixture_size": MOVED,
    "furnmove_sync": MOVED,
    "furnmove_three_agents": MOVED,
    "furnmove_visual": MOVED,
    "matrix_game": {},
    "messenger_emma": EMMA,
    "overcooked_roles": ROLES,
    "overcooked_selfplay": {},
    "red_minirts": RED,
    "rtfm_curriculum": STAGES,
    "rtfm_generalisation": STAGES,
    "rtfm_rock_paper_scissors": RTFM | {"budget_env_steps": 50_000_000, "learner.final_learning_rate_share": 0.5},
    "rtfm_txt2pi": SIMPLEST,
    "sama_ablations": SAMA,
    "sama_frozen_lake": {},
    "sama_minirts": {"test_episodes": 100},
    "sama_overcooked": SAMA,
    "verco_messages": {},
    "verco_salad": {},
}
"""Empty where the paper prints no setting, or, for self-play, a range for each kitchen."""
