"""What the experiments in Overcooked share: settings, rows, evaluation, tables and pictures."""
