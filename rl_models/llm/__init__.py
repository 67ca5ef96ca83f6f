"""Language-model policies: one causal language model whose adapters write messages and score actions (Verco)."""
