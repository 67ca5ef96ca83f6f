"""RED on MiniRTS: a team that follows commands in words, its commanders, and its stages of training."""
