"""The salad kitchen of Verco: two cooks who see little, move by errands and talk in words."""
