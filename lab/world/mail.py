"""The mail server of the scene, and the people to whom we send mail."""

from collections.abc import Sequence
from datetime import datetime
from email import message_from_bytes, policy
from smtplib import SMTPResponseException

from django.conf import settings
from django.core.mail.backends.base import BaseEmailBackend
from django.core.mail.message import EmailMessage

from lab.world import runtime
from lab.world.judge import Judge
from lab.world.mail_judge import EVERY
from lab.world.network import Delivery
from lab.world.process import Answer, Environ, point
from lab.world.scheduler import Scheduler, Thread
from tests.wsgi import refuse_in_a_transaction

HOST = "mail.test"
BACKEND = f"{__name__}.Backend"
READERS = ("first@crm.test", "second@crm.test")  # the second one changes their mind
TAKEN = "250 OK"
NIGHT = EVERY.total_seconds()  # the machine sleeps from one mail to the next
REFUSALS = ("421 No", "451 No", "550 No")
REMINDED = 8  # o'clock, from which the first reader is reminded of what is on the next day


def make_readers(now: datetime) -> None:
    """Make people who want mail of all news since then, and of alarms and appointments."""
    from django.contrib.auth.models import User

    from orders.calendar import reminders

    for address in READERS:
        User.objects.create_superuser(address.partition("@")[0], address)
        choose(address, wanted=True, now=now)
    reminders.choose(User.objects.get(email=READERS[0]), hour=REMINDED, now=now)


def choose(address: str, *, wanted: bool, now: datetime) -> None:
    """Let a reader want mail of all news from then on, or of none; of alarms in any case."""
    from django.contrib.auth.models import User

    from crm_sync.models import AlarmKind
    from orders.models.news import News
    from orders.people import preferences

    preferences.choose(
        User.objects.get(email=address),
        kinds=list(News) if wanted else (),
        alarms=list(AlarmKind),
        only_mine=False,
        time_zone="UTC",
        language="en",
        now=now,
    )


class Backend(BaseEmailBackend):
    """Gives the mails of a process to the scheduler."""

    def send_messages(self, email_messages: Sequence[EmailMessage]) -> int:
        """Send them, or raise what the backend for SMTP does."""
        for mail in email_messages:
            refuse_in_a_transaction(f"a mail to {mail.to}")
            end = runtime.here.now + settings.EMAIL_TIMEOUT if runtime.here else 0.0
            content = mail.message().as_bytes(linesep="\r\n")
            answer = point("call", ({"SERVER_NAME": HOST}, content), end)
            if answer is None:
                raise TimeoutError("the mail server does not answer")
            code, _, text = answer[0].partition(" ")
            if answer[0] != TAKEN:
                raise SMTPResponseException(int(code), text)
        return len(email_messages)


class MailServer:
    """It takes each mail.

    Attributes:
        is_mute: whether nobody hears that it has.
    """

    def __init__(self, world: Scheduler, judge: Judge) -> None:
        self.world, self.judge, self.is_mute = world, judge, False

    def receive(self, name: str, thread: Thread, environ: Environ, content: bytes) -> Delivery:
        """See `Host`."""
        mail = message_from_bytes(content, policy=policy.default)
        left = self.judge.mails.leaves(str(mail["To"]))

        def serve() -> Answer:
            self.judge.mails.taken(mail, left)
            return TAKEN, [], b""

        def refuse(decision: str) -> Answer:
            return self.world.choose(decision, REFUSALS), [], b""

        what = f"the mail to {mail['To']} of {thread.name}"
        # A world has few mails.
        return Delivery(what, 0.05, serve, refuse, is_mute=self.is_mute, often=5)
