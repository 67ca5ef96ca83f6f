"""The frozen lake for SAMA's planner: sub-goals, rules in the place of a language model, play in rounds."""
