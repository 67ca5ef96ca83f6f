"""Layers that networks and heads share: initialisation, embeddings, recurrence, attention, convolutions, messages."""
