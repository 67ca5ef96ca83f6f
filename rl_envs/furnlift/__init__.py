"""FurnLift: two agents find a television and pick it up at the same env step (A Cordial Sync, section 2)."""
