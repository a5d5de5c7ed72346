"""A language in which every translated text stands in brackets and is a third longer.

What a page shows without brackets is not translated, or is put together from parts. The values in
a translated text stand in brackets of their own, so that an English one is found too.
"""

import re
from collections.abc import Collection, Iterator
from contextlib import contextmanager
from pathlib import Path

from babel.messages import Catalog
from babel.messages.mofile import write_mo
from django.utils.translation import trans_real
from lxml import html

from crm_sync.platform.events import REQUIRED
from lab.messages import LANGUAGES, template
from properties.catalog import field_names
from properties.feeds.table import table_names

CODE = "io"  # a language for which Django has no formats and that nobody of ours reads
# Data and names, which no language changes.
NAMES = (
    *("CRM sync", "English", "user-0", "https://platform.test", "UTC", "http://127.0.0.1:8000"),
    *(*REQUIRED, "POST", "HEADER", "X-API-Key", "true"),
    *("authHeaderName", "authSecret", "authType", "enabled", "method", "url"),
    *("Ground photo", "Photo", "Plan", "Excel", "CSV", "API"),
    *("kg", "kWh", "/v1/sessions", "/v1/orders"),
    *("{address}", "{reference}", "{status}", "{event}", "{workspace}", "{link}"),
)
_WORD = re.compile(r"[A-Za-zÀ-ÿ]{2,}")
_EDGE = r"(?:(?<!\w)|(?!\w))"  # not in the middle of a word
_BRACKETED = re.compile(r"⟦[^⟦⟧]*[⟧…]")  # a long text may end with an ellipsis
_VALUE = re.compile(r"⟨([^⟨⟩]*)[⟩…]")
_CUT = re.compile(r"([\w./-]+)…")  # of a word, its beginning
# Not the address of a link.
_PLACEHOLDER = re.compile(r"(%\(\w+\)s)(?![^<]*>)")


def catalogues(folder: Path) -> Path:
    """Write the language, of our texts and of those that the libraries translate."""
    of_pages, of_scripts = (Catalog(locale=CODE, charset="utf-8") for _ in range(2))
    for one in template():
        if one.id:
            of_pages.add(one.id, _each(one.id), context=one.context)
    for domain, made in (("django", of_pages), ("djangojs", of_scripts)):
        _add_the_libraries(domain, made)
        path = folder / CODE / "LC_MESSAGES" / f"{domain}.mo"
        path.parent.mkdir(parents=True, exist_ok=True)
        with path.open("wb") as file:
            write_mo(file, made)
    return folder


def _add_the_libraries(domain: str, made: Catalog) -> None:
    for key in _of_the_libraries(domain):
        text, plural = key if isinstance(key, tuple) else (key, None)
        context, _, text = text.rpartition("\x04")
        if text and made.get(text, context or None) is None:
            # Of a plural, a compiled catalogue has only the singular.
            known = text if plural is None else (text, text)
            made.add(known, _each(known), context=context or None)


@contextmanager
def offered(settings, folder: Path) -> Iterator[None]:
    """Offer the language and no other one of ours; forget what was translated before and since."""
    settings.LOCALE_PATHS = [folder]
    settings.LANGUAGES = [("en", "English"), (CODE, longer("Pseudo"))]
    _forget()
    yield
    _forget()


def _forget() -> None:
    trans_real._translations.clear()
    of_tables = (table_names.title, table_names.choice, table_names._titles, table_names._values)
    for names in (*of_tables, field_names._label, field_names._choice_name):
        names.cache_clear()


def _of_the_libraries(domain: str) -> set[str | tuple[str, int]]:
    """Return the keys that each of our languages has, so that what one lacks stays visible."""
    of_each = (
        {*trans_real.DjangoTranslation(language, domain=domain)._catalog.keys()}
        for language in LANGUAGES
    )
    return set.intersection(*of_each)


def _each(text: str | tuple[str, ...]) -> str | tuple[str, ...]:
    return tuple(map(longer, text)) if isinstance(text, tuple) else longer(text)


def longer(text: str) -> str:
    """Return a text in brackets and a third longer, each value in small brackets of its own."""
    marked = _PLACEHOLDER.sub(r"⟨\1⟩", text)
    return f"⟦{marked}{(' ' + '~' * 7) * (len(text) // 24)}{'~' * (len(text) % 24 // 3)}⟧"


def _values(bracketed: re.Match[str]) -> str:
    """Return the values within a translated text, a line each; what is cut stays so."""
    values = "\n".join(_VALUE.findall(bracketed[0])) or " "
    return values + "…" * bracketed[0].endswith("…")


def untranslated(page: str, own: Collection[str] = ()) -> list[str]:
    """Return what the page shows that is in no brackets, or is a value in them.

    Args:
        own: texts that are data, such as names of accounts and of products.
    """
    tree = html.fromstring(page)
    for hidden in tree.xpath(
        "//script | //style | //template | //noscript | //pre"
        " | //select[starts-with(@name, 'time')]"
        " | //*[contains(@class, 'material-symbols')]"
    ):
        hidden.drop_tree()
    texts = [*tree.itertext()]
    for name in ("title", "placeholder", "aria-label", "alt"):
        texts += tree.xpath(f"//@{name}")
    # A translated text may have parts with tags of their own, so all is one text with a line each.
    rest, inner = "", "\n".join(" ".join(text.split()) for text in texts)
    while rest != inner:  # a translated text may stand in another
        rest, inner = inner, _BRACKETED.sub(_values, inner)
    rest = _CUT.sub(lambda cut: "" if any(one.startswith(cut[1]) for one in own) else cut[0], rest)
    for name in sorted(own, key=len, reverse=True):  # one may be the beginning of another
        rest = re.sub(rf"{_EDGE}{re.escape(name)}{_EDGE}", "", rest)
    found = [line.strip() for line in rest.split("\n") if _WORD.search(line)]
    return list(dict.fromkeys(found))
