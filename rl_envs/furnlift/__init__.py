"""FurnLift: two agents find a television and pick it up at the same moment (A Cordial Sync, section 2)."""
