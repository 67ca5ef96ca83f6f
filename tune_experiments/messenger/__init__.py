"""Shared code of experiments on MESSENGER: settings, methods, evaluation, tables and figures."""
