"""The keys of materials without an id become digests where only the beginning was kept."""

import hashlib
import importlib

import pytest
from django.apps import apps

from orders.models import Material, MaterialSet
from tests.orders.admin_rows import NOW, make_assignment, make_order

pytestmark = pytest.mark.django_db


def test_a_cut_address_becomes_a_digest_and_an_id_of_that_length_stays(main):
    order = make_order(main)
    columns = {"workspace": main, "order": order, "ready_at": NOW, "fetched_at": NOW}
    ready = MaterialSet.objects.create(assignment=make_assignment(order), **columns)
    url = "https://files.test/" + "ü" * 300
    relative = "https://platform.test/files/" + "y" * 300
    rows = {
        url[:255]: url,
        relative.removeprefix("https://platform.test")[:255]: relative,
        "i" * 255: url,
        "https://files.test/1": "https://files.test/1",
    }
    for key, address in rows.items():
        Material.objects.create(material_set=ready, platform_id=key, url=address)
    module = importlib.import_module("orders.migrations.0002_keys_of_long_addresses")
    for _ in range(2):
        module.give_digests(apps, None)
        assert list(Material.objects.order_by("pk").values_list("platform_id", flat=True)) == [
            hashlib.sha256(url.encode()).hexdigest(),
            hashlib.sha256(relative.encode()).hexdigest(),
            "i" * 255,
            "https://files.test/1",
        ]
