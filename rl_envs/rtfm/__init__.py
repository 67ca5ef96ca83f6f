"""Read to Fight Monsters: a grid of monsters and items, and a document of the items that beat the monsters."""
