"""What the settings make of the environment, read as a new process reads it."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest
from django.conf import settings

READ = """
import json, sys
from memory_site import settings
print(json.dumps({name: getattr(settings, name) for name in sys.argv[1:]}))
"""


def read(var: Path, *names: str, **environment: str) -> dict[str, object]:
    done = subprocess.run(
        [sys.executable, "-c", READ, *names],
        cwd=settings.BASE_DIR,
        env={"PATH": os.environ["PATH"], "MEMORY_VAR_DIR": str(var), **environment},
        capture_output=True,
        text=True,
        check=True,
    )
    return json.loads(done.stdout)


def test_is_safe_and_local_when_nothing_is_set(tmp_path: Path) -> None:
    found = read(tmp_path, "DEBUG", "ALLOWED_HOSTS", "SECRET_KEY", "SESSION_COOKIE_SECURE", "USES_EMBEDDED_POSTGRES")
    assert found == {
        "DEBUG": False,
        "ALLOWED_HOSTS": ["localhost", "127.0.0.1", "[::1]"],
        "SECRET_KEY": (tmp_path / "secret_key").read_text(),
        "SESSION_COOKIE_SECURE": False,
        "USES_EMBEDDED_POSTGRES": True,
    }


def test_under_a_name_of_its_own_it_insists_on_https(tmp_path: Path) -> None:
    names = ["SESSION_COOKIE_SECURE", "CSRF_COOKIE_SECURE", "SECURE_HSTS_SECONDS", "SECURE_PROXY_SSL_HEADER"]
    found = read(tmp_path, *names, MEMORY_ALLOWED_HOSTS="localhost,memory.example", MEMORY_BEHIND_PROXY="1")
    assert found == {
        "SESSION_COOKIE_SECURE": True,
        "CSRF_COOKIE_SECURE": True,
        "SECURE_HSTS_SECONDS": 2_592_000,
        "SECURE_PROXY_SSL_HEADER": ["HTTP_X_FORWARDED_PROTO", "https"],
    }


def test_a_given_secret_key_is_not_written_down(tmp_path: Path) -> None:
    assert read(tmp_path, "SECRET_KEY", MEMORY_SECRET_KEY="given") == {"SECRET_KEY": "given"}
    assert list(tmp_path.iterdir()) == []


def test_a_malformed_variable_ends_every_command_with_its_name(tmp_path: Path) -> None:
    with pytest.raises(subprocess.CalledProcessError) as raised:
        read(tmp_path, "PORT", PORT="eighty")
    assert raised.value.stderr.endswith("MalformedSetting: PORT must be an integer\n")


def test_the_web_server_keeps_a_pool_and_nothing_else_does(tmp_path: Path) -> None:
    assert read(tmp_path, "MEMORY_CONNECTION_POOL") == {"MEMORY_CONNECTION_POOL": False}
    code = "from memory_site import wsgi; from django.conf import settings; print(settings.MEMORY_CONNECTION_POOL)"
    done = subprocess.run(
        [sys.executable, "-c", code],
        cwd=settings.BASE_DIR,
        env={"PATH": os.environ["PATH"], "MEMORY_VAR_DIR": str(tmp_path)},
        capture_output=True,
        text=True,
        check=True,
    )
    assert done.stdout == "True\n"


def test_starting_imports_no_model_sdk(tmp_path: Path) -> None:
    code = (
        "import django, sys; django.setup(); import memory_site.urls;"
        "print(sorted({'openai', 'anthropic', 'onnxruntime'} & set(sys.modules)))"
    )
    done = subprocess.run(
        [sys.executable, "-c", code],
        cwd=settings.BASE_DIR,
        env={
            "PATH": os.environ["PATH"],
            "MEMORY_VAR_DIR": str(tmp_path),
            "DJANGO_SETTINGS_MODULE": "memory_site.settings",
        },
        capture_output=True,
        text=True,
        check=True,
    )
    assert done.stdout == "[]\n"
