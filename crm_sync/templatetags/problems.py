"""Shows problems on pages, by `{{ row.problem|problem }}`, and in cells of the admin.

A problem is one sentence, what to do, and for operators the raw text, folded.
"""

from django import template
from django.utils.html import format_html
from django.utils.safestring import SafeString
from django.utils.translation import gettext as _

from crm_sync.platform.errors import SyncError
from crm_sync.platform.problems import explain

register = template.Library()

NOTHING = "—"


def problem_cell(
    stored: str | SyncError, *, remedy: bool = True, is_repeated: bool = True
) -> SafeString | str:
    """Show an error or a stored problem; a dash if there is none.

    Args:
        remedy: whether to show what a person can do; False if the page shows it elsewhere.
        is_repeated: whether a worker tries it again by itself.
    """
    if not stored:
        return NOTHING
    problem = explain(stored, is_repeated=is_repeated)
    advice = problem.remedy if remedy else ""
    return format_html(
        '<span class="cs-problem">{}{}{}</span>',
        problem.sentence,
        format_html(' <span class="cs-subtle">{}</span>', advice) if advice else "",
        _folded(problem.details),
    )


def _folded(details: str) -> SafeString | str:
    if not details:
        return ""
    return format_html(
        '<details class="cs-details"><summary>{}</summary><code>{}</code></details>',
        _("Details"),
        details,
    )


@register.filter
def problem(stored: str | None) -> SafeString | str:
    """Show a stored problem."""
    return problem_cell(stored or "")


@register.filter
def problem_once(stored: str | None) -> SafeString | str:
    """Show a stored problem of what only a person tries again."""
    return problem_cell(stored or "", is_repeated=False)


@register.filter
def problem_text(stored: str | None) -> str:
    """Return only the sentence of a stored problem, to fit on one line."""
    return explain(stored or "").sentence
