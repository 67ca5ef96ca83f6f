"""Basis of all other folders: errors in one sentence, whole files, and configurations as JSON and by dotted path."""
