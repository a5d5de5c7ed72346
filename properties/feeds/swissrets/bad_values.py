"""Remove invalid values so that the rest of the record can be imported."""

import re
from collections import defaultdict
from collections.abc import Iterable
from typing import Any

from crm_sync.sentence import Sentence, sentence, sentence_of
from crm_sync.text import quoted
from properties import catalog
from properties.catalog import FieldFault
from properties.feeds.swissrets import vocabulary

LONGEST = 300  # characters of a path in a warning
_LANGUAGE = re.compile(r"[a-z]{2}")
_VARIANT = re.compile(r"([A-Za-z]{2})(?:[-_].*)?")

Steps = tuple[str | int, ...]  # names of members and numbers of items
Aside = dict[str, Any]  # the values set aside, by their path in the feed
Sources = tuple[tuple[str, str], ...]  # the path of a field, and its path in the feed


def faulty_values(
    document: dict[str, Any], faults: Iterable[FieldFault], sources: Sources = ()
) -> tuple[Aside, list[Sentence]]:
    """Remove the invalid values of a document; return them and a warning for each.

    An object that lacks a required member is removed as a whole: a latitude needs its longitude.

    Args:
        sources: the fields with their names in the feed, see `longest_first`; those of SwissRETS
            if there are none.
    """
    sources = sources or _SOURCES
    aside: Aside = {}
    words: defaultdict[str, list[Any]] = defaultdict(list)
    warnings: list[Sentence] = []
    gone: set[Steps] = set()
    for fault in reversed(list(faults)):  # backwards, so that no item of a list moves
        steps = at = catalog.steps(fault.path)
        if any(steps[:end] in gone for end in range(1, len(steps) + 1)):
            continue
        while steps and catalog.value_at(document, steps) is None:
            steps = steps[:-1]
        if not steps:
            continue
        name, value = _source(steps, sources), catalog.value_at(document, steps)
        if isinstance(steps[-1], int) and not isinstance(value, dict):  # one word of a list
            name = _source(steps[:-1], sources)
            words[name].append(value)
        else:
            aside[name] = value
        warnings.append(_told(name, fault) if steps == at else located(fault, sources))
        gone.add(_take(document, steps))
    return aside | {name: values[::-1] for name, values in words.items()}, warnings[::-1]


def located(fault: FieldFault, sources: Sources = ()) -> Sentence:
    """Return the message of a fault with its path in the feed."""
    return _told(_source(catalog.steps(fault.path), sources or _SOURCES), fault)


def _told(path: str, fault: FieldFault) -> Sentence:
    return sentence_of(path[:LONGEST], fault.message)


def language_variants(raw: dict[str, Any]) -> tuple[Aside, list[Sentence]]:
    """Reduce the language codes to two small letters; return the changed values and the warnings.

    `de-CH` is read as `de`. A text is set aside if its language is unknown or another text has it.
    """
    texts = raw.get("localizations")
    items = [one for one in texts if isinstance(one, dict)] if isinstance(texts, list) else []
    exact = {one.get("languageCode") for one in items if _is_language(one.get("languageCode"))}
    taken: set[Any] = set()
    aside: Aside = {}
    warnings: list[Sentence] = []
    for index, item in enumerate(items):
        said, path = item.get("languageCode"), f"localizations[{index}].languageCode"
        variant = None if _is_language(said) else _VARIANT.fullmatch(str(said).strip())
        code = variant[1].lower() if variant and variant[1].lower() not in exact else said
        if _is_language(code) and code not in taken:
            taken.add(code)
            if code != said:
                aside[path], item["languageCode"] = said, code
                why = sentence("%(said)s is read as %(code)s", said=quoted(said), code=quoted(code))
                warnings.append(sentence_of(path, why))
        else:
            aside |= {f"localizations[{index}]": dict(item)}
            item.clear()  # the empty item remains, so that the other numbers stay right
            is_known = variant or _is_language(said)
            warnings.append(sentence_of(path, _no_language(quoted(said), is_known=bool(is_known))))
    return aside, warnings


def _no_language(said: str, *, is_known: bool) -> Sentence:
    if is_known:
        return sentence(
            "%(said)s is the language of another text, so its text is set aside", said=said
        )
    return sentence("%(said)s is no language, so its text is set aside", said=said)


def _is_language(code: Any) -> bool:
    return isinstance(code, str) and bool(_LANGUAGE.fullmatch(code))


def _take(document: Any, steps: Steps) -> Steps:
    """Remove a value and the containers that become empty; return the path that was removed."""
    holder = catalog.value_at(document, steps[:-1])
    holder.pop(steps[-1])
    return steps if holder or len(steps) == 1 else _take(document, steps[:-1])


def _source(steps: Steps, sources: Sources) -> str:
    path = ""
    for step in steps:
        path += f"[{step}]" if isinstance(step, int) else f".{step}"
    path = path.removeprefix(".")
    for target, source in sources:
        if path == target or path.startswith((f"{target}.", f"{target}[")):
            return source + path[len(target) :]
    return path


def longest_first(pairs: Iterable[tuple[str, str]]) -> Sources:
    """Return fields with their names in a feed: `seller.inquiryEmail` is found before `seller`."""
    return tuple(sorted(pairs, key=lambda pair: -len(pair[0])))


_SOURCES = longest_first(
    (
        *((target, source) for source, target in vocabulary.MOVED),
        *((target, f"localizations[].attachments.{source}") for source, target in vocabulary.LINKS),
        *((name, f"characteristics.{name}") for name in vocabulary.NUMBERS),
    )
)
