"""The properties of the CRM: edited, imported, pushed, pulled, compared. No order."""
