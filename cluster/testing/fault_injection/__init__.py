"""Fault drills: each breaks one thing while a cluster on this machine trains, and reports what that has cost."""
