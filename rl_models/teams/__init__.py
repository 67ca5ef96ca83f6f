"""Ready-made teams: functions that build a network with its heads."""
