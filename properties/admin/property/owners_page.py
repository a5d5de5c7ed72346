"""The tab *Fields* of a workspace: who owns each group and field of its properties (S17)."""

from collections.abc import Iterator
from typing import Any
from urllib.parse import urlencode

from django import forms
from django.contrib import admin, messages
from django.core.exceptions import PermissionDenied
from django.http import HttpRequest, HttpResponse, HttpResponseBadRequest, HttpResponseRedirect
from django.utils import timezone
from django.utils.translation import gettext, gettext_lazy as _

from crm_sync.admin.ui.base import ModelAdmin
from crm_sync.admin.ui.page import page
from crm_sync.admin.ui.scope import note
from crm_sync.admin.workspace.tabs import address_of, opened, tabs
from crm_sync.models import Workspace
from crm_sync.sentence import Sentence, sentence
from crm_sync.text import capitalized
from crm_sync.translated import Text
from properties.catalog import MERGED, OTHERS, label
from properties.catalog.field_names import stored_group_name, stored_inner_label
from properties.domain import owners
from properties.domain.owner_change import set_owner
from properties.merge import Owner
from properties.ownership import GROUP, RULED, RULED_GROUPS, Ownership, group_leaves

CHOICES: dict[Owner, Sentence] = {
    Owner.OURS: sentence("We own it"),
    Owner.THEIRS: sentence("The platform owns it"),
    Owner.ASK: sentence("Ask a person"),
    Owner.FILL: sentence("Fill it if empty"),
    Owner.NEVER: sentence("Never send it"),
}
MEANINGS: dict[Owner, Text] = {
    Owner.OURS: _(
        "Our value is always sent. What somebody changes on the platform is set back, and kept"
        " under History of the property."
    ),
    Owner.THEIRS: _("The platform's value replaces ours. Here it can only be read."),
    Owner.ASK: _("If both sides changed it, it waits under Conflicts, whatever the settings say."),
    Owner.FILL: _(
        "Our value is sent only if the platform has none. Otherwise the platform's value replaces"
        " ours."
    ),
    Owner.NEVER: _("Our value stays here, and the platform's stays there. They may differ."),
}
BY_POLICY = sentence("By the conflict policy")
OTHER_FIELDS = sentence("Fields that this app does not know")


SCRIPT = forms.Media(js=("properties/owners.js",))


def owners_page(
    property_admin: ModelAdmin, request: HttpRequest, workspace_id: int
) -> HttpResponse:
    """Show who owns each group, and each field of the open one. A POST sets one owner."""
    workspace_admin = admin.site.get_model_admin(Workspace)
    shown = opened(workspace_admin, request, workspace_id)
    can_act = workspace_admin.has_change_permission(request, shown)
    if request.method == "POST":
        if not can_act:
            raise PermissionDenied
        return _set(request, shown)
    ownership, group = owners.of_key(workspace_id), request.GET.get("open", "")
    context = {
        "title": gettext("Fields of %(workspace)s") % {"workspace": shown.slug},
        "groups": list(_groups(ownership, group, saved=request.GET.get("saved", ""))),
        "policy": Workspace.ConflictPolicy(ownership.policy).label,
        "settings": address_of("change", workspace_id),
        "meanings": [(CHOICES[owner], text) for owner, text in MEANINGS.items()],
        "can_act": can_act,
        "media": workspace_admin.media + property_admin.media + SCRIPT,
        **tabs(workspace_admin, request, workspace_id),
    }
    return page(workspace_admin, request, "properties/owners.html", context, row=shown)


def _set(request: HttpRequest, shown: Any) -> HttpResponse:
    """Set the owner that was posted, and show the same group again."""
    key, value = request.POST.get("key", ""), request.POST.get("owner", "")
    if key not in RULED or value not in {owner.value for owner in Owner}:
        return HttpResponseBadRequest(gettext("There is no such field, or no such owner."))
    owner = Owner(value)
    before = set_owner(shown.pk, key, owner, now=timezone.now())
    if before is not None:
        rows = Workspace.objects.filter(pk=shown.pk).only("pk", "slug")
        told = sentence(
            "Owner of %(name)s: %(owner)s. It was: %(before)s.",
            name=_stored_name(key),
            owner=_choice(owner),
            before=_choice(before),
        )
        note(request, rows, told)
        text = gettext(
            "%(field)s: %(owner)s. It was: %(before)s. The properties follow now, one after the"
            " other."
        )
        named = {"owner": _choice(owner).said(), "before": _choice(before).said()}
        messages.success(request, text % {"field": _name(key), **named})
    open_one = request.POST.get("open", "")
    asked = urlencode({"open": open_one, "saved": key} if open_one else {"saved": key})
    return HttpResponseRedirect(f"{request.path}?{asked}")


def _groups(ownership: Ownership, opened: str, *, saved: str) -> Iterator[dict[str, Any]]:
    """Yield a row for each group, with rows for the fields of the open one."""
    for group in RULED_GROUPS:
        leaves = group_leaves(group)
        objects = sorted({leaf.partition(".")[0] for leaf in leaves} & MERGED)
        keys = [key for key in (*objects, *leaves) if key in ownership.rules]
        yield {
            **_row(GROUP + group, ownership, saved),
            "slug": group,
            "is_open": group == opened,
            "count": len(leaves),
            "exceptions": [(label(key), CHOICES[ownership.rules[key]]) for key in keys],
            "fields": list(_fields(group, ownership, saved)) if group == opened else [],
        }


def _fields(group: str, ownership: Ownership, saved: str) -> Iterator[dict[str, Any]]:
    """Yield a row for each object and field of a group."""
    leaves = group_leaves(group)
    for leaf in leaves:
        name = leaf.partition(".")[0]
        members = [one for one in leaves if one.startswith(f"{name}.")]
        if members[:1] == [leaf] and len(members) < len(leaves):
            yield _row(name, ownership, saved)
        yield _row(leaf, ownership, saved)


def _row(key: str, ownership: Ownership, saved: str) -> dict[str, Any]:
    """Return what a row shows: its name, its own rule, and what counts without one."""
    own = ownership.rules.get(key, Owner.POLICY)
    without = ownership.changed(key, Owner.POLICY, now=timezone.now()) if own else ownership
    rule = without.rule_of(key)
    inherited: Text = BY_POLICY
    if rule:
        named = {"rule": _name(rule), "owner": _choice(without.rules[rule]).said()}
        inherited = gettext("As %(rule)s: %(owner)s") % named
    options = [("", inherited), *((owner.value, text) for owner, text in CHOICES.items())]
    return {
        "key": key,
        "name": _name(key),
        "owner": own.value,
        "options": options,
        "text": dict(options)[own.value],
        "is_saved": key == saved,
    }


def _name(key: str) -> str:
    """Return the name of a leaf, an object or a group, as the form of a property shows it."""
    return capitalized(_stored_name(key).said())


def _stored_name(key: str) -> Sentence:
    if key == GROUP + OTHERS:
        return OTHER_FIELDS
    group = key.removeprefix(GROUP)
    if group != key:
        return stored_group_name(group)
    name = stored_inner_label(key)
    return sentence("%(name)s, all its fields", name=name) if key in MERGED else name


def _choice(owner: Owner) -> Sentence:
    return CHOICES.get(owner, BY_POLICY)
