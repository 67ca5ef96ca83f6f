"""SAMA: a planner that gives a team commands as text; one folder for each game."""
