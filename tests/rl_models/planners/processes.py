"""Which processes of sandboxed rewards this process has started and not ended."""

import psutil

from rl_models.planners.sandbox.process import WORKER


def sandboxes():
    """Ids of those that live, or that nobody has waited for."""
    return {child.pid for child in psutil.Process().children(recursive=True) if _is_sandbox(child)}


def _is_sandbox(child):
    try:
        return str(WORKER) in child.cmdline() or child.status() == psutil.STATUS_ZOMBIE
    except psutil.NoSuchProcess:
        return False
