"""Run a command and say what it used: `python -m lab.benchmarks.usage COMMAND …`.

The kernel counts to a process the memory of whoever started it, as it was when the command began.
So a command is measured from here, where there is next to none.
"""

import json
import resource
import subprocess
import sys
import time


def main(command: list[str]) -> int:
    """Print seconds, those of the processor, and peak in MiB of the largest, as the last line."""
    began = time.monotonic()
    code = subprocess.call(command, stderr=subprocess.STDOUT)
    seconds = time.monotonic() - began
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    print(json.dumps([seconds, used.ru_utime + used.ru_stime, used.ru_maxrss / 1024]))
    return code


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
