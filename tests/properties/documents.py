"""Hypothesis strategies for documents of the property model."""

from hypothesis import strategies as st

from properties import catalog
from properties.catalog import Kind

# Whatever a database of ours can keep, and what is special in a cell, in XML or to a spreadsheet.
plain = st.text(
    st.characters(exclude_categories=("Cs", "Cc"), include_characters="\t\n\r"), min_size=1
)
special = st.sampled_from(
    (
        *("=1+1", "+41 52 1", "-3", "@a", "\tx", "'=1", "''+1", "'", "'<empty>", " <empty> "),
        *("<empty>", "#N/A", "_x000D_", "_x005F_x000D_", "a\r\nb", "a\rb", "\ufffe", "0012"),
        *("true", "1e5", "|", 'a"b', "a;b,c", " x ", "{}", "2026-01-31", "\x85", "\u2028"),
    )
)
words = (plain | special).map(lambda text: text[:200])


def value(field, texts=words):  # noqa: PLR0911 - one line for each kind
    """Return a strategy for valid values of a field."""
    match field.kind:
        case Kind.STRING if field.pattern:
            return st.from_regex(field.pattern, fullmatch=True).filter(str.isascii)
        case Kind.STRING | Kind.TEXT:
            return texts
        case Kind.ENUM:
            return st.sampled_from(field.enum)
        case Kind.INTEGER | Kind.DECIMAL:
            least, most = catalog.range_of(field)
            whole = st.integers(-(10**15) if least is None else least, most or 10**15)
            finite = st.floats(least, most, allow_nan=False, allow_infinity=False)
            return whole if field.kind is Kind.INTEGER else whole | finite
        case Kind.BOOLEAN:
            return st.booleans()
        case Kind.DATE:
            return st.dates().map(lambda day: day.isoformat())
        case Kind.DATETIME:
            return st.datetimes().map(lambda moment: f"{moment.isoformat()}Z")
        case Kind.ENUM_LIST:
            return st.lists(st.sampled_from(field.enum), max_size=3, unique=True)
        case Kind.MAP:
            return st.dictionaries(texts, texts, max_size=2)
        case Kind.OBJECT_LIST:
            return st.lists(members(f"{field.path}[]", texts), min_size=1, max_size=2)
    return members(field.path, texts)


def members(path, texts=words, keep=lambda _: True):
    """Return a strategy for an object: what it must have, and any of the rest."""
    fields = [field for field in catalog.children(path) if keep(field)]
    return st.fixed_dictionaries(
        {field.name: value(field, texts) for field in fields if field.required},
        optional={field.name: value(field, texts) for field in fields if not field.required},
    )


references = st.text("abcXYZ019-_. ", min_size=1, max_size=12).filter(
    lambda text: text == text.strip() and text not in {".", ".."}
)


def localizations(texts=words):
    """Return a strategy for localizations: one a language."""
    items = st.dictionaries(
        st.sampled_from(["de", "fr", "it", "en"]),
        members("localizations[]", texts),
        max_size=3,
    )
    return items.map(lambda by: [{**item, "languageCode": code} for code, item in by.items()])


def documents(texts=words, keep=lambda field: not field.read_only):
    """Return a strategy for whole documents of a handful of fields."""
    fields = [f for f in catalog.TOP_LEVEL.values() if keep(f) and f.path != "localizations"]

    def chosen(names):
        return st.fixed_dictionaries(
            {name: value(catalog.FIELDS[name], texts) for name in names}
            | {"objectReferenceId": references, "localizations": localizations(texts)}
        )

    return st.sets(st.sampled_from([f.path for f in fields]), max_size=6).flatmap(chosen)
