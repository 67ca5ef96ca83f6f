"""SAMA in Overcooked: chefs who learn to do what they are told, and the planner that tells them."""
