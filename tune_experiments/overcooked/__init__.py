"""Shared code of the experiments in Overcooked: settings, rows, evaluation, tables and figures."""
