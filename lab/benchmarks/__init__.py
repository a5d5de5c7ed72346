"""How fast things are: `python -m lab.benchmarks [NAME …]`, or `make bench`.

A benchmark is a module here with `NAME` and `measure()`, which yields each `Figure` as soon as it
is known; `__main__` lists them. What cannot be measured on a machine is told by `figures.skipped`.
"""
