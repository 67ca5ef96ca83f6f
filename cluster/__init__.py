"""Experiments on many machines: job submission, files for Kubernetes, Slurm and SSH, and a cluster on this machine.

Commands run from a checkout (`python -m cluster.submit ...`). Experiments are only referred to by name.
"""
