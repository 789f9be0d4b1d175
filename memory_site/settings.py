"""Django settings. What an operator may change is in `memory_site.environment`; everything else is decided here."""

from __future__ import annotations

import os
from pathlib import Path

from memory_site import environment, secret_key
from memory_site.database import aliases

BASE_DIR = Path(__file__).resolve().parent.parent

# Every row of the table becomes a setting of the same name.
ENVIRONMENT = environment.read(os.environ)
globals().update(ENVIRONMENT)

VAR_DIR: Path = ENVIRONMENT["MEMORY_VAR_DIR"]
DEBUG: bool = ENVIRONMENT["MEMORY_DEBUG"]
SECRET_KEY: str = ENVIRONMENT["MEMORY_SECRET_KEY"] or secret_key.load_or_create(VAR_DIR / "secret_key")
ALLOWED_HOSTS: list[str] = ENVIRONMENT["MEMORY_ALLOWED_HOSTS"]

# Applications

INSTALLED_APPS = [
    "memory_site",
    "ingest",
    "governance",
    "retrieval",
    "facts",
    "django.contrib.admin",
    "django.contrib.auth",
    "django.contrib.contenttypes",
    "django.contrib.sessions",
    "django.contrib.messages",
    "django.contrib.staticfiles",
    "django.contrib.postgres",
    "rest_framework",
    "drf_spectacular",
    "drf_spectacular_sidecar",
    "django_q",
]
AUTH_USER_MODEL = "facts.User"
DEFAULT_AUTO_FIELD = "django.db.models.BigAutoField"
ROOT_URLCONF = "memory_site.urls"
WSGI_APPLICATION = "memory_site.wsgi.application"

MIDDLEWARE = [
    "django.middleware.security.SecurityMiddleware",
    "whitenoise.middleware.WhiteNoiseMiddleware",
    "django.contrib.sessions.middleware.SessionMiddleware",
    "django.middleware.common.CommonMiddleware",
    "django.middleware.csrf.CsrfViewMiddleware",
    "django.contrib.auth.middleware.AuthenticationMiddleware",
    "django.contrib.messages.middleware.MessageMiddleware",
    "django.middleware.clickjacking.XFrameOptionsMiddleware",
]

TEMPLATES = [
    {
        "BACKEND": "django.template.backends.django.DjangoTemplates",
        "DIRS": [BASE_DIR / "templates"],
        "APP_DIRS": True,
        "OPTIONS": {
            "context_processors": [
                "django.template.context_processors.request",
                "django.contrib.auth.context_processors.auth",
                "django.contrib.messages.context_processors.messages",
            ],
        },
    },
]

# Database

EMBEDDED_POSTGRES_DIRECTORY = VAR_DIR / "postgres"
USES_EMBEDDED_POSTGRES = not ENVIRONMENT["DATABASE_URL"]
# Otherwise the owner assumes the restricted role.
APP_ROLE_LOGS_IN = USES_EMBEDDED_POSTGRES or bool(ENVIRONMENT["MEMORY_APP_DATABASE_URL"])
DATABASES = aliases.build(
    owner_url=ENVIRONMENT["DATABASE_URL"],
    app_url=ENVIRONMENT["MEMORY_APP_DATABASE_URL"],
    test_name=ENVIRONMENT["MEMORY_TEST_DATABASE"],
    pool=ENVIRONMENT["MEMORY_CONNECTION_POOL"],
)

# Language and time

LANGUAGE_CODE = "en"
USE_I18N = True
USE_TZ = True
TIME_ZONE = "UTC"

# Static files

STATIC_URL = "/static/"
STATIC_ROOT = VAR_DIR / "static"

# Background work. `retry` counts from when a task is handed out, including its wait behind the others, so it must
# exceed timeout × (1 + ceil((queue_limit + bulk) / workers)); `memory_site.checks` verifies it.
Q_CLUSTER = {
    "name": "memory",
    "orm": "default",  # the alias of the data: work is queued by the transaction that needs it
    "workers": 2,
    "queue_limit": 2,
    "bulk": 1,
    "poll": 0.5,
    "timeout": 120,
    "retry": 400,
    "max_attempts": 3,
    "catch_up": False,
    "recycle": 200,
    "save_limit": 0,
    "label": "Background tasks",
}
