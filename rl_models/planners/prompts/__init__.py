"""Prompts of the planner's stages, in our own words, one text file a stage (`calling.render`)."""
