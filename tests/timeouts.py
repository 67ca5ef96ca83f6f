"""How long a test waits for what must come: one bound for all, generous on a machine with many other things to do.

A test waits for an event, such as a file, a line of output or a lock that is asked for, and goes on as soon as it
comes. The bound only ends a test whose event never comes; it says nothing about speed, and none is asserted.
"""

TIMEOUT_SECONDS = 1200.0
"""Below the `--timeout 1500` of a run beside busy loops; in an ordinary run pytest's own limit comes first."""
