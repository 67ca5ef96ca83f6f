"""MESSENGER: entities without names, and a manual that says which of them is the enemy, the message and the goal."""
