"""Shared code of EnDi's experiments on both worlds: settings, rows, evaluation, tables, videos with masks."""
