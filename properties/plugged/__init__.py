"""What properties plug in to `crm_sync`."""
