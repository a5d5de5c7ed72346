"""A task that takes as long as one says: real workers of a test load it beside our own."""

import os
import time
from pathlib import Path

from celery import shared_task


@shared_task(name="tests.slow")
def slow(seconds: float, folder: str) -> None:
    """Leave a file with the name of the worker's process group, and take the time."""
    Path(folder, str(os.getpgrp())).touch()
    time.sleep(seconds)
