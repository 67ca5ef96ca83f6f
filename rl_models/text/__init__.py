"""Text encoders, which turn sentences into one vector a token, and the cache of their encodings."""
