"""How much is done."""

from dataclasses import dataclass


@dataclass(frozen=True)
class Size:
    """Counts and seconds of a run.

    Attributes:
        rows: properties in production.
        events: for one workspace while another gets one of each.
        embedded: due rows, and as many in an upload, under the Procfile's worker.
        slow: seconds that the platform takes for an answer there, so that a drain's time is over
            before the work is.
        deadline: of a call to the platform.
        hang: for how long the platform does not answer.
        limit: for one step; then the run ends.
    """

    rows: int
    events: int
    embedded: int
    slow: float
    deadline: float
    hang: float
    limit: float


FULL = Size(
    rows=20_000, events=20_000, embedded=6_000, slow=0.0, deadline=20.0, hang=30.0, limit=900.0
)
SHORT = Size(rows=600, events=1_500, embedded=1_200, slow=0.05, deadline=3.0, hang=5.0, limit=90.0)
