"""What a feed said besides is shown on the page of its property: addresses as links, the rest."""

import re

import pytest

from properties.admin.property.feed_tab import MOST, from_feed
from tests.properties.form_page import address, force, make

IMAGE = {"url": "https://pictures.example.com/1.jpg", "title": "Kitchen", "mimeType": "image/jpeg"}
LEFTOVER = {
    "localizations[0].attachments.images": [IMAGE, {"url": "http://pictures.example.com/2.jpg"}],
    "localizations[0].events": [{"name": "Visit", "start": "2026-03-01T10:00:00"}],
    "characteristics.areaSiaHnf": "81.5",
    "picture_10_url": "https://pictures.example.com/10.jpg",
    "picture_9_url": "https://pictures.example.com/9.jpg",
    "picture_9_filename": "9.jpg",
    "utilizations": ["residential", "vacation"],
}


@pytest.fixture
def shown(admin_client, main):
    """Return a function that opens the page of a property with a leftover."""

    def page(leftover) -> str:
        row = force(make(main, "A-1"), leftover=leftover)
        return admin_client.get(address(row.pk)).content.decode()

    return page


def links(page: str) -> list[tuple[str, str]]:
    """Return the addresses of the links to other hosts, and their texts."""
    return re.findall(r'<a class="cs-link" href="(http[^"]*)"[^>]*>([^<]*)</a>', page)


def test_addresses_of_a_feed_are_links_in_their_order_and_nothing_of_them_is_loaded(shown):
    page = shown(LEFTOVER)
    assert links(page) == [
        ("https://pictures.example.com/1.jpg", "Kitchen"),
        ("http://pictures.example.com/2.jpg", "Images 2"),
        ("https://pictures.example.com/9.jpg", "Picture 9 URL"),
        ("https://pictures.example.com/10.jpg", "Picture 10 URL"),
    ]
    assert page.count('rel="noopener noreferrer" target="_blank"') == 4
    assert re.findall(r'(?:src|srcset|data|action)="https?:', page) == []


def test_the_other_values_are_named_in_words():
    assert from_feed(LEFTOVER).values == [
        ("Area SIA hnf", "81.5"),
        ("Texts 1 · events 1", "Name: Visit\nStart: 2026-03-01T10:00:00"),
        ("Picture 9 filename", "9.jpg"),
        ("Utilizations", "residential, vacation"),
    ]


@pytest.mark.parametrize(
    "odd",
    [
        "javascript:alert(1)",
        "file:///etc/passwd",
        "//example.com/x",
        "https:///nothing",
        "http://[broken",
        {"url": "data:text/html,x"},
        "see https://example.com",
    ],
)
def test_what_no_browser_should_follow_is_text(shown, odd):
    assert links(shown({"a": odd})) == []


def test_text_of_a_feed_is_escaped(shown):
    hurt = '"><svg onload=alert(1)>'
    page = shown({"a": {"url": f"https://example.com/{hurt}", "title": hurt, hurt: hurt}, hurt: 1})
    assert "<svg" not in page.partition("From the feed")[2].partition("Other values")[2]
    assert page.count("&lt;svg onload") >= 4


def test_a_leftover_without_end_stays_a_short_page(shown):
    texts = {f"value{n}": "x" * 100_000 for n in range(10 * MOST)}
    page = shown(texts | {"images": [{"url": f"https://example.com/{n}"} for n in range(MOST + 7)]})
    assert (len(links(page)), page.count("ps-said-by-feed")) == (MOST, MOST)
    assert ("And 7 more." in page, f"And {9 * MOST} more." in page) == (True, True)
    assert len(page) < 1_000_000


def test_a_property_that_no_feed_says_more_of_has_no_such_tab(shown):
    assert "From the feed" not in shown({})
