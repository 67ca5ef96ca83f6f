"""What the experiments share: command line, run folder, logs, results, tables, plots, videos."""
