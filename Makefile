# What is needed: Python 3.11 or later with pip and venv, and make. Every target sets up what it uses, inside .venv.
#   make test PYTHON=python3.13     another interpreter, when .venv does not exist yet
#   make test WORKERS=1             how many tests run at a time
#   make fuzz SECONDS=600           how long each target is searched
#   make bench ARGS="--only paging --rounds 3"     a part of it; `--quick` to see that it runs

PYTHON ?= python3
ARGS ?=
WORKERS ?= 2
SECONDS ?= 60

VENV := .venv
BENCH := .bench
CLIENTS := .clients
SPARK := .spark
DOCS := .docs
BIN := $(VENV)/bin
PIP := $(BIN)/python -m pip --quiet --disable-pip-version-check
RUNTIME := $(VENV)/.runtime-installed
DEVELOPMENT := $(VENV)/.development-installed
PEERS := $(BENCH)/.peers-installed
OTHERS := $(CLIENTS)/.clients-installed
WRITERS := $(SPARK)/.spark-installed
SITE_TOOLS := $(DOCS)/.docs-installed
# What the package is built from: the extension is compiled again when one of these changes.
BUILD := pyproject.toml setup.py constraints.txt $(wildcard socialapi/_speedups/*.[ch])

# What the extension has a part in. The rest of the tests are the same with it and without.
PURE_TESTS := tests/bulk tests/models tests/resources tests/session tests/speedups tests/streams tests/wire \
	$(addprefix tests/proofs/test_,catalogs.py crm_export.py paging.py streams.py sync.py uploads.py)

# A copy of the package whose extension watches its own memory. Python's allocator is off, which would hide what it does;
# what Python itself never frees is no leak.
SANITIZED := .sanitize
SANITIZE_FLAGS := -O1 -g -fno-omit-frame-pointer -fsanitize=address,undefined -fno-sanitize-recover=undefined

.DEFAULT_GOAL := help
.DELETE_ON_ERROR:
.PHONY: help demo test test-pure test-spark lint docs sanitize fuzz prove bench bench-growth journeys simulate format clean

help: ## list the targets (the default)
	@awk -F ':.*## ' '/^[a-z-]+:.*## / { printf "  make %-12s %s\n", $$1, $$2 }' $(MAKEFILE_LIST)

demo: $(RUNTIME) ## upload a dirty export and load a dirty feed, with faults, and prove the outcome
	@$(BIN)/socialapi demo

test: $(DEVELOPMENT) $(OTHERS) ## run the tests with branch coverage, which has a floor
	@$(BIN)/coverage erase
	@SOCIALAPI_REQUIRE_CLIENTS=1 $(BIN)/coverage run -m pytest --numprocesses=$(WORKERS) --dist=loadgroup
	@$(BIN)/coverage combine --quiet
	@$(BIN)/coverage report

test-pure: $(DEVELOPMENT) ## run what the extension has a part in once more, without it
	@SOCIALAPI_NO_SPEEDUPS=1 $(BIN)/python -m pytest --numprocesses=$(WORKERS) --dist=loadgroup $(PURE_TESTS)

test-spark: $(WRITERS) ## run the tests of writing from PySpark, which takes Java 17 and a redis-server
	@$(SPARK)/bin/python -m pytest tests/spark --timeout=1200 $(ARGS)

sanitize: $(DEVELOPMENT) ## run the tests of the extension under the sanitizers for addresses and undefined behaviour
	@rm -rf $(SANITIZED)
	@CFLAGS="$(SANITIZE_FLAGS)" LDFLAGS="-fsanitize=address,undefined" \
		$(BIN)/python setup.py --quiet build --build-base $(SANITIZED)/build --build-lib $(SANITIZED)
	@LD_PRELOAD="$$($(CC) -print-file-name=libasan.so) $$($(CC) -print-file-name=libubsan.so)" \
		ASAN_OPTIONS=detect_leaks=0 UBSAN_OPTIONS=print_stacktrace=1 PYTHONMALLOC=malloc \
		$(BIN)/python -m pytest -o pythonpath=$(SANITIZED) tests/speedups --timeout=600

fuzz: $(DEVELOPMENT) ## search for inputs on which the extension and its twins disagree, SECONDS each
	@$(PIP) install atheris==3.0.0
	@for target in columns decode recent; do \
		$(BIN)/python -m tests.speedups.fuzz $$target $(SECONDS) || exit 1; \
	done

lint: $(DEVELOPMENT) ## check the format, the style and the types
	@$(BIN)/ruff format --check .
	@$(BIN)/ruff check .
	@$(BIN)/mypy
	@$(BIN)/pyright

docs: $(SITE_TOOLS) ## build the site of the documentation in site/, and check each of its links
	@$(DOCS)/bin/python -m docs.site.build

prove: $(DEVELOPMENT) ## run the proofs at full size; `make test` runs them at a twentieth of it
	@SOCIALAPI_FULL_SIZE=1 $(BIN)/python -m pytest tests/proofs -s -v --timeout=3600

bench: $(PEERS) ## compare speed and memory with the limit of the stack and with peers: benchmarks/RESULTS.md
	@$(BENCH)/bin/python -m benchmarks.run $(ARGS)

bench-growth: $(PEERS) ## measure how cost grows with records and with jobs at once: benchmarks/GROWTH.md
	@$(BENCH)/bin/python -m benchmarks.growth $(ARGS)

journeys: $(DEVELOPMENT) ## trace how many functions and files a value passes; `ARGS=--long` names them
	@$(BIN)/python -m benchmarks.journeys $(ARGS)

simulate: $(DEVELOPMENT) ## simulate thousands of workers on one quota, in virtual time: a section of docs/planning.md
	@$(PIP) install "$$(grep '^matplotlib==' benchmarks/requirements.txt)"
	@$(BIN)/python -m benchmarks.simulate $(ARGS)

format: $(DEVELOPMENT) ## rewrite the sources in the house format
	@$(BIN)/ruff format .
	@$(BIN)/ruff check --fix .

clean: ## remove everything that these targets made, the environments included
	@rm -rf $(VENV) $(BENCH) $(CLIENTS) $(SPARK) $(DOCS) site .cache .coverage .coverage.* htmlcov .mypy_cache .pytest_cache .ruff_cache .hypothesis .prove $(SANITIZED) .fuzz dist build *.egg-info
	@rm -f socialapi/_speedups/*.so
	@find . -name __pycache__ -type d -prune -exec rm -rf {} +

$(BIN)/python $(BENCH)/bin/python $(CLIENTS)/bin/python $(SPARK)/bin/python $(DOCS)/bin/python:
	@command -v $(PYTHON) >/dev/null || { echo "$(PYTHON) is not installed; name another with PYTHON=…" >&2; exit 1; }
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || \
		{ echo "Python 3.11 or later is needed, $(PYTHON) is $$($(PYTHON) -V 2>&1); name another with PYTHON=…" >&2; exit 1; }
	@echo "Setting up $(@:/bin/python=) …"
	@$(PYTHON) -m venv $(@:/bin/python=) || { rm -rf $(@:/bin/python=); exit 1; }

$(RUNTIME): $(BUILD) | $(BIN)/python
	@echo "Installing what the package needs …"
	@$(PIP) install --constraint constraints.txt --editable .
	@touch $@

$(DEVELOPMENT): $(BUILD) | $(BIN)/python
	@echo "Installing what the tests need …"
	@$(PIP) install --constraint constraints.txt --editable '.[dev]'
	@touch $@ $(RUNTIME)

# The peers may want other versions of what the package needs, and come second: this environment is for comparing only.
$(PEERS): benchmarks/requirements.txt $(BUILD) | $(BENCH)/bin/python
	@echo "Installing what is compared …"
	@$(BENCH)/bin/python -m pip --quiet --disable-pip-version-check install --constraint constraints.txt --editable .
	@$(BENCH)/bin/python -m pip --quiet --disable-pip-version-check install --requirement benchmarks/requirements.txt
	@touch $@

# Clients of other authors, with which the tests ask the emulator. They want other versions than the package does.
$(OTHERS): tests/clients/requirements.txt | $(CLIENTS)/bin/python
	@echo "Installing the clients of other authors …"
	@$(CLIENTS)/bin/python -m pip --quiet --disable-pip-version-check install --requirement tests/clients/requirements.txt
	@touch $@

# PySpark is large and needs Java, so that only those who write from it have to have it.
$(WRITERS): $(BUILD) | $(SPARK)/bin/python
	@echo "Installing PySpark …"
	@$(SPARK)/bin/python -m pip --quiet --disable-pip-version-check install --constraint constraints.txt --editable '.[dev,spark]'
	@touch $@

# The generator reads the sources of the package, and needs nothing of what the package needs.
$(SITE_TOOLS): docs/requirements.txt | $(DOCS)/bin/python
	@echo "Installing what builds the site …"
	@$(DOCS)/bin/python -m pip --quiet --disable-pip-version-check install --requirement docs/requirements.txt
	@touch $@
