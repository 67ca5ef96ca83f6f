"""What the experiments of EnDi share on both worlds: settings, rows, evaluation, tables, videos with masks."""
