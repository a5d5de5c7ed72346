"""The connection to a platform: calls, queues, callbacks, admin. No properties and no orders."""

# The version of the product: that of the wheel, of the SBOM and of the feeds that it writes.
__version__ = "0.1.0"
