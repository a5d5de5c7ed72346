"""A parent is pushed first, because the platform knows it only after its creation."""

from properties.models import Property


def waits_for_parent(row: Property) -> bool:
    """Return whether a parent must be created first; a circle of parents does not wait."""
    if row.platform_id is not None:
        return False
    seen = {row.object_reference_id}
    parent = row.desired.get("parentRealtyReferenceId")
    waits = False
    while parent and parent not in seen and len(seen) < 10:
        seen.add(parent)
        found = (
            Property.objects.filter(workspace=row.workspace_id, object_reference_id=parent)
            .values("platform_id", "due_at", "desired")
            .first()
        )
        if found is None or found["platform_id"] is not None or found["due_at"] is None:
            break
        waits, parent = True, found["desired"].get("parentRealtyReferenceId")
    return waits and parent != row.object_reference_id
