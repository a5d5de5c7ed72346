"""Writes the configuration of this installation as a document."""

from collections import Counter
from collections.abc import Sequence
from typing import Any

from crm_sync import hooks
from crm_sync.configuration import secret_references, yaml_file
from crm_sync.configuration.document_reading import VERSION
from crm_sync.configured import ConfiguredRows, ItemKind, Values


def sections() -> Sequence[ConfiguredRows]:
    """Return the sections of all apps."""
    return hooks.plugged().configuration


def export() -> tuple[dict[str, Any], list[str]]:
    """Return the document, with references instead of secrets, and these references.

    Raises:
        SecretUnreadable: no key decrypts a stored secret.
    """
    names = secret_references.Names()
    document: dict[str, Any] = {"version": int(VERSION)}
    nested = [one for one in sections() if one.is_of_workspace]
    for section in sections():
        if section.is_of_workspace:
            continue
        listed = []
        for key, values in section.rows(0):
            if section.is_untouched(values):
                continue
            slug = str(values.get("slug", "")) if section.is_workspace else ""
            entry = _entry(section, values, slug, names, 0)
            for child in nested if section.is_workspace else ():
                if found := _children(child, key, slug, names):
                    entry[child.name] = found
            listed.append(entry)
        document[section.name] = listed
    return yaml_file.plain(document), names.made


def _children(
    section: ConfiguredRows, workspace_id: Any, slug: str, names: secret_references.Names
) -> list[dict[str, Any]]:
    counted: Counter[tuple[Any, ...]] = Counter()
    found = []
    for _, values in section.rows(workspace_id):
        key = section.key_of(values)
        counted[key] += 1
        found.append(_entry(section, values, slug, names, counted[key]))
    return found


def _entry(
    section: ConfiguredRows, values: Values, slug: str, names: secret_references.Names, number: int
) -> dict[str, Any]:
    """Return a row as the file says it; a secret that is not set is left out."""
    key: Sequence[Any] = (*section.key_of(values), number)
    noun = "" if section.is_workspace else section.noun
    entry: dict[str, Any] = {}
    for one in section.items:
        value = values[one.name]
        is_secret = one.kind is ItemKind.SECRET
        if is_secret and not value:
            continue
        if is_secret or (isinstance(value, str) and one.is_private(value)):
            value = names.of(slug, noun, key, section.hint(values), one.name)
        entry[one.name] = value
    return entry
