"""What every room stands on: errors in one sentence, whole files, and configurations as JSON and by dotted path."""
