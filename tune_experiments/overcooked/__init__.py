"""Shared code of the experiments in Overcooked: settings, methods, evaluation, tables and figures."""
