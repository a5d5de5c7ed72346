"""The hooks of the orders for `crm_sync`."""
