"""Readers of feeds at growing sizes: work for each record, and memory."""

import json
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from xml.sax.saxutils import escape

from lab.benchmarks.figures import Figure
from lab.benchmarks.imports import ROOT, record
from properties.feeds.idx.idx_columns import COLUMNS
from properties.feeds.swissrets.swissrets_record import SwissretsRecordReader
from properties.feeds.table.table_writer import ColumnNames, write_csv, write_xlsx

NAME = "feeds"
SIZES = (1_000, 10_000, 100_000)
PEAK = 200  # MiB of a reader
GROWTH = 1.5  # times the work for a record that a record of the smallest file takes
READ = r"""
import json, re, sys, time
from pathlib import Path
from django.conf import settings
settings.configure(USE_I18N=False)
from properties.feeds.recognition import read_feed
began = time.process_time()
taken = sum(1 for item in read_feed(Path(sys.argv[1])) if hasattr(item, "document"))
seconds = time.process_time() - began
# Not the ru_maxrss: that is of the process before its exec, too.
peak = re.search(r"VmHWM:\s+(\d+) kB", Path("/proc/self/status").read_text())[1]
print(json.dumps([taken, seconds, int(peak) / 1024]))
"""


def measure() -> Iterator[Figure]:
    """Read a file of each format at each size, each in a process of its own."""
    for name, write in FORMATS.items():
        first = 0.0
        for size in SIZES:
            work, peak = _read(write, size)
            first = first or work
            yield Figure(f"{name}, {size:,} records", work * 1e6, "µs of work each")
            yield Figure("  peak memory", peak, "MiB", below=PEAK)
        yield Figure("  growth of the work", work / first, "times", below=GROWTH, digits=2)


def _read(write: Callable[[Path, Iterable[int]], None], size: int) -> tuple[float, float]:
    """Write a feed and read it: seconds of work for each record, and peak memory in MiB."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "feed"
        write(path, range(size))
        done = subprocess.run(
            [sys.executable, "-c", READ, str(path)], cwd=ROOT, capture_output=True, check=True
        )
    taken, seconds, peak = json.loads(done.stdout)
    if taken != size:
        raise RuntimeError(f"{taken} of {size} records were taken")
    return seconds / size, peak


def _write_json(path: Path, numbers: Iterable[int]) -> None:
    with path.open("w", encoding="utf-8") as file:
        file.write('{"properties": [')
        file.writelines(",\n" * bool(n) + json.dumps(record(n)) for n in numbers)
        file.write("]}")


def _write_xml(path: Path, numbers: Iterable[int]) -> None:
    with path.open("w", encoding="utf-8") as file:
        file.write("<export><properties>")
        file.writelines(_element(record(number)) for number in numbers)
        file.write("</properties></export>")


def _element(said: dict) -> str:
    """Return a record in XML; the flags and numbers are named as in JSON."""
    text = said["localizations"][0]
    return (
        f'<property id="{said["id"]}"><referenceId>{said["referenceId"]}</referenceId>'
        f"<type>{said['type']}</type><availability>active</availability><address>{_elements(said['address'])}</address>"
        f"<categories><category>{said['categories'][0]}</category></categories>"
        f"<characteristics>{_elements(said['characteristics'])}</characteristics>"
        f"<prices>{_elements(said['prices'])}</prices>"
        f'<localizations><localization lang="de"><name>{text["title"]}</name>'
        f"<description>{escape(text['description'])}</description></localization>"
        f"</localizations><seller>{_elements(said['seller'])}</seller></property>\n"
    )


def _elements(members: dict) -> str:
    return "".join(
        f"<{name}>{_elements(value) if isinstance(value, dict) else value}</{name}>"
        for name, value in members.items()
    )


def _write_idx(path: Path, numbers: Iterable[int]) -> None:
    with path.open("w", encoding="utf-8") as file:
        for number in numbers:
            said = record(number)
            cells = {
                "version": "IDX3.01",
                "object_category": "APPT",
                "object_type": "1",
                "offer_type": "RENT",
                "ref_object": said["referenceId"],
                "object_street": said["address"]["street"],
                "object_zip": said["address"]["postalCode"],
                "object_city": said["address"]["locality"],
                "object_title": said["localizations"][0]["title"],
                "object_description": said["localizations"][0]["description"],
                "selling_price": "1200",
                "number_of_rooms": "4.5",
                "surface_living": "100",
            }
            file.write("#".join(cells.get(column.name, "") for column in COLUMNS) + "\r\n")


def _write_csv(path: Path, numbers: Iterable[int]) -> None:
    for _ in write_csv(path, _documents(numbers), _names()):
        pass


def _write_xlsx(path: Path, numbers: Iterable[int]) -> None:
    for _ in write_xlsx(path, _documents(numbers), _names()):
        pass


def _documents(numbers: Iterable[int]) -> Iterator[dict]:
    intake = SwissretsRecordReader()
    for number in numbers:
        yield intake.take(record(number), "").document


def _names() -> list[str]:
    names = ColumnNames()
    for document in _documents(range(10)):
        names.need(document)
    return names.ordered()


FORMATS = {
    "SwissRETS JSON": _write_json,
    "SwissRETS XML": _write_xml,
    "IDX": _write_idx,
    "CSV": _write_csv,
    "Excel": _write_xlsx,
}
