"""A stored sentence is also translated where it is a part of another text, cut, or joined."""

import pytest
from django.utils import timezone
from django.utils.translation import override

from crm_sync.admin.workspace.webhook import NotNow
from crm_sync.inbox.store import STUCK
from crm_sync.models import Workspace
from crm_sync.platform.errors import ErrorKind, Problem
from crm_sync.platform.problems import explain, meaning
from crm_sync.sentence import said, sentence
from crm_sync.text import capitalized
from crm_sync.webhook import authentication, probe
from orders.materials import archive
from orders.models import Material, MaterialFile, MaterialSet
from properties.admin.words import problem_in_words
from properties.catalog.numbers import Unreadable
from tests.crm_sync.admin_pages import make_received_event, make_workspace
from tests.crm_sync.sockets import free_port
from tests.languages.pseudo import longer, untranslated
from tests.languages.test_batches import text_of
from tests.orders.admin_rows import make_order
from tests.properties.form_page import force, make

STORED, IN_GERMAN = sentence("cannot connect"), "keine Verbindung möglich"
PROPERTIES = "/admin/properties/property/"


@pytest.mark.parametrize(
    ("address", "text"),
    [
        ("/admin/", f"Rückruf: {IN_GERMAN}"),
        ("/admin/crm_sync/receivedevent/causes/", IN_GERMAN),
        ("/admin/crm_sync/receivedevent/", capitalized(IN_GERMAN)),
    ],
)
def test_what_an_event_did_is_translated_on_the_overview_and_in_lists(german, main, address, text):
    make_received_event(main, state=sorted(STUCK)[0], effect=STORED)
    assert text in text_of(german, address)


@pytest.mark.parametrize(
    ("address", "text"),
    [
        (PROPERTIES, f"Titel: {IN_GERMAN}"),
        ("/admin/", f"A-1: Titel: {IN_GERMAN}"),
        (f"{PROPERTIES}%s/change/", f"{IN_GERMAN}"),
    ],
)
def test_why_a_field_waits_is_translated_on_each_page(german, main, address, text):
    problem = {"REFUSED": {"title": Problem(STORED).stored}}
    row = force(make(main, "A-1", title="x"), problem=problem, platform_id="1")
    address = address.replace("%s", f"{row.pk}")
    shown = text_of(german, address)
    assert text in shown
    assert STORED not in shown


def test_why_a_file_is_missing_in_a_zip_is_translated(main):
    order = make_order(main)
    times = {"ready_at": timezone.now(), "fetched_at": timezone.now()}
    some = MaterialSet.objects.create(workspace=main, order=order, **times)
    one = Material.objects.create(material_set=some, product="PLAN", platform_id="1")
    MaterialFile.objects.create(
        workspace=main, material=one, problem=STORED, role=MaterialFile.Role.FILE
    )
    with override("de"):
        found = archive.contents(Material.objects.prefetch_related("files"))
    assert [line.partition(": ")[2] for line in found.missing] == [IN_GERMAN]


def test_why_our_own_address_does_not_answer_is_translated(db, settings):
    settings.PUBLIC_BASE_URL = f"http://127.0.0.1:{free_port()}"
    hook = make_workspace("hook", auth_type="HEADER", auth_secret="x" * 32)
    with override("de"):
        (step,) = probe.probe(Workspace.objects.get(pk=hook.pk))
    assert step.text == f"POST {hook.callback_url}: {IN_GERMAN}"


def test_an_error_that_holds_a_sentence_is_said_in_the_language_of_the_reader():
    with override("de"):
        assert said(Unreadable(STORED)) == IN_GERMAN
        assert said(NotNow("plain words")) == "plain words"


@pytest.mark.parametrize(
    ("names", "text"),
    [
        (("Host", "x"), "der Header Host eines Rückrufs hat eine andere Bedeutung"),
        (("a b", "x"), "'a b' ist kein Name eines Headers: Buchstaben, Ziffern und Bindestriche"),
        (("X-A", "a b"), "'a b' ist kein Name eines Parameters: Buchstaben, Ziffern, . _ ~ -"),
    ],
)
def test_why_a_callback_cannot_carry_a_secret_is_said_in_the_language_of_the_reader(names, text):
    with pytest.raises(authentication.BadName) as refused:
        authentication.check_names(*names)
    with override("de"):
        assert said(refused.value) == text


def test_what_a_problem_means_is_a_sentence_that_another_one_can_hold():
    for kind, words in ((ErrorKind.REFUSED, "title: odd"), (ErrorKind.DOWN, "")):
        problem = Problem("PUT /v1: 503", kind, words)
        for language in ("en", "de"):
            with override(language):
                expected = explain(problem).sentence.rstrip(".")
                assert meaning(problem).said().rstrip(".") == expected
    with override("de"):
        assert meaning(Problem(STORED)).said() == IN_GERMAN
        assert problem_in_words("REFUSED", Problem(STORED)) == (
            f"Die Plattform hat es abgelehnt: {IN_GERMAN}"
        )


def test_the_pseudo_language_shows_an_english_value_in_a_translated_text():
    text = longer("Waits: %(problem)s")
    page = f"<p>{text % {'problem': 'no answer from there'}}</p>"
    assert untranslated(page) == ["no answer from there"]
    assert untranslated(page, ["no answer from there"]) == []
    assert untranslated(f"<p>{text % {'problem': longer('no answer')}}</p>") == []
    assert 'href="%(page)s"' in longer('<a href="%(page)s">%(name)s</a>')
