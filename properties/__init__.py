"""The properties of the CRM: edit, import, push, pull and compare them. No orders."""
