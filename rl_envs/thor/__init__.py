"""FurnMove in AI2-THOR: our rules with Unity's frames, and rooms exported from its scenes (extra `thor`)."""
