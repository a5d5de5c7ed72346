"""Each property gets the words by which it is found, also if `migrate` was interrupted."""

import importlib

import pytest
from django.db import connection
from django.db.migrations.loader import MigrationLoader

from properties.models import Property
from properties.models.search_column import text_of

FILLED = "0012_search_text"
filling = importlib.import_module(f"properties.migrations.{FILLED}")


def document(number: int) -> dict:
    place = {"street": "Seestrasse", "streetNumber": str(number), "locality": "Zürich"}
    return {"objectReferenceId": f"R-{number}", "address": place}


def words(number: int) -> str:
    return f" #r{number} #p{number} r {number} seestrasse zurich"


def killed_at(reference: str):
    """Return the function that makes the words; at one row the command is interrupted."""

    def text(row) -> str:
        if row.object_reference_id == reference:
            raise KeyboardInterrupt
        return text_of(row)

    return text


def apps_of_then():
    return MigrationLoader(connection).project_state(("properties", FILLED)).apps


@pytest.mark.django_db(transaction=True)
def test_an_upgrade_that_was_interrupted_goes_on_until_each_row_has_its_words(
    workspace, monkeypatch
):
    monkeypatch.setattr(filling, "TOGETHER", 3)
    for number in range(8):
        names = {"object_reference_id": f"R-{number}", "platform_id": f"P-{number}"}
        Property.objects.create(workspace=workspace, desired=document(number), **names)
    Property.objects.update(search="")
    with monkeypatch.context() as patched:
        patched.setattr(filling, "text_of", killed_at("R-4"))
        with pytest.raises(KeyboardInterrupt):
            filling.fill(apps_of_then(), None)
    assert Property.objects.exclude(search="").count() == 3
    filling.fill(apps_of_then(), None)
    found = list(Property.objects.order_by("pk").values_list("search", flat=True))
    assert found == [words(number) for number in range(8)]


def test_a_row_that_was_edited_meanwhile_keeps_its_words(workspace):
    for number in range(4):
        Property.objects.create(workspace=workspace, desired=document(number))
    Property.objects.filter(search__word="1").update(search=" edited")
    Property.objects.filter(search__word="2").update(search="")
    Property.objects.filter(search__word="3").update(search="")
    for _ in range(2):
        filling.fill(apps_of_then(), None)
        found = list(Property.objects.order_by("pk").values_list("search", flat=True))
        texts = [f" #r{n} r {n} seestrasse zurich" for n in range(4)]
        assert found == [texts[0], " edited", *texts[2:]]
