"""Workers are asked to end, as a supervisor asks them; and what they cost while nothing is due."""

import signal
import time
from datetime import UTC, datetime

from lab.scale import judge
from lab.scale.scene import Scene
from lab.scale.watcher import WORKERS, memory, processor

PATIENCE = 5.0  # seconds from SIGTERM until honcho kills
LIMIT = 60.0
IDLE = 10.0  # seconds


def stop_workers(scene: Scene, when: str) -> None:
    """SIGTERM; the time until the last one has ended, and that it ended well."""
    one = scene.installation
    asked_at = datetime.now(UTC)
    began, worker = time.monotonic(), {name: one.processes.pop(name) for name in WORKERS}
    for process in worker.values():
        process.send_signal(signal.SIGTERM)
    codes = {name: process.wait(LIMIT) for name, process in worker.items()}
    seconds = time.monotonic() - began
    what = f"workers end after SIGTERM, {when}"
    scene.result.figure(what, seconds, "s", below=PATIENCE, digits=1)
    scene.result.wrong += [f"{name} ended with {code}" for name, code in codes.items() if code]
    scene.result.wrong += judge.held(scene.url, asked_at)


def idle(scene: Scene) -> None:
    """See what workers and beat cost while nothing is due."""
    began = time.monotonic()
    pids = [scene.installation.processes[name].pid for name in (*WORKERS, "beat")]
    before = sum(processor(pid) for pid in pids)
    time.sleep(IDLE)
    used = sum(processor(pid) for pid in pids) - before
    share = 100 * used / (time.monotonic() - began)
    scene.result.figure("processor of the workers and beat, idle", share, "% of a core", digits=1)
    held = sum(memory(pid) for pid in pids)
    scene.result.figure("memory of the workers and beat, idle", held, "MiB")
    left = scene.redis.waiting()
    scene.result.figure("messages at the broker, idle", left, "messages", below=20)
