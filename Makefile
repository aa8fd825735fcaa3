# `make run` and `make test` do all there is to do on a fresh machine with Python 3.11 or newer.
#   PYTHON=/path/to/python3.12   the Python that builds .venv (default: the first one found that is new enough)
#   WORKERS=1                    how many processes run the tests (default: one a processor, four at most)
#   ARGS="..."                   passed on: make run ARGS=--server.port=8600, make test ARGS="tests/costmodel -x"

SHELL := /bin/sh
.DEFAULT_GOAL := help
.DELETE_ON_ERROR:
.PHONY: help run test check format bench coverage browser clean

VENV := .venv
PY := $(VENV)/bin/python
PIP := $(PY) -m pip install --quiet --disable-pip-version-check
NEW_ENOUGH := import sys; sys.exit(sys.version_info < (3, 11))
CANDIDATES := python3 python3.14 python3.13 python3.12 python3.11 python
PYTHON ?= $(shell for p in $(CANDIDATES); do "$$p" -c "$(NEW_ENOUGH)" 2>/dev/null && echo "$$p" && break; done)
ARGS ?=
WORKERS ?= auto
# In the order of collection, so that each process has the browser tests last (tests/browser/conftest.py says why).
SHARED := -n $(WORKERS) --maxprocesses=4 --no-loadscope-reorder

help: ## list these targets
	@awk -F ':.*## ' '/^[a-z]+:.*## / {printf "  make %-10s %s\n", $$1, $$2}' Makefile

run: $(VENV)/.run ## start the dashboard, on http://127.0.0.1:8501
	$(PY) -m streamlit run app.py $(ARGS)

test: $(VENV)/.dev browser ## run every test, those in a real browser included
	$(PY) -m pytest $(SHARED) $(ARGS)

check: $(VENV)/.dev ## lint, formatting and types; a warning is an error
	$(PY) -m ruff check .
	$(PY) -m ruff format --check .
	$(PY) -m mypy

format: $(VENV)/.dev ## put every file into the form that `make check` wants
	$(PY) -m ruff check --fix-only --exit-zero .
	$(PY) -m ruff format .

bench: $(VENV)/.dev ## time what has to be fast, and print the figures
	$(PY) -m pytest tests/benchmarks --benchmark-enable --benchmark-columns=min,median,iqr,rounds $(ARGS)

coverage: $(VENV)/.dev ## which lines and branches the tests reach; too few fail (servers of the browser tests do not count)
	$(PY) -m pytest tests/costmodel tests/test_doctests.py $(SHARED) --cov=costmodel --cov-fail-under=100 $(ARGS)
	$(PY) -m pytest tests/live tests/pages $(SHARED) --cov=live --cov=pages --cov-fail-under=90 $(ARGS)

browser: $(VENV)/.dev
	@$(PY) tests/browser/chromium.py
	@$(PY) tests/browser/axe.py

clean: ## remove what these targets made
	rm -rf $(VENV) .make .mypy_cache .ruff_cache .pytest_cache .hypothesis .benchmarks .coverage htmlcov
	find . -name __pycache__ -type d -prune -exec rm -rf {} +

# A stamp is newer than the requirements it was installed from, so each installation happens once.
$(VENV)/.dev: requirements-dev.txt requirements.txt $(PY)
	@echo "Installing what runs and tests the dashboard into $(VENV) (a few minutes, once) ..."
	$(PIP) -r requirements-dev.txt
	@touch $(VENV)/.dev $(VENV)/.run

$(VENV)/.run: requirements.txt $(PY)
	@echo "Installing what runs the dashboard into $(VENV) (a few minutes, once) ..."
	$(PIP) -r requirements.txt
	@touch $(VENV)/.run

$(PY):
	@if ! "$(PYTHON)" -c "$(NEW_ENOUGH)" 2>/dev/null; then \
		echo "Stepcost needs Python 3.11 or newer, and $(or $(PYTHON),python3) is $$( \
			"$(or $(PYTHON),python3)" --version 2>/dev/null || echo 'not there')." >&2; \
		echo "Install one, or say where one is: make PYTHON=/path/to/python3.12 $(MAKECMDGOALS)" >&2; \
		exit 1; \
	fi
	@echo "Making $(VENV) with $$("$(PYTHON)" --version) ..."
	@"$(PYTHON)" -m venv --clear $(VENV) || { rm -rf $(VENV); \
		echo "Python could not make $(VENV). On Debian and Ubuntu: apt-get install python3-venv" >&2; exit 1; }
