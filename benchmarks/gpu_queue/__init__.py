"""A queue of trainings and commands that is worked off in short stretches of a GPU, each on a bare machine.

`items.py` reads the queue, `running.py` runs a slice of an item, and `store.py` packs what must travel.
"""
