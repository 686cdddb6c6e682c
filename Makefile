# What is needed: Python 3.11 or later with pip and venv, and make. Every target sets up what it uses, inside .venv.
#   make test PYTHON=python3.13     another interpreter, when .venv does not exist yet
#   make test WORKERS=1             how many tests run at a time

PYTHON ?= python3
WORKERS ?= 2

VENV := .venv
BIN := $(VENV)/bin
PIP := $(BIN)/python -m pip --quiet --disable-pip-version-check
RUNTIME := $(VENV)/.runtime-installed
DEVELOPMENT := $(VENV)/.development-installed

.DEFAULT_GOAL := help
.DELETE_ON_ERROR:
.PHONY: help demo test lint prove format clean

help: ## list the targets (the default)
	@awk -F ':.*## ' '/^[a-z]+:.*## / { printf "  make %-8s %s\n", $$1, $$2 }' $(MAKEFILE_LIST)

demo: $(RUNTIME) ## upload a dirty export and load a dirty feed, with faults, and prove the outcome
	@$(BIN)/socialapi demo

test: $(DEVELOPMENT) ## run the tests with branch coverage, which has a floor
	@$(BIN)/coverage erase
	@$(BIN)/coverage run -m pytest --numprocesses=$(WORKERS) --dist=loadgroup
	@$(BIN)/coverage combine --quiet
	@$(BIN)/coverage report

lint: $(DEVELOPMENT) ## check the format, the style and the types
	@$(BIN)/ruff format --check .
	@$(BIN)/ruff check .
	@$(BIN)/mypy

prove: $(DEVELOPMENT) ## run the proofs at full size; `make test` runs them at a twentieth of it
	@SOCIALAPI_FULL_SIZE=1 $(BIN)/python -m pytest tests/proofs -s -v --timeout=3600

format: $(DEVELOPMENT) ## rewrite the sources in the house format
	@$(BIN)/ruff format .
	@$(BIN)/ruff check --fix .

clean: ## remove everything that these targets made, .venv included
	@rm -rf $(VENV) .coverage .coverage.* htmlcov .mypy_cache .pytest_cache .ruff_cache .hypothesis .prove dist build
	@find . -name __pycache__ -type d -prune -exec rm -rf {} +

$(BIN)/python:
	@command -v $(PYTHON) >/dev/null || { echo "$(PYTHON) is not installed; name another with PYTHON=…" >&2; exit 1; }
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || \
		{ echo "Python 3.11 or later is needed, $(PYTHON) is $$($(PYTHON) -V 2>&1); name another with PYTHON=…" >&2; exit 1; }
	@echo "Setting up $(VENV) …"
	@$(PYTHON) -m venv $(VENV) || { rm -rf $(VENV); exit 1; }

$(RUNTIME): pyproject.toml constraints.txt | $(BIN)/python
	@echo "Installing what the package needs …"
	@$(PIP) install --constraint constraints.txt --editable .
	@touch $@

$(DEVELOPMENT): pyproject.toml constraints.txt | $(BIN)/python
	@echo "Installing what the tests need …"
	@$(PIP) install --constraint constraints.txt --editable '.[dev]'
	@touch $@ $(RUNTIME)
