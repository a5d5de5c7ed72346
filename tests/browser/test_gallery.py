"""An agent ends with their pictures: looks at them one by one, saves one and all of them."""

import zipfile

import pytest
from django.core.files.base import ContentFile
from django.urls import reverse
from django.utils import timezone
from playwright.sync_api import expect

from orders.materials.download import storage
from orders.materials.file_requests import Role, roles
from orders.models import Material, MaterialFile, Order
from sandbox.state import deliverables
from tests.browser.test_admin import stock
from tests.browser.test_orders import SIZES, step
from tests.orders.conftest import folder

__all__ = ["folder", "stock"]
pytestmark = [pytest.mark.browser, pytest.mark.django_db(transaction=True)]


@pytest.fixture
def delivered(box, stock, drain_all, folder) -> Order:
    """Return an order with four ground photos and a floor plan, all of them stored."""
    for _ in range(5):
        step(box, drain_all)
    for photo in Material.objects.filter(product="GROUND_PHOTO"):
        for number in range(2, 5):
            twin = Material.objects.get(pk=photo.pk)
            twin.pk, twin.platform_id = None, f"{photo.platform_id}-{number}"
            twin.file_name = photo.file_name.replace("1", str(number))
            twin.save()
    for material in Material.objects.select_related("material_set"):
        for role in roles(material):
            keep(material, role)
    return Order.objects.get()


def keep(material: Material, role: Role) -> None:
    url = material.url if role == Role.FILE else material.thumbnail_url
    body = deliverables.content(*url.rsplit("/", 3)[1:])
    assert body is not None
    MaterialFile.objects.update_or_create(
        material=material,
        role=role,
        defaults={
            "workspace": material.material_set.workspace,
            "name": storage().save(f"{material.pk}-{role}.png", ContentFile(body)),
            "size": len(body),
            "digest": f"{material.pk}",
            "content_type": "image/png",
            "stored_at": timezone.now(),
            "due_at": None,
            "problem": "",
        },
    )


@SIZES
def test_an_agent_looks_at_the_pictures_by_keyboard_and_saves_them(
    visit, delivered, tmp_path, width, theme
):
    window = visit(width=width, theme=theme)
    page = window.log_in()
    page.goto(reverse("admin:orders_order_change", args=[delivered.pk]))
    tiles = page.locator("a[data-view]")
    assert tiles.count() == 5
    tiles.nth(0).focus()
    page.keyboard.press("Enter")
    viewer = page.get_by_role("dialog", name="Pictures")
    shown = viewer.locator(".og-said")
    expect(shown).to_contain_text("ground-photo-1.png")
    expect(shown).to_contain_text("1 of 5")
    for key, place in (
        ("ArrowRight", "2 of 5"),
        ("ArrowRight", "3 of 5"),
        ("ArrowLeft", "2 of 5"),
        ("End", "5 of 5"),
        ("ArrowRight", "5 of 5"),
        ("Home", "1 of 5"),
        ("ArrowLeft", "1 of 5"),
        ("ArrowRight", "2 of 5"),
    ):
        page.keyboard.press(key)
        expect(shown).to_contain_text(place)
    picture = viewer.locator("img")
    expect(picture).to_have_attribute("alt", "ground-photo-2.png")
    page.wait_for_function("document.querySelector('.og-image').naturalWidth > 0")
    web = picture.get_attribute("src")
    viewer.get_by_role("button", name="Show HD").click()
    assert picture.get_attribute("src") != web
    with page.expect_download() as saving:
        viewer.get_by_role("link", name="ground-photo-2.png, HD, save").click()
    assert saving.value.suggested_filename == "ground-photo-2.png"
    page.keyboard.press("Escape")
    expect(viewer).to_be_hidden()
    assert tiles.nth(1).evaluate("tile => tile === document.activeElement")
    with page.expect_download() as saving:
        page.get_by_role("link", name="Save all as ZIP").click()
    saving.value.save_as(tmp_path / "all.zip")
    names = zipfile.ZipFile(tmp_path / "all.zip").namelist()
    assert len(names) == 9
    assert "Ground photo/WEB/ground-photo-4.png" in names
    assert (window.foreign, window.errors) == ([], [])


def test_a_swipe_leads_to_the_next_picture_on_the_page_of_the_property(visit, delivered):
    window = visit(width=390)
    page = window.log_in()
    address = reverse("admin:properties_property_change", args=[delivered.real_estate_property_id])
    page.goto(f"{address}#materials")
    page.locator("#materials-group a[data-view]").nth(0).click()
    shown = page.locator(".og-said")
    expect(shown).to_contain_text("1 of 5")
    swipe(page, 300, 100)
    expect(shown).to_contain_text("2 of 5")
    swipe(page, 100, 300)
    expect(shown).to_contain_text("1 of 5")
    swipe(page, 200, 190)  # a tap that slips is no swipe
    expect(shown).to_contain_text("1 of 5")
    page.get_by_role("button", name="Next picture").click()
    expect(shown).to_contain_text("2 of 5")
    page.get_by_role("button", name="Close").click()
    page.goto(reverse("admin:properties_property_changelist"))
    expect(page.locator(".ps-pictured img")).to_have_count(1)
    assert (window.foreign, window.errors) == ([], [])


def swipe(page, begin: int, end: int) -> None:
    for kind, place in (("pointerdown", begin), ("pointerup", end)):
        how = {"pointerType": "touch", "clientX": place, "clientY": 400, "bubbles": True}
        page.locator(".og-stage").dispatch_event(kind, how)
