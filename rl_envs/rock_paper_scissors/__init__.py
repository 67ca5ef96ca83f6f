"""The rock-paper-scissors reading task: the document says which letter beats the dragon's letter."""
