"""MESSENGER: entities without names, and a manual that says which one is the enemy, the message and the goal."""
