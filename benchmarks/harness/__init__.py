"""Shared code of the benchmarks: measurements, clocks, a profiler and the timed loops."""
