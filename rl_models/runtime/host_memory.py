"""Keeps the memory of freed tensors in the process, for reuse.

torch asks the C library for the memory of tensors on the CPU. glibc gives large blocks back to the kernel when they are
freed, and the kernel fills each page with zeros when it is used again. A network that makes many tensors of some
megabytes pays for that in every minibatch: the mention-matching reader with a tenth to a fifth of its CPU time. The
process keeps at most its peak memory, and blocks of more than 32 MB, such as weights of language models, are still
returned.
"""

import ctypes
import sys

_MEGABYTE = 2**20
_TRIM_THRESHOLD, _TOP_PAD, _MMAP_THRESHOLD = -1, -2, -3
"""Numbers of glibc's parameters for `mallopt`."""
_VALUES = {
    _MMAP_THRESHOLD: 32 * _MEGABYTE,  # the largest value that glibc accepts
    _TRIM_THRESHOLD: 256 * _MEGABYTE,
    _TOP_PAD: 64 * _MEGABYTE,
}


def keep_freed_memory() -> bool:
    """Let this process keep the memory of freed tensors; True if its C library can (glibc)."""
    if not sys.platform.startswith("linux"):
        return False
    mallopt = getattr(ctypes.CDLL(None), "mallopt", None)
    # musl has the function too, but it always fails.
    return mallopt is not None and all(mallopt(number, value) == 1 for number, value in _VALUES.items())
