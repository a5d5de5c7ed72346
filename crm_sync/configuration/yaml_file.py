"""Pure: the file as YAML. Every value is read as a text, so that no text means something else.

In YAML `no` is false, `1e3` a number and `06:30` a number of minutes. Here they are what they look
like; the table of the items says what each has to be.
"""

import re
from collections.abc import Mapping
from datetime import datetime, time
from typing import Any

import yaml

HEAD = (
    "# crm-sync configuration: docs/configuration.md. It holds no secrets, only where they are.\n"
)
NULL = frozenset({"", "null", "~"})


class NotYaml(Exception):
    """The file cannot be read as YAML; the message says where and why."""


class _Reader(yaml.BaseLoader):
    """Refuses a name that a mapping has twice, and texts that no database stores (S24)."""

    def construct_scalar(self, node: Any) -> str:
        text = str(super().construct_scalar(node))
        if re.search("[\0\ud800-\udfff]", text):
            problem = "a NUL or half a character, which no database stores"
            raise yaml.MarkedYAMLError(problem=problem, problem_mark=node.start_mark)
        return text

    def construct_mapping(self, node: Any, deep: bool = False) -> dict[Any, Any]:
        found: set[str] = set()
        for name, _ in node.value:
            if not isinstance(name, yaml.ScalarNode):
                raise yaml.MarkedYAMLError(problem="a name is a text", problem_mark=name.start_mark)
            if name.value in found:
                problem = f"{name.value!r} is here twice"
                raise yaml.MarkedYAMLError(problem=problem, problem_mark=name.start_mark)
            found.add(name.value)
        return dict(super().construct_mapping(node, deep=deep))


class _Writer(yaml.SafeDumper):
    """Indents lists below their name, and repeats a value where another writer makes a link."""

    def increase_indent(self, flow: bool = False, indentless: bool = False) -> Any:
        return super().increase_indent(flow, indentless=False)

    def ignore_aliases(self, data: Any) -> bool:
        return True


def _text(writer: yaml.SafeDumper, value: str) -> Any:
    """Write a text on one line, in quotes if it is not plain."""
    style = None if value.isprintable() else '"'
    return writer.represent_scalar("tag:yaml.org,2002:str", value, style=style)


_Writer.add_representer(str, _text)


def load(text: str) -> Any:
    """Return the document: dicts, lists and texts.

    Raises:
        NotYaml: with line and column.
    """
    try:
        return yaml.load(text, Loader=_Reader)  # noqa: S506 - it makes texts, lists and dicts only
    except yaml.MarkedYAMLError as error:
        mark = error.problem_mark or error.context_mark
        where = f"line {mark.line + 1}, column {mark.column + 1}: " if mark else ""
        raise NotYaml(f"{where}{error.problem or error.context}") from None
    except yaml.YAMLError as error:
        raise NotYaml(str(error).splitlines()[0]) from None
    except RecursionError:
        raise NotYaml("it is nested too deeply") from None


def dump(document: Mapping[str, Any]) -> str:
    """Return the text of a plain document, always the same for the same document."""
    lines = float("inf")  # a value stays on one line
    text = yaml.dump(document, Dumper=_Writer, sort_keys=False, allow_unicode=True, width=lines)
    return HEAD + text


def plain(value: Any) -> Any:
    """Return a value as the file writes it."""
    if isinstance(value, Mapping):
        return {str(name): plain(one) for name, one in value.items()}
    if isinstance(value, list | tuple):
        return [plain(one) for one in value]
    if isinstance(value, time):
        return value.isoformat("auto" if value.second or value.microsecond else "minutes")
    if isinstance(value, datetime):
        return value.isoformat()
    return str(value) if isinstance(value, str) else value
