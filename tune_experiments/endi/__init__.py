"""What the experiments of EnDi share on both worlds: settings, rows, evaluation, tables, films with masks."""
