"""The frozen lake for SAMA's planner: sub-goals, rules instead of a language model, the play loop."""
