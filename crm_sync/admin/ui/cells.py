"""The contents of cells of admin screens: badges, moments, links. All is escaped (S18)."""

from datetime import UTC, datetime, timedelta
from urllib.parse import urlsplit

from django.db.models import Model
from django.urls import NoReverseMatch, reverse
from django.utils import timezone
from django.utils.html import format_html
from django.utils.safestring import SafeString
from django.utils.translation import gettext as _

from crm_sync.sentence import said
from crm_sync.translated import ago, day_in_words, minute_in_words, second_in_words, span

EMPTY = "—"
TONES = frozenset({"good", "info", "warning", "danger", "muted"})  # as in `crm_sync.hooks.Tile`
SOON = timedelta(days=30)  # beyond that a date is clearer than a number of days


def badge(text: object, tone: str = "muted") -> SafeString:
    """Show a state, always with text and colour."""
    tone = tone if tone in TONES else "muted"
    return format_html('<span class="cs-badge cs-{}">{}</span>', tone, text)


def moment(at: datetime | None, now: datetime) -> SafeString | str:
    """Show a moment relative to now, and on hover the absolute one, in the viewer's time zone."""
    if at is None:
        return EMPTY
    return format_html(
        '<time class="cs-time" datetime="{}" title="{}">{}</time>',
        at.astimezone(UTC).isoformat(timespec="seconds"),
        exact(at),
        _relative(at, now),
    )


def exact_moment(at: datetime | None, now: datetime) -> SafeString | str:
    """Show an absolute moment with the relative one beside it, for pages with enough room."""
    if at is None:
        return EMPTY
    return format_html(
        '<span class="cs-time">{} <span class="cs-subtle">({})</span></span>',
        exact(at),
        _relative(at, now),
    )


def exact(at: datetime) -> str:
    """Return a moment to the second, with the name of the viewer's time zone."""
    return second_in_words(timezone.localtime(at))


def local_time(at: datetime) -> str:
    """Return a moment as in an appointment, with the name of the viewer's time zone.

    A zone other than the default of the installation gets its full name, so that colleagues do not
    mistake it.
    """
    there, zone = timezone.localtime(at), timezone.get_current_timezone_name()
    is_usual = zone == timezone.get_default_timezone_name()
    return f"{minute_in_words(there)}{'' if is_usual else f' ({zone})'}"


def _relative(at: datetime, now: datetime) -> str:
    distance = abs(now - at)
    if distance > SOON:
        return day_in_words(timezone.localtime(at))
    if at < now or distance < timedelta(seconds=1):
        return ago(distance)
    return _("in %(span)s") % {"span": span(distance)}


def two_lines(first: object, second: object = "") -> SafeString:
    """Show a main line, and a subtle second line if it has a text."""
    quiet = format_html('<span class="cs-subtle">{}</span>', second) if second else ""
    return format_html(
        '<span class="cs-two"><span class="cs-first">{}</span>{}</span>', first, quiet
    )


def unbroken(text: object) -> SafeString:
    """Keep a short text on one line."""
    return format_html('<span class="cs-nowrap">{}</span>', text)


def breakable(text: object) -> SafeString:
    """Let a long word, such as an id or an address, break at the end of its column."""
    return format_html('<span class="cs-anywhere">{}</span>', text)


def shortened(text: str, limit: int = 90) -> SafeString | str:
    """Show the beginning of a long text, and all of it on hover."""
    text = said(text)
    if len(text) <= limit:
        return text or EMPTY
    return format_html('<span title="{}">{}…</span>', text, text[: limit - 1].rstrip())


def outside_link(url: str, text: object) -> SafeString:
    """Link an address that the platform gave, only if it is http(s) (S18)."""
    if not is_web_address(url):
        return format_html("{}", text)
    return format_html(
        '<a class="cs-link" href="{}" rel="noopener noreferrer" target="_blank">{}</a>', url, text
    )


def is_web_address(url: str) -> bool:
    """Return whether a browser may open the address: only http(s), never `javascript:`."""
    try:
        parts = urlsplit(url)
    except ValueError:
        return False
    return parts.scheme in ("http", "https") and bool(parts.netloc)


def link(address: str, text: object) -> SafeString:
    """Link a page of our own; show only the text if the address is ""."""
    if not address:
        return format_html("{}", text)
    return format_html('<a class="cs-link" href="{}">{}</a>', address, text)


def page_of(row: Model | None) -> str:
    """Return the address of the row's admin page, "" if it has none."""
    return "" if row is None else page_at(row._meta.label_lower, row.pk)


def page_at(label: str, key: object) -> str:
    """Return the address of a row's admin page by model and key, "" if there is none."""
    return "" if key is None else _page(label, "change", key)


def list_of(label: str) -> str:
    """Return the address of a model's list ("crm_sync.receivedevent"), "" if it has none."""
    return _page(label, "changelist")


def _page(label: str, view: str, *args: object) -> str:
    try:
        return reverse(f"admin:{label.replace('.', '_')}_{view}", args=args)
    except NoReverseMatch:
        return ""
