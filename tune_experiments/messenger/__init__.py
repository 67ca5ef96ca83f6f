"""What experiments on MESSENGER share: settings, rows, evaluation, tables and pictures."""
