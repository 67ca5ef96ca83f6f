"""AI2-THOR beside FurnMove: our rules with Unity's pictures, and rooms exported from its scenes (extra `thor`)."""
