"""What a foreign name may mean: the table of names, and the laws of a proposal."""

from hypothesis import given, strategies as st

from properties.feeds.table.synonyms import LANGUAGE, NAMES, meaning, normalised, propose
from properties.feeds.table.table_columns import COLUMNS, column
from tests.properties.feeds.tables import table

EVERY = [(name, ours) for ours, names in NAMES.items() for name in names]


@table
def test_a_name_means_a_column_or_nothing(name, ours):
    assert meaning(name, "de") == ours


def test_a_text_without_a_language_is_in_the_language_of_its_sender():
    assert meaning("Description", "fr") == "localizations.fr.description"


def test_each_name_in_the_table_means_one_column_that_there_is():
    assert [name for name, ours in EVERY if column(ours.replace(LANGUAGE, "de")) is None] == []
    ours_of = {}
    for name, ours in EVERY:
        ours_of.setdefault(normalised(name), set()).add(ours)
    assert [(name, ours) for name, ours in ours_of.items() if len(ours) > 1] == []
    own = {normalised(name): name for name in COLUMNS}
    assert [(n, o) for n, o in EVERY if own.get(normalised(n), o) != o] == []


def test_nothing_is_proposed_where_two_names_would_be_one_column():
    assert propose(["Ort", "Stadt", "PLZ"], "de") == {"PLZ": "address.postalCode"}
    assert propose(["Ort", "PLZ"], "de", taken=["address.locality"]) == {
        "PLZ": "address.postalCode"
    }


titles = st.sampled_from([name for name, _ in EVERY]) | st.text(max_size=20)


@given(
    st.lists(titles, unique=True, max_size=30), st.lists(st.sampled_from([*COLUMNS]), max_size=5)
)
def test_a_proposal_gives_each_column_once_and_whatever_the_order(names, taken):
    found = propose(names, "de", taken)
    assert len(set(found.values()) | set(taken)) == len(found) + len(set(taken))
    assert all(column(ours) for ours in found.values())
    assert propose(reversed(names), "de", taken) == found


@given(st.text(max_size=30))
def test_case_blanks_and_marks_are_no_part_of_a_name(name):
    assert normalised(f" {name} : ") == normalised(name)
