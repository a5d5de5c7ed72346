"""manage.py config: write the configuration as a file, and make it so."""

import sys
from pathlib import Path
from typing import Any

from django.core.management.base import CommandParser
from django.utils import timezone

from crm_sync.configuration import applying, exporting, yaml_file
from crm_sync.configuration.applying import ConfigurationPlan, FileRefused, PlannedRow
from crm_sync.configuration.document_reading import read
from crm_sync.management.base import FAILED, USAGE, SyncCommand

STDIN = "-"


class Command(SyncCommand):
    """Writes and applies the workspaces, and what belongs to them (docs/configuration.md)."""

    help = "Write the configuration of this installation as YAML, or make it as a file says."

    def add_arguments(self, parser: CommandParser) -> None:
        """Add the two ways."""
        ways = parser.add_subparsers(dest="way", required=True)
        export = ways.add_parser("export", help="write it, with references instead of secrets")
        export.add_argument("file", nargs="?", help="a new file; default: print it")
        export.add_argument("--json", action="store_true", help="print one JSON document")
        apply = ways.add_parser("apply", help="make what the file says; nothing is removed")
        apply.add_argument("file", help="the file; - reads the standard input")
        apply.add_argument("--json", action="store_true", help="print one JSON document")
        apply.add_argument(
            "--dry-run", action="store_true", help="show what would happen, change nothing"
        )

    def handle(self, *_: Any, **options: Any) -> None:
        """Export or apply."""
        if options["way"] == "export":
            self._export(options["file"], as_json=options["json"])
        else:
            self._apply(options["file"], is_dry=options["dry_run"], as_json=options["json"])

    def _export(self, name: str | None, *, as_json: bool) -> None:
        document, secrets = exporting.export()
        text = yaml_file.dump(document)
        if name is None:
            if as_json:
                self.emit({"configuration": document, "secrets": secrets}, [], as_json=True)
            else:
                self.stdout.write(text, ending="")
            return
        path, is_ours = Path(name), False
        try:
            with path.open("x", encoding="utf-8") as file:
                is_ours = True
                file.write(text)
        except OSError as error:
            if is_ours:  # half a file is none
                path.unlink(missing_ok=True)
            self.fail(f"{name}: {error.strerror}", FAILED if is_ours else USAGE)
        lines = [f"wrote {name}", *(f"apply needs {one}" for one in secrets)]
        self.emit({"file": name, "secrets": secrets}, lines, as_json=as_json)

    def _apply(self, name: str, *, is_dry: bool, as_json: bool) -> None:
        reading = read(self._document(name), exporting.sections())
        if reading.faults:
            self._refuse(name, reading.faults, USAGE)
        if reading.missing:
            names = ", ".join(dict.fromkeys(reading.missing))
            self.fail(f"{name}: these secrets are missing, and nothing was changed: {names}")
        try:
            plan = applying.apply(reading.entries, now=timezone.now(), is_dry=is_dry)
        except FileRefused as error:
            self._refuse(name, error.faults, FAILED)
        self._show(plan, is_dry=is_dry, as_json=as_json)

    def _document(self, name: str) -> Any:
        try:
            text = sys.stdin.read() if name == STDIN else Path(name).read_text(encoding="utf-8")
            return yaml_file.load(text)
        except OSError as error:
            self.fail(f"{name}: {error.strerror}", USAGE)
        except UnicodeDecodeError:
            self.fail(f"{name}: it is no text in UTF-8", USAGE)
        except yaml_file.NotYaml as error:
            self.fail(f"{name}: {error}", USAGE)

    def _refuse(self, name: str, faults: Any, code: int) -> None:
        """End with one line for each fault, all of which the file has at once."""
        lines = [_line(f"{name}: {path}{': ' if path else ''}{text}") for path, text in faults]
        lines.append("nothing was changed")
        self.fail("\n".join(lines), code)

    def _show(self, plan: ConfigurationPlan, *, is_dry: bool, as_json: bool) -> None:
        would = "would be " if is_dry else ""
        lines = [line for step in plan.steps for line in _lines(step, would)]
        lines += [_line(f"left as it is, not in the file: {one}") for one in plan.left]
        if not plan.steps:
            lines.append("nothing to change")
        document = {
            "result": "planned" if is_dry else "applied",
            "steps": [_as_json(step) for step in plan.steps],
            "left": plan.left,
        }
        self.emit(document, lines, as_json=as_json)


def _line(text: str) -> str:
    """Return a text as one line, also if a name in it has several (S4)."""
    return text if text.isprintable() else text.encode("unicode_escape").decode("ascii")


def _lines(step: PlannedRow, would: str) -> list[str]:
    lines = [_line(f"{step.title}: {would}{'made' if step.is_new else 'changed'}")]
    for name, (before, after) in step.changes.items():
        lines.append(_line(f"  {name}: {before} → {after}"))
    return lines


def _as_json(step: PlannedRow) -> dict[str, Any]:
    changes = {
        name: {"before": before, "after": after} for name, (before, after) in step.changes.items()
    }
    done = "made" if step.is_new else "changed"
    return {"path": step.path, "title": step.title, "done": done, "changes": changes}
