"""The columns and the two indexes by which the list of properties is filtered."""

import django.db.models.functions.comparison
import properties.models.documents
import properties.models.search_column
from django.db import migrations, models


class Migration(migrations.Migration):

    dependencies = [
        ('crm_sync', '0011_owners'),
        ('properties', '0015_owners'),
    ]

    operations = [
        migrations.RemoveIndex(
            model_name='property',
            name='property_listed',
        ),
        migrations.RemoveIndex(
            model_name='property',
            name='property_search',
        ),
        migrations.AddField(
            model_name='property',
            name='asking_price',
            field=models.GeneratedField(db_persist=True, expression=models.Case(models.When(desired__offerType='BUY', then=properties.models.documents.NumberAt('desired', path='prices.buy.price')), models.When(desired__offerType='RENT', then=django.db.models.functions.comparison.Coalesce(properties.models.documents.NumberAt('desired', path='prices.rent.gross'), properties.models.documents.NumberAt('desired', path='prices.rent.net'))), default=django.db.models.functions.comparison.Coalesce(properties.models.documents.NumberAt('desired', path='prices.buy.price'), properties.models.documents.NumberAt('desired', path='prices.rent.gross'), properties.models.documents.NumberAt('desired', path='prices.rent.net')), output_field=models.FloatField(null=True)), output_field=models.FloatField(null=True)),
        ),
        migrations.AddField(
            model_name='property',
            name='number_of_rooms',
            field=models.GeneratedField(db_persist=True, expression=properties.models.documents.NumberAt('desired', path='numberOfRooms'), output_field=models.FloatField(null=True)),
        ),
        migrations.AddField(
            model_name='property',
            name='offer_type',
            field=models.GeneratedField(db_persist=True, expression=models.Case(models.When(desired__offerType='BUY', then=models.Value('BUY')), models.When(desired__offerType='RENT', then=models.Value('RENT')), output_field=models.TextField(null=True)), output_field=models.TextField(null=True)),
        ),
        migrations.AddIndex(
            model_name='property',
            index=models.Index(fields=['object_reference_id', 'id', 'workspace', 'offer_type', 'asking_price', 'number_of_rooms'], name='property_listed'),
        ),
        migrations.AddIndex(
            model_name='property',
            index=properties.models.search_column.SearchIndex(fields=['workspace', 'object_reference_id', 'id', 'offer_type', 'asking_price', 'number_of_rooms', 'search'], name='property_search'),
        ),
    ]
