"""Benchmarks of speed: `make bench`, or `python -m benchmarks --only furnmove`.

Every other file in this folder is one part, whose `measure()` yields measurements. A new part is a new file.
"""
