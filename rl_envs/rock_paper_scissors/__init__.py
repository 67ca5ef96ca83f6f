"""The reading task of rock, paper and scissors with letters: which letter beats the dragon's is in the document."""
