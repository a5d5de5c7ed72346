"""Read SwissRETS XML 2.x as a stream, in the shape of SwissRETS JSON 3.x.

The tables here list the differences between both formats. `xml_stream` keeps one record in memory.
"""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

from crm_sync.sentence import sentence
from properties.feeds import limits
from properties.feeds.profile import USUAL, Profile
from properties.feeds.records import Item, NotAFeed, in_line
from properties.feeds.swissrets.precheck import XML, is_plain
from properties.feeds.swissrets.survey import Survey
from properties.feeds.swissrets.swissrets_record import SwissretsRecordReader
from properties.feeds.xml_stream import Broken, Element, XmlFile

# Elements that are lists of their children; `attachments` is an object of lists.
LISTS = frozenset(
    (
        *("additionalOffers", "categories", "events", "localizations", "options"),
        *("projects", "publishers", "units", "utilizations"),
    )
)

# The JSON name for the text of an element that can have attributes.
TEXTS = {
    "auction": "startPrice",
    "availability": "state",
    "deposit": "amount",
    "offer": "price",
    "option": "value",
    "website": "url",
}

# Elements and attributes with another name in JSON: (holder, name) to name.
RENAMED = {
    ("localization", "name"): "title",
    ("localization", "lang"): "languageCode",
    ("option", "lang"): "languageCode",
    ("auction", "start"): "startDate",
    ("characteristics", "hasFiberOptics"): "hasFiberOptic",
    ("attachments", "linkVirtualTour"): "virtualTourLinks",
    ("attachments", "linkYoutube"): "youTubeLinks",
    ("attachments", "linkDirect"): "directLinks",
    ("attachments", "link"): "links",
    ("attachments", "image"): "images",
    ("attachments", "logo"): "logos",
    ("attachments", "document"): "documents",
    ("attachments", "plan"): "plans",
    ("attachments", "landRegisterExtract"): "landRegisterExtracts",
}

_PROPERTY = ["export", "properties", "property"]
_PROJECT = ["export", "projects", "project"]
_REFERENCE = [*_PROPERTY, "referenceId"]
_AROUND = frozenset(
    {"created", "generator", "projects"}
)  # elements that a feed without properties may have


def read_xml(path: Path, profile: Profile = USUAL) -> Iterator[Item]:
    """Yield the properties of a file.

    Raises:
        NotAFeed: the file cannot be read. Truncated: it breaks off after some records.
    """
    survey = Survey() if is_plain(path, XML) else _survey(path)
    yield from survey.warnings()
    records = SwissretsRecordReader(survey, profile)
    file = XmlFile(path, _PROPERTY, value=_value)
    number = 0
    try:
        for line, _, raw in file.elements():
            number += 1
            position = in_line(line)
            limits.check_record(raw, path.name, position)
            yield records.take(raw, position)
    except Broken as error:
        raise error.after(number, path.name) from error
    if "properties" not in file.outline and not file.outline <= _AROUND:
        why = sentence("XML, but no SwissRETS: it has no <properties>")
        raise NotAFeed.of(path.name, why)


def _survey(path: Path) -> Survey:
    """Return the survey of a file. If the file breaks off, the reading reports it later."""
    survey = Survey()
    try:
        for _, tag, value in XmlFile(path, _PROJECT, _REFERENCE, value=_value).elements():
            if tag == _REFERENCE[-1]:
                survey.add_reference(value)
            else:
                survey.add_project(value)
    except Broken:
        pass
    return survey


def _value(element: Element) -> Any:
    """Return the element as SwissRETS JSON has it. Values remain texts."""
    tag, text = element.tag, element.text
    if tag in LISTS:
        return [content for _, content in element.children]
    text_name = TEXTS.get(tag)
    if not (element.children or element.attributes or text_name):
        return text
    value: dict[str, Any] = {}
    for name, content in element.attributes.items():
        value[RENAMED.get((tag, name), name)] = content
    for child, content in element.children:
        name = RENAMED.get((tag, child), child)
        if tag == "attachments":
            value.setdefault(name, []).append(content)
        elif name not in value:
            value[name] = content
        elif isinstance(value[name], list):
            value[name].append(content)
        else:
            value[name] = [value[name], content]
    if text:
        value[text_name or "text"] = text
    return value
