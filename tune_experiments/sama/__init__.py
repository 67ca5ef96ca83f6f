"""SAMA in Overcooked: chefs who learn to follow commands, and the planner that gives them."""
