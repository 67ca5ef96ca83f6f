"""Networks: from observations to features and recurrent state, independent of heads, losses and algorithms."""
