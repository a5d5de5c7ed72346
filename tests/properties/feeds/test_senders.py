"""How a sender writes its feeds: the profile reaches the reader, and its feed is its own."""

import json

import pytest
from django.core.management import CommandError, call_command
from django.db import IntegrityError, transaction
from django.urls import reverse
from hypothesis import given, strategies as st

from crm_sync.models import Workspace
from crm_sync.sentence import Sentence, sentence_of
from properties.feeds import USUAL, Profile
from properties.feeds.records import FileWarning, Record, in_line
from properties.feeds.spool import Line
from properties.imports.profiles import profile_of
from properties.models import Import, Property, Sender
from tests.properties.test_full_feed_guard import EXAMPLES
from tests.properties.test_imports_admin import ADD, hand_in
from tests.properties.uploaded import table

texts = st.text(st.characters(codec="utf-8"), max_size=20)
profiles = st.builds(
    Profile,
    language=texts,
    reference=texts,
    flags=st.dictionaries(texts, texts),
    sheet=texts,
    header_row=st.integers(0, 100),
    columns=st.dictionaries(texts, texts, max_size=50),
    lenient=st.booleans(),
)


@given(profiles)
def test_a_profile_is_the_same_after_it_was_a_line(profile):
    assert Profile.from_json(profile.to_json()) == profile
    assert profile.to_json().isascii()
    assert "\n" not in profile.to_json()


def test_a_name_that_no_profile_has_is_left_out():
    assert Profile.from_json('{"language": "fr", "later": 1}') == Profile(language="fr")


@given(texts, st.lists(texts, max_size=3))
def test_warnings_are_the_same_after_they_were_a_line(text, warnings):
    told = tuple(sentence_of("title", one) for one in warnings)
    record = Record("A1", {"title": "a"}, {"odd": "b"}, in_line(2), warnings=told)
    for item in (FileWarning(Sentence(text)), record):
        assert Line.read(Line.of(item).text).item() == item


def test_a_sender_without_settings_means_what_most_senders_mean(main):
    assert profile_of(Sender(workspace=main, name="Agency")) == profile_of(None) == USUAL


def test_a_sender_that_sets_a_state_must_name_it(main):
    with pytest.raises(IntegrityError), transaction.atomic():
        Sender.objects.create(workspace=main, name="Agency", missing="SET_STATE")


def test_the_feed_of_a_sender_is_counted_as_its_own_in_any_format(main):
    sender = Sender.objects.create(workspace=main, name="Agency")
    for name in ("swissrets.xml", "idx/unload.txt"):
        call_command("import_properties", "main", EXAMPLES / name, "--sender", "Agency", "--force")
    found = set(Property.objects.filter(fed_by__isnull=False).values_list("fed_by", flat=True))
    assert found == {sender.feed_key}


def test_a_sender_that_is_not_there_is_named_with_those_that_are(main):
    Sender.objects.create(workspace=main, name="Agency")
    with pytest.raises(CommandError) as failed:
        call_command("import_properties", "main", EXAMPLES / "swissrets.xml", "--sender", "Agenzy")
    assert str(failed.value) == "main has no sender 'Agenzy'; there is: Agency"
    assert failed.value.returncode == 2
    assert not Property.objects.exists()


def test_warnings_are_told_by_the_command(main, capsys, tmp_path):
    call_command("import_properties", "main", EXAMPLES / "swissrets.xml", "--json")
    printed = json.loads(capsys.readouterr().out)
    assert (printed["warned"], printed["warnings"]) == ({}, [])


def test_an_upload_names_its_sender_of_the_same_workspace(main, admin_client, settings, tmp_path):
    settings.DATA_DIR = tmp_path
    elsewhere = Workspace.objects.create(slug="other", base_url="http://other.test")
    other = Sender.objects.create(workspace=elsewhere, name="Other agency")
    mine = Sender.objects.create(workspace=main, name="Agency")
    page = hand_in(admin_client, main, table(["A1"]), sender=other.pk).content.decode()
    assert "Other agency sends to another workspace." in page
    assert not Import.objects.exists()
    hand_in(admin_client, main, table(["A1"]), sender=mine.pk)
    row = Import.objects.get()
    assert row.sender == mine
    shown = admin_client.get(reverse("admin:properties_import_change", args=[row.pk]))
    assert "Agency" in shown.content.decode()
    assert admin_client.get(ADD).status_code == 200
