"""The salad kitchen of Verco: two cooks with limited sight, macro actions and messages in natural language."""
