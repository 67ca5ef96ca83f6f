"""The salad kitchen of Verco: two cooks who see little, move by subtasks and talk in words."""
