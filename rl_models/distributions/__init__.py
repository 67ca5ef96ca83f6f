"""Distributions over joint actions of a team."""
