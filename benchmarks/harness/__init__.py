"""What the benchmarks share: measurements, clocks, a profiler and the timed loops."""
