"""Pure: a message for people in Slack or Teams. No value of a message becomes markup (S18).

Slack decodes `&amp;`, `&lt;` and `&gt;` in a text and nothing else
(https://docs.slack.dev/messaging/formatting-message-text). Its formatting cannot be escaped, so its
characters become similar ones. `verbatim` keeps addresses, channels and people in a text from
becoming links (https://docs.slack.dev/reference/block-kit/composition-objects/text-object).

Teams shows an Adaptive Card. The text of a `TextRun` knows no Markdown at all, in any client
(https://learn.microsoft.com/adaptive-cards/schema-explorer/text-run).
"""

import json
import re
import string
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from django.utils.translation import gettext

from crm_sync.models import MessageFormat
from crm_sync.sentence import sentence
from crm_sync.text import line_for_people
from crm_sync.translated import number

NAMES = ("address", "reference", "status", "event", "workspace", "link")
LINK = "link"
USUAL = "{address}: {status} · {link}"
LONGEST = 120  # characters of one value
LINES = 10  # changes that a message shows; it counts the others
# Characters that look like "*", "~", "`", "_" and ">", and mean nothing to Slack.
_STAR, _TILDE, _GRAVE, _UNDERLINE, _QUOTATION = "\u2217", "\u223c", "\u02cb", "\uff3f", "\u203a"
_SLACK = str.maketrans(
    {"*": _STAR, "~": _TILDE, "`": _GRAVE, "&": "&amp;", "<": "&lt;", ">": "&gt;"}
)
_ADDRESS = str.maketrans({"&": "&amp;", "<": "%3C", ">": "%3E", "|": "%7C"})
_UNDERLINES = re.compile(r"(?<![^\W_])_|_(?![^\W_])")  # within a word it is no formatting
_BRACES = re.compile(r"\{(?=\{)")  # Adaptive Cards read {{DATE(…)}} and {{TIME(…)}}
_MAY_BE_LINKED = ("http://", "https://")


@dataclass(frozen=True)
class Piece:
    """A part of a line: plain text, or the text of a link to one of our pages."""

    text: str
    link: str = ""


Line = Sequence[Piece]


class TemplateWrong(ValueError):
    """A template that cannot be filled in; its text is a `Sentence`."""


def parsed(template: str) -> list[tuple[str, str]]:
    """Return the parts of a template, each as its text and the name behind it, or "".

    Raises:
        TemplateWrong: it has more than one line, an unknown name, or a brace without its pair.
    """
    if "\n" in template or "\r" in template:
        raise TemplateWrong(sentence("the text has more than one line"))
    try:
        found = list(string.Formatter().parse(template))
    except ValueError:
        text = sentence("a brace has no pair: write {{ or }} for a brace in the text")
        raise TemplateWrong(text) from None
    for _text, name, layout, change in found:
        if name is not None and (name not in NAMES or layout or change):
            known = ", ".join(f"{{{one}}}" for one in NAMES)
            shown = f"{name}{'!' + change if change else ''}{':' + layout if layout else ''}"
            raise TemplateWrong(
                sentence("{%(name)s} is unknown; known are %(known)s", name=shown, known=known)
            )
    return [(text, name or "") for text, name, _layout, _change in found]


def line(template: str, values: Mapping[str, str]) -> Line:
    """Return the line of one change, by the template of a subscription or, if "", by the usual one.

    Args:
        values: a text for each of `NAMES`, of any content.

    Raises:
        TemplateWrong: see `parsed`.
    """
    pieces = []
    for text, name in parsed(template or USUAL):
        pieces.append(Piece(_one_line(text)))
        if name == LINK:
            if values[LINK].startswith(_MAY_BE_LINKED):
                pieces.append(Piece(gettext("Open"), values[LINK]))
        elif name:
            pieces.append(Piece(_one_line(values[name]).strip()[:LONGEST]))
    return [one for one in pieces if one.text]


def body(format_: str, lines: Sequence[Line], count: int) -> str:
    """Return the JSON that Slack or Teams gets.

    Args:
        lines: those of the first changes.
        count: the number of all changes that the message reports.
    """
    shown = list(lines[:LINES])
    if count > len(shown):
        more = {"count": number(count - len(shown))}
        shown.append([Piece(gettext("and %(count)s more") % more)])
    made = _slack(shown) if format_ == MessageFormat.SLACK else _teams(shown)
    return json.dumps(made, ensure_ascii=False, separators=(",", ":"))


def _one_line(text: str) -> str:
    """Return a text without line breaks, control characters and marks of the direction."""
    return re.sub(r"\s+", " ", line_for_people(text))


def _slack(lines: Sequence[Line]) -> dict[str, Any]:
    """Return https://docs.slack.dev/messaging/sending-messages-using-incoming-webhooks."""
    texts = ["".join(_in_slack(one) for one in each) for each in lines]
    texts = [re.sub("^&gt;", _QUOTATION, text) for text in texts]
    return {
        "text": "\n".join(texts),  # for notifications, and for programs that read only this
        "blocks": [
            {"type": "section", "text": {"type": "mrkdwn", "text": text, "verbatim": True}}
            for text in texts
        ],
    }


def _in_slack(piece: Piece) -> str:
    text = _UNDERLINES.sub(_UNDERLINE, piece.text).translate(_SLACK)
    return f"<{piece.link.translate(_ADDRESS)}|{text}>" if piece.link else text


def _teams(lines: Sequence[Line]) -> dict[str, Any]:
    """Return what the workflow *When a Teams webhook request is received* takes.

    See https://learn.microsoft.com/en-us/connectors/teams/#microsoft-teams-webhook.
    """
    card = {
        "$schema": "http://adaptivecards.io/schemas/adaptive-card.json",
        "type": "AdaptiveCard",
        "version": "1.2",  # the first one with a RichTextBlock
        "body": [
            {"type": "RichTextBlock", "inlines": [_in_teams(one) for one in each]} for each in lines
        ],
    }
    adaptive = {"contentType": "application/vnd.microsoft.card.adaptive", "contentUrl": None}
    return {"type": "message", "attachments": [adaptive | {"content": card}]}


def _in_teams(piece: Piece) -> dict[str, Any]:
    run: dict[str, Any] = {"type": "TextRun", "text": _BRACES.sub("{ ", piece.text)}
    if piece.link:
        run["selectAction"] = {"type": "Action.OpenUrl", "url": piece.link}
    return run
