"""Shared by all other folders: errors, atomic writes of files, and configurations as JSON and by dotted path."""
