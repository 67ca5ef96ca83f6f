"""What experiments on environments of others share: their configuration, worlds, teams and evaluation."""
