"""Shared code of EnDi's experiments on both worlds: settings, methods, evaluation, tables, videos with masks."""
