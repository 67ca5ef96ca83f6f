"""Shared code of experiments on MESSENGER: settings, rows, evaluation, tables and figures."""
