"""What is measured, with the command that measures it: `make bench`, or `python -m benchmarks --only furnmove`.

Every other file in this folder is a part: `measure()` yields its figures. A new part is a new file.
"""
