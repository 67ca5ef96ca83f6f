"""PPO, IMPALA and QMIX: objectives, optimiser, replay."""
