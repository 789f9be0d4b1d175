"""The account policy of the ingestion records."""

from __future__ import annotations

from django.db import migrations

from facts import rls


class Migration(migrations.Migration):
    dependencies = [("ingest", "0001_outcomes")]

    operations = [
        rls.protect("ingest_eventoutcome"),
        rls.protect("ingest_candidateoutcome"),
    ]
