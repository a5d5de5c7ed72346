"""What a scene consists of, for those who act in all of it."""

from dataclasses import dataclass
from pathlib import Path

from lab.world.chat import Chat
from lab.world.deliveries import Deliveries
from lab.world.feeds import Feeds
from lab.world.judge import Judge
from lab.world.mail import MailServer
from lab.world.neighbour import Neighbour
from lab.world.platform import Platform
from lab.world.receiver import Receiver
from lab.world.scheduler import Scheduler
from lab.world.wires import Wires


@dataclass(frozen=True)
class Parts:
    """The parts of one scene.

    Attributes:
        folder: in which the processes run.
    """

    world: Scheduler
    judge: Judge
    wires: Wires
    platform: Platform
    neighbour: Neighbour
    receiver: Receiver
    chat: Chat
    feeds: Feeds
    deliveries: Deliveries
    mail: MailServer
    folder: Path

    def unsettled(self) -> list[str]:
        """Return what is still to be done, or differs, in both workspaces."""
        return self.judge.unsettled() or self.neighbour.unsettled()
