"""OpenImmo: its names, one object to one property, reader and writer of XML."""
