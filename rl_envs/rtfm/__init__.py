"""Read to Fight Monsters: a grid of monsters and items, and a document that says which item beats which monster."""
