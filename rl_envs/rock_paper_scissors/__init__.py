"""The rock-paper-scissors reading task: the document names the letter that beats the dragon's letter."""
