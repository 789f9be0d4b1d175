"""What the project itself keeps: signs of life of its background processes."""

from __future__ import annotations

from django.db import models


class Heartbeat(models.Model):
    """When a background process last showed that it gets work done."""

    name = models.CharField(primary_key=True, max_length=64)
    beat_at = models.DateTimeField()

    def __str__(self) -> str:
        return self.name
