"""Language minds: one causal language model whose adapters write messages and weigh actions (Verco)."""
