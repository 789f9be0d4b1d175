"""WSGI entry point for gunicorn."""

from __future__ import annotations

import os

from django.core.wsgi import get_wsgi_application
from django.urls import reverse

os.environ.setdefault("DJANGO_SETTINGS_MODULE", "memory_site.settings")
os.environ.setdefault("MEMORY_CONNECTION_POOL", "1")

application = get_wsgi_application()

# Every view and the table of all addresses, before the processes fork: else the first calls of each wait for seconds
# until that is loaded there.
reverse("admin:index")
