"""python examples/tied.py PID COMMAND…: run a command that ends with the process that started it.

It ends even if that process is killed with -9 and cannot stop it. This works only on Linux; on
other systems the command runs without it.
"""

import contextlib
import ctypes
import os
import signal
import sys

PR_SET_PDEATHSIG = 1


def main(parent: int, command: list[str]) -> None:
    """Replace this process with the command."""
    with contextlib.suppress(OSError, AttributeError):  # not Linux
        ctypes.CDLL(None).prctl(PR_SET_PDEATHSIG, signal.SIGTERM)
    if os.getppid() == parent:  # else the parent died before the call above
        os.execvp(command[0], command)  # noqa: S606 - its arguments are ours


if __name__ == "__main__":
    main(int(sys.argv[1]), sys.argv[2:])
