"""What a larger installation needs, reckoned from measured costs: `python -m lab.model`.

`measure` measures the costs on this machine and writes costs.json; `growth` is the model, which
reads no file and asks no clock; `page` writes its figures into docs/sizing.md.
"""
