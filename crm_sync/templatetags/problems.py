"""What went wrong, on a page: `{{ row.problem|problem }}`, and the same for the cells of the admin.

One sentence, what to do, and the raw text folded away for an operator.
"""

from django import template
from django.utils.html import format_html
from django.utils.safestring import SafeString

from crm_sync.platform.errors import SyncError
from crm_sync.platform.problems import explain

register = template.Library()

NOTHING = "—"


def problem_cell(stored: str | SyncError, *, remedy: bool = True) -> SafeString | str:
    """Show an error, or what is stored of one; a dash where there is none.

    Args:
        remedy: also say what a person can do; False where that has a place of its own.
    """
    if not stored:
        return NOTHING
    problem = explain(stored)
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
        '<details class="cs-details"><summary>Details</summary><code>{}</code></details>', details
    )


@register.filter
def problem(stored: str | None) -> SafeString | str:
    """Show what is stored of an error."""
    return problem_cell(stored or "")


@register.filter
def problem_text(stored: str | None) -> str:
    """Return the sentence alone, for where there is one line."""
    return explain(stored or "").sentence
