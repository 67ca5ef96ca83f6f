"""SAMA: a planner that commands a team in words, whatever the game; each folder has one game for it."""
