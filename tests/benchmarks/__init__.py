"""How fast things are: `python -m tests.benchmarks`, or `make bench`.

A benchmark is a module here with `NAME` and `measure() -> list[Figure]`; `__main__` lists them.
"""
