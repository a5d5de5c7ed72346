"""No value makes a link, a mention or markup in Slack or Teams, whatever it is (S18)."""

import json
import re
import string
from typing import Any

import pytest
from hypothesis import example, given, strategies as st

from crm_sync.models import MessageFormat
from crm_sync.outgoing import chat
from tests.hostile import STEERING

pytestmark = [pytest.mark.once, pytest.mark.rule("S18")]
PAGE = "https://crm.example.com/admin/orders/order/7/change/?a=1&b=<2>|3"
HOSTILE = st.text(
    st.one_of(
        st.sampled_from("<>&|!@#*_~`[](){}:/\\\n\r\t\u2028\u202e\u200b\x00-."),
        st.characters(exclude_categories=["Cs"]),
    ),
    max_size=300,
)
VALUES = st.fixed_dictionaries(
    {name: HOSTILE for name in chat.NAMES if name != "link"} | {"link": st.just(PAGE)}
)
ATTACKS = (
    *("<!channel>", "<!here|x>", "<@U024BE7LR>", "<#C1>", "&lt;!channel&gt;", "@channel"),
    *("<https://evil.example|Open>", "[x](https://evil.example)", "*bold*", "_italic_", "~no~"),
    *("`code`", "> quoted", "\n> quoted", "a\n<!channel>", "{{DATE(2017-02-14T06:00:00Z)}}"),
    *("<at>all</at>", "https://evil.example", "{link}", "{{{{"),
)
# What Slack reads as formatting; an underline within a word is none.
MARKUP = re.compile(r"[*~`]|(?<![^\W_])_|_(?![^\W_])|^&gt;|^>", re.M)
ENTITY = re.compile(r"&(?!amp;|lt;|gt;)")


def attacked(text: str) -> dict[str, str]:
    return dict.fromkeys(chat.NAMES, text) | {"link": PAGE}


def each_attack(test: Any) -> Any:
    for text in ATTACKS:
        test = example(values=attacked(text))(test)
    return test


def made(format_: str, values: dict[str, str], count: int = 1) -> dict[str, Any]:
    names = " ".join(f"{{{name}}}" for name in chat.NAMES)
    found: dict[str, Any] = json.loads(chat.body(format_, [chat.line(names, values)], count))
    return found


@given(values=VALUES)
@each_attack
def test_slack_gets_one_link_which_is_ours_and_no_other_markup(values):
    body = made(MessageFormat.SLACK, values)
    (block,) = body["blocks"]
    text = block["text"]["text"]
    # Slack makes no link of an address, a channel or a name that stands in the text.
    assert block == {"type": "section", "text": {"type": "mrkdwn", "text": text, "verbatim": True}}
    assert body["text"] == text
    ours = "<https://crm.example.com/admin/orders/order/7/change/?a=1&amp;b=%3C2%3E%7C3|Open>"
    assert text.count(ours) == 1
    rest = text.replace(ours, "")
    assert not set(rest) & set("<>\n\r")
    assert (MARKUP.findall(rest), ENTITY.findall(rest)) == ([], [])
    assert len(text) <= 3000  # what a text object may hold


@given(values=VALUES)
@each_attack
def test_teams_gets_plain_text_and_one_link_which_is_ours(values):
    (attachment,) = made(MessageFormat.TEAMS, values)["attachments"]
    assert attachment["contentType"] == "application/vnd.microsoft.card.adaptive"
    (block,) = attachment["content"]["body"]
    # Only a RichTextBlock: its runs know no Markdown, whatever stands in them.
    assert block["type"] == "RichTextBlock"
    links = [run.pop("selectAction") for run in block["inlines"] if "selectAction" in run]
    assert links == [{"type": "Action.OpenUrl", "url": PAGE}]
    assert {tuple(run) for run in block["inlines"]} == {("type", "text")}
    for run in block["inlines"]:
        assert run["type"] == "TextRun"
        assert not STEERING.search(run["text"])
        assert "{{" not in run["text"]  # no DATE() and TIME()


@given(values=VALUES, format_=st.sampled_from(["SLACK", "TEAMS"]))
def test_the_longest_message_is_one_that_both_take(values, format_):
    names = " ".join(f"{{{name}}}" for name in chat.NAMES)
    lines = [chat.line(names, values)] * 50
    body = chat.body(format_, lines, 10_000)
    assert len(body.encode()) <= 28_000  # the limit of Teams
    found = json.loads(body)
    shown = found["blocks"] if format_ == "SLACK" else found["attachments"][0]["content"]["body"]
    assert len(shown) == chat.LINES + 1
    assert "and 9,990 more" in json.dumps(shown[-1])


def test_a_harmless_value_stays_as_it_is():
    values = attacked("Rue du Mont-Blanc 3, 1201 Genève (MH_1001) 50 % @ 7 #2 [a] 1.5")
    text = made(MessageFormat.SLACK, values)["text"]
    assert text.count(values["address"]) == len(chat.NAMES) - 1


def test_what_is_no_web_address_is_never_a_link():
    values = attacked("x") | {"link": "javascript:alert(1)"}
    assert "javascript" not in json.dumps(made(MessageFormat.SLACK, values))
    assert "Action" not in json.dumps(made(MessageFormat.TEAMS, values))


WRONG = {
    "{adress}": "{adress} is unknown; known are {address}, {reference}, {status}, {event},"
    " {workspace}, {link}",
    "{}": "{} is unknown; known are {address}, {reference}, {status}, {event}, {workspace}, {link}",
    "{status.__class__}": "{status.__class__} is unknown; known are {address}, {reference},"
    " {status}, {event}, {workspace}, {link}",
    "{status!r:>9}": "{status!r:>9} is unknown; known are {address}, {reference}, {status},"
    " {event}, {workspace}, {link}",
    "{status": "a brace has no pair: write {{ or }} for a brace in the text",
    "}": "a brace has no pair: write {{ or }} for a brace in the text",
    "a\nb": "the text has more than one line",
}


@pytest.mark.parametrize("template", WRONG)
def test_a_template_that_cannot_be_filled_in_is_refused_with_the_names_there_are(template):
    with pytest.raises(chat.TemplateWrong) as refused:
        chat.parsed(template)
    assert str(refused.value) == WRONG[template]


@given(st.text(string.ascii_letters + "{}!:.[]0 \n", max_size=30))
def test_any_template_is_refused_or_gives_a_line(template):
    try:
        chat.parsed(template)
    except chat.TemplateWrong:
        return
    for piece in chat.line(template, attacked("x")):
        assert not STEERING.search(piece.text)
