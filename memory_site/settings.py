"""Django settings. What an operator may change is in `memory_site.environment`; the rest is decided here."""

from __future__ import annotations

import os
from pathlib import Path

from memory_site import environment, logs, secret_key
from memory_site.database import aliases

BASE_DIR = Path(__file__).resolve().parent.parent

# Every row of the table becomes a setting of the same name.
ENVIRONMENT = environment.read(os.environ)
globals().update(ENVIRONMENT)

VAR_DIR: Path = ENVIRONMENT["MEMORY_VAR_DIR"]
DEBUG: bool = ENVIRONMENT["MEMORY_DEBUG"]
SECRET_KEY: str = ENVIRONMENT["MEMORY_SECRET_KEY"] or secret_key.load_or_create(VAR_DIR / "secret_key")

# Applications. `memory_site` comes last: what it wires together or registers anew is there by then.

INSTALLED_APPS = [
    "memory_site.admin_pages.apps.MemoryAdminConfig",
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
    "facts",
    "retrieval",
    "governance",
    "ingest",
    "memory_site",
]
AUTH_USER_MODEL = "facts.User"
DEFAULT_AUTO_FIELD = "django.db.models.BigAutoField"
ROOT_URLCONF = "memory_site.urls"
WSGI_APPLICATION = "memory_site.wsgi.application"

MIDDLEWARE = [
    "memory_site.middleware.RequestIdMiddleware",
    "memory_site.middleware.ContentSecurityPolicyMiddleware",
    "django.middleware.security.SecurityMiddleware",
    "whitenoise.middleware.WhiteNoiseMiddleware",
    "django.contrib.sessions.middleware.SessionMiddleware",
    "django.middleware.common.CommonMiddleware",
    "django.middleware.csrf.CsrfViewMiddleware",
    "django.contrib.auth.middleware.AuthenticationMiddleware",
    "django.contrib.messages.middleware.MessageMiddleware",
    "django.middleware.clickjacking.XFrameOptionsMiddleware",
    "memory_site.admin_pages.middleware.AccountMiddleware",
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

# Safety

ALLOWED_HOSTS = list(ENVIRONMENT["MEMORY_ALLOWED_HOSTS"])
CSRF_TRUSTED_ORIGINS = list(ENVIRONMENT["MEMORY_TRUSTED_ORIGINS"])
IS_LOCAL = set(ALLOWED_HOSTS) <= set(environment.LOCAL_HOSTS)
SESSION_COOKIE_SECURE = CSRF_COOKIE_SECURE = not IS_LOCAL
SESSION_COOKIE_SAMESITE = CSRF_COOKIE_SAMESITE = "Lax"
SECURE_HSTS_SECONDS = 0 if IS_LOCAL else 30 * 24 * 3600
SECURE_PROXY_SSL_HEADER = ("HTTP_X_FORWARDED_PROTO", "https") if ENVIRONMENT["MEMORY_BEHIND_PROXY"] else None
SECURE_REFERRER_POLICY = "same-origin"
X_FRAME_OPTIONS = "DENY"
DATA_UPLOAD_MAX_MEMORY_SIZE = ENVIRONMENT["MEMORY_MAX_REQUEST_BYTES"]
MEMORY_SITE_URL: str = ENVIRONMENT["MEMORY_SITE_URL"]
EMAIL_HOST: str = ENVIRONMENT["EMAIL_HOST"]
EMAIL_PORT = ENVIRONMENT["EMAIL_PORT"]
EMAIL_HOST_USER: str = ENVIRONMENT["EMAIL_HOST_USER"]
EMAIL_HOST_PASSWORD: str = ENVIRONMENT["EMAIL_HOST_PASSWORD"]
EMAIL_USE_TLS = ENVIRONMENT["EMAIL_USE_TLS"]
EMAIL_TIMEOUT = 20
DEFAULT_FROM_EMAIL: str = ENVIRONMENT["DEFAULT_FROM_EMAIL"]
AUTH_PASSWORD_VALIDATORS = [
    {"NAME": "django.contrib.auth.password_validation.UserAttributeSimilarityValidator"},
    {"NAME": "django.contrib.auth.password_validation.MinimumLengthValidator", "OPTIONS": {"min_length": 12}},
    {"NAME": "django.contrib.auth.password_validation.CommonPasswordValidator"},
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
    search_threads=ENVIRONMENT["SEARCH_THREADS"],
    prepares=ENVIRONMENT["MEMORY_PREPARED_STATEMENTS"],
)

# Language and time

LANGUAGE_CODE = "en"
USE_I18N = True
USE_TZ = True
TIME_ZONE = "UTC"
FORMAT_MODULE_PATH = ["memory_site.formats"]

# Static files are served from where the packages have them; nothing is collected.

STATIC_URL = "/static/"
WHITENOISE_USE_FINDERS = True

# API

REST_FRAMEWORK = {
    "DEFAULT_AUTHENTICATION_CLASSES": [
        "memory_site.api.authentication.KeyAuthentication",
        "memory_site.api.authentication.SessionAuthentication",
    ],
    "DEFAULT_PERMISSION_CLASSES": ["rest_framework.permissions.IsAuthenticated"],
    "DEFAULT_THROTTLE_CLASSES": [
        "memory_site.api.throttling.KeyThrottle",
        "memory_site.api.throttling.AddressThrottle",
    ],
    "DEFAULT_CONTENT_NEGOTIATION_CLASS": "memory_site.api.renderers.AlwaysJson",
    "DEFAULT_RENDERER_CLASSES": ["memory_site.api.renderers.JsonRenderer"],
    "DEFAULT_PARSER_CLASSES": ["memory_site.api.parsers.JsonParser"],
    "DEFAULT_SCHEMA_CLASS": "drf_spectacular.openapi.AutoSchema",
    "EXCEPTION_HANDLER": "memory_site.api.problems.handle",
    "URL_FORMAT_OVERRIDE": None,
}
SPECTACULAR_SETTINGS = {
    "TITLE": "Memory",
    "DESCRIPTION": "Governed long-term memory for AI agents.",
    "VERSION": "1",
    "OAS_VERSION": "3.1.1",
    "SCHEMA_PATH_PREFIX": "/v1",
    "PREPROCESSING_HOOKS": ["memory_site.api.schema.only_once"],
    "POSTPROCESSING_HOOKS": ["memory_site.api.schema.add_problems"],
    "SERVE_INCLUDE_SCHEMA": False,
    "SWAGGER_UI_DIST": "SIDECAR",
    "SWAGGER_UI_FAVICON_HREF": "SIDECAR",
}

# Background work. The clock of `retry` runs from when a task is handed out, through its wait behind the
# others in memory; `memory_site.checks` holds the formula.

Q_CLUSTER = {
    "name": "memory",
    "orm": "default",  # the alias of the data: work is queued by the transaction that needs it
    "workers": 2,
    "queue_limit": 2,
    "bulk": 1,
    "poll": 0.5,
    "timeout": ENVIRONMENT["MEMORY_TASK_SECONDS"],
    "retry": 3 * ENVIRONMENT["MEMORY_TASK_SECONDS"] + 40,
    "max_attempts": 3,
    "catch_up": False,
    "recycle": 200,
    "save_limit": 0,  # pruned by a schedule; pruning at every task would lock all results
    "label": "Background tasks",
}
TASKS_EAGER = False

# Logging

LOGGING = logs.configuration(ENVIRONMENT["MEMORY_LOG_LEVEL"].upper())
