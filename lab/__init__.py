"""What measures and tries the whole: benchmarks, load that fails, and bugs planted on purpose."""
