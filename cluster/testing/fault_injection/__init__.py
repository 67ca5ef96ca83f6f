"""Fault injection: each fault breaks one thing while a cluster on this machine trains, and reports what that cost."""
