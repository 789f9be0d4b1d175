# `make run` serves, `make test` checks everything. PYTHON chooses the interpreter (3.11 or newer), TEST_PROCESSES how
# many processes test side by side, each with a database of its own.

PYTHON ?= python3
TEST_PROCESSES ?= 2
VENV := .venv
BIN := $(VENV)/bin

.PHONY: help venv venv-dev run test lint screenshots lock clean

help:
	@echo "make run    install what is needed and serve (PORT=8000)"
	@echo "make test   install the test tools too, then lint and test everything"
	@echo "make lint   style, layers, migrations, system checks"
	@echo "make screenshots   take the pictures of docs/img (needs Chromium)"
	@echo "make lock   renew the lock files from pyproject.toml (needs uv)"

venv: $(VENV)/.installed

venv-dev: $(VENV)/.installed-dev

$(VENV)/bin/python:
	@$(PYTHON) -c 'import sys; sys.exit("Python 3.11 or newer is needed; PYTHON=... chooses one." if sys.version_info < (3, 11) else 0)'
	@$(PYTHON) -m venv $(VENV) || { rm -rf $(VENV); echo "On Debian and Ubuntu: apt install python3-venv"; exit 1; }

$(VENV)/.installed: requirements.lock | $(VENV)/bin/python
	@echo "Installing what is needed into $(VENV) ..."
	@$(BIN)/python -m pip install --quiet --disable-pip-version-check --require-hashes -r requirements.lock
	@touch $@

$(VENV)/.installed-dev: requirements-dev.lock | $(VENV)/bin/python
	@echo "Installing what is needed, and the test tools, into $(VENV) ..."
	@$(BIN)/python -m pip install --quiet --disable-pip-version-check --require-hashes -r requirements-dev.lock
	@touch $(VENV)/.installed $@

# A published client that asks for Python 3.12 and runs on 3.11 too; kept apart from the project's own packages.
$(VENV)/haki-client: tests/clients/haki.lock $(VENV)/.installed-dev
	@rm -rf $@
	@$(BIN)/python -m pip install --quiet --disable-pip-version-check --require-hashes --no-deps \
	    --ignore-requires-python --target $@ -r $< \
	    || { rm -rf $@; echo "Haki's client could not be installed; its tests are skipped."; }

run: venv
	@exec $(BIN)/python manage.py run

lint: venv-dev
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/lint-imports
	$(BIN)/python -W "ignore:Got an error checking" manage.py makemigrations --check --dry-run
	$(BIN)/python manage.py check --fail-level WARNING

# The tests start many processes, and each would compile every module anew.
test: export PYTHONDONTWRITEBYTECODE :=
test: lint $(VENV)/haki-client
	$(BIN)/python -m pytest -n $(TEST_PROCESSES) --dist loadfile --no-loadscope-reorder

screenshots: venv-dev
	MEMORY_SCREENSHOTS=$(CURDIR)/docs/img $(BIN)/python -m pytest -q tests/browser -k test_pictures

lock:
	uv pip compile --quiet --universal --python-version 3.11 --generate-hashes --no-emit-index-url \
	    --no-annotate --no-header pyproject.toml -o requirements.lock
	uv pip compile --quiet --universal --python-version 3.11 --generate-hashes --no-emit-index-url \
	    --no-annotate --no-header pyproject.toml --group dev -c requirements.lock -o requirements-dev.lock
	uv pip compile --quiet --universal --python-version 3.12 --generate-hashes --no-emit-index-url \
	    --no-annotate --no-header tests/clients/haki.in -o tests/clients/haki.lock

clean:
	rm -rf $(VENV) .pytest_cache .ruff_cache
