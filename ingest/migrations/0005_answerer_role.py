"""Calls to a model that answers questions are on the ledger too."""

from django.db import migrations, models


class Migration(migrations.Migration):

    dependencies = [
        ('ingest', '0004_imports'),
    ]

    operations = [
        migrations.RemoveConstraint(model_name='modelcall', name='model_call_role_known'),
        migrations.AlterField(
            model_name='modelcall',
            name='role',
            field=models.CharField(choices=[('extraction', 'Extraction'), ('answerer', 'Answerer')], max_length=16),
        ),
        migrations.AddConstraint(
            model_name='modelcall',
            constraint=models.CheckConstraint(condition=models.Q(('role__in', ['extraction', 'answerer'])), name='model_call_role_known'),
        ),
    ]
