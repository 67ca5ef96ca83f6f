"""How an experiment runs on many machines: job submission, a cluster on this machine for trying, fault drills.

It is run from a checkout (`python -m cluster.submit ...`) and knows experiments by name alone.
"""
