"""The hooks that this app plugs into `crm_sync`."""
