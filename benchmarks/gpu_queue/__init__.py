"""A queue of training runs and commands for short GPU sessions, each on a bare machine.

`items.py` reads the queue, `running.py` runs a slice of an item, and `store.py` packs what must travel.
"""
