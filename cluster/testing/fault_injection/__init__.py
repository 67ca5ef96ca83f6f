"""Fault injection: each fault breaks one component while a cluster on this machine trains, and reports the cost."""
