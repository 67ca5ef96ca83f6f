"""Shared code of experiments on any environment: configuration, worlds, teams and evaluation."""
