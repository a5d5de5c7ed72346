"""python examples/tied.py PID COMMAND…: run a command that ends with the process that started it.

Also when that one is killed with -9 and can stop nothing itself. Only Linux can do that; elsewhere
the command runs all the same.
"""

import contextlib
import ctypes
import os
import signal
import sys

PR_SET_PDEATHSIG = 1


def main(parent: int, command: list[str]) -> None:
    """Become the command."""
    with contextlib.suppress(OSError, AttributeError):  # no Linux
        ctypes.CDLL(None).prctl(PR_SET_PDEATHSIG, signal.SIGTERM)
    if os.getppid() == parent:  # else it died before we were tied to it
        os.execvp(command[0], command)  # noqa: S606 - its arguments are ours


if __name__ == "__main__":
    main(int(sys.argv[1]), sys.argv[2:])
