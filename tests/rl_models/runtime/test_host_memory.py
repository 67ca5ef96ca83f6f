"""Memory of freed tensors stays with the process that trains."""

import subprocess
import sys

import pytest

from rl_models.runtime import host_memory

PROGRAM = """
import resource, torch
from rl_models.runtime.host_memory import keep_freed_memory
assert keep_freed_memory()

def pages(turns):
    before = resource.getrusage(resource.RUSAGE_SELF).ru_minflt
    for _ in range(turns):
        [torch.ones(1_000_000) for _ in range(8)]
    return resource.getrusage(resource.RUSAGE_SELF).ru_minflt - before

pages(2)
print(pages(10))
"""


@pytest.mark.slow
@pytest.mark.processes
@pytest.mark.skipif(not host_memory.keep_freed_memory(), reason="the C library is not glibc")
def test_tensors_of_some_megabytes_take_the_pages_of_those_before():
    """80 tensors of 4 MB have 80,000 pages, and each was asked for anew before."""
    done = subprocess.run([sys.executable, "-c", PROGRAM], capture_output=True, text=True, check=True)
    assert int(done.stdout) < 8_000
