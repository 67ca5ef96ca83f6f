"""Trainers of others beside ours on one game; they live in environments of their own, and `make bench` skips them."""
