"""Key materials without an id by the digest of a long address: its beginning is of others, too."""

import hashlib

from django.db import migrations
from django.db.models.functions import Length

LONGEST = 255


def give_digests(apps, schema_editor):
    materials = apps.get_model("orders", "Material")
    cut = materials.objects.annotate(of_key=Length("platform_id"), of_url=Length("url")).filter(
        of_key=LONGEST, of_url__gt=LONGEST
    )
    for row in cut.only("platform_id", "url").iterator():
        if row.platform_id in row.url:  # else it is an id of that length
            key = hashlib.sha256(row.url.encode()).hexdigest()
            materials.objects.filter(pk=row.pk).update(platform_id=key)


class Migration(migrations.Migration):
    dependencies = [("orders", "0001_initial")]

    operations = [migrations.RunPython(give_digests, migrations.RunPython.noop)]
