"""Application configuration of `memory_site`: what has to be wired together once all apps are loaded."""

from __future__ import annotations

from django.apps import AppConfig


class MemorySiteConfig(AppConfig):
    """Registers the system checks and gives `facts` its job dispatcher."""

    name = "memory_site"
    default_auto_field = "django.db.models.BigAutoField"

    def ready(self) -> None:
        """Wire what the apps below left open."""
        from memory_site import checks  # noqa: F401  (importing registers the checks)
