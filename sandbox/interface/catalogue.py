"""The products and photographers of the seeded workspace. The list is our own (§1)."""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Product:
    """A product of A31.

    `action` is what the client must provide, and `asks` is whether it is missing.
    """

    id: str
    product: str
    name: str
    kind: str
    amount: float
    action: str | None = None
    asks: bool = False


PRODUCTS = (
    Product("11", "GROUND_PHOTO", "Ground photos", "PHOTO", 249.0),
    Product("12", "DRONE_PHOTO", "Drone photos", "PHOTO", 199.0),
    Product("13", "FLOOR_PLAN", "Floor plan", "FLOOR_PLAN", 89.0),
    Product("14", "PROPERTY_VIDEO", "Property video", "VIDEO", 449.0),
    Product("15", "VIRTUAL_TOUR", "Virtual tour", "TOUR", 179.0),
    Product("16", "RESIDENTIAL_STAGING", "Residential staging", "STAGING", 59.0),
    Product(
        "17",
        "ENERGY_CERTIFICATE",
        "Energy certificate",
        "DOCUMENT",
        119.0,
        action="DOCUMENT_UPLOAD_REQUIRED",
        asks=True,
    ),
    Product(
        "18",
        "LAND_REGISTER_EXTRACT",
        "Land register extract",
        "DOCUMENT",
        49.0,
        action="POWER_OF_ATTORNEY_REQUIRED",
    ),
)
CURRENCY = "EUR"
BY_ID = {one.id: one for one in PRODUCTS}
BY_NAME = {one.product: one for one in PRODUCTS}

# A39: visualQuality applies only to these products.
PHOTO_PRODUCTS = frozenset(
    {
        "GROUND_PHOTO",
        "GROUND_PHOTO_PRESTIGE",
        "DRONE_PHOTO",
        "RESIDENTIAL_STAGING",
        "COMMERCIAL_STAGING",
        "RESIDENTIAL_RENDERING",
        "COMMERCIAL_RENDERING",
    }
)

# A32: the options of each part of the instructions.
INSTRUCTIONS: dict[str, tuple[tuple[str, str], ...]] = {
    "billing": (("21", "Invoice to the workspace"), ("22", "Invoice to the seller")),
    "organization": (("31", "Agent is on site"), ("32", "Keys at the office")),
    "delivery": (("41", "Download"), ("42", "Download and e-mail")),
}

PHOTOGRAPHERS = tuple(
    {
        "id": f"5{number}",
        "name": f"Photographer {word}",
        "email": f"photographer.{word.lower()}@example.com",
        "phone": f"+49 30 0000 010{number}",
    }
    for number, word in enumerate(("One", "Two", "Three"), start=1)
)
