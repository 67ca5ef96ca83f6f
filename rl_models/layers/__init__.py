"""Building blocks without opinions: initialisation, embeddings, recurrence, communication."""
