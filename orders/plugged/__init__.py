"""What orders plug in to `crm_sync`."""
