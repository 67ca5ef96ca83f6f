"""MESSENGER: entities without names, and a manual that describes the enemy, the message and the goal."""
