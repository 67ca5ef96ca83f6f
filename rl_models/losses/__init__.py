"""Losses and return estimates: pure functions of distributions, actions, advantages and masks."""
