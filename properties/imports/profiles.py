"""The profiles with which readers read the feeds of senders."""

from collections.abc import Iterable
from dataclasses import replace
from pathlib import Path

from django.conf import settings
from django.db.models import Q

from crm_sync.models import Workspace
from properties.feeds import FULL_FEEDS, IDX, Profile, full_feed_format
from properties.feeds.idx import object_reference
from properties.models import Property, Sender


def profile_of(sender: Sender | None) -> Profile:
    """Return the profile of a sender; without a sender, the defaults."""
    if sender is None:
        return Profile(zone=settings.TIME_ZONE)
    return Profile(
        zone=settings.TIME_ZONE,
        language=sender.language,
        reference=sender.reference,
        flags=sender.flags,
        sheet=sender.sheet,
        header_row=sender.header_row,
        columns=sender.columns,
        lenient=sender.lenient,
    )


def profile_for(workspace: Workspace, path: Path, sender: Sender | None) -> Profile:
    """Return the profile for a file: the sender's, with the IDX rule that gave the known names.

    Raises:
        NotAFeed: the file is in no format of ours.
    """
    profile = profile_of(sender)
    if profile.reference != object_reference.AUTO or full_feed_format(path) != IDX:
        return profile
    return replace(profile, reference=object_reference.rule_of(_names(workspace, sender)))


def _names(workspace: Workspace, sender: Sender | None) -> Iterable[str]:
    """Return the references of the properties that came from a sender.

    If the sender has none yet, use properties from feeds without a sender, and properties that
    feeds had once and lack now.
    """
    fed = Property.objects.filter(workspace=workspace, object_reference_id__isnull=False)
    names = fed.values_list("object_reference_id", flat=True)
    mine = names.filter(fed_by=sender.feed_key) if sender else names.none()
    if not mine.exists():
        let_go = Q(fed_by=None) & ~Q(fed_digest="")
        mine = names.filter(Q(fed_by__in=FULL_FEEDS) | let_go)
    return (str(name) for name in mine.iterator())
