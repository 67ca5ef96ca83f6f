"""Text encoders, which turn sentences into one vector per token, and the cache of their encodings."""
