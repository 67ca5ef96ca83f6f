"""Shared code of experiments on environments of others: configuration, worlds, teams and evaluation."""
