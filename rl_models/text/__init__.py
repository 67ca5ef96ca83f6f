"""Text encoders and what they keep: from sentences to one vector a token."""
