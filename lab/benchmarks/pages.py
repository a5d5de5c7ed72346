"""The pages of the admin over a large installation: time of the server, size of the HTML."""

from collections.abc import Iterator

from lab.benchmarks.drain import rounds
from lab.benchmarks.figures import Figure
from lab.benchmarks.page_figures import KILOBYTES, of_page

NAME = "pages"


def measure() -> Iterator[Figure]:
    """Open each page several times, on PostgreSQL: SQLite is not made for as much."""
    for _, one in rounds(NAME, on=("PostgreSQL",)):
        yield of_page(one["what"], one)
        yield Figure(f"{one['what']}, HTML", one["kilobytes"], "KB", below=KILOBYTES)
