# What is needed: Python 3.11 or later with pip and venv, and make. Every target sets up what it uses, inside .venv.
#   make test PYTHON=python3.13     another interpreter, when .venv does not exist yet
#   make test WORKERS=1             how many tests run at a time
#   make test ARGS=tests/streams    a part of the tests; so for machines and matrix: ARGS="-k tokens", or a file
#   make test-pythons PYTHONS="python3.12 /opt/python/bin/python3.14"     those Pythons, by name or path
#   make test-pure PURE_TESTS=tests            all tests without the extension
#   make fuzz SECONDS=600           how long each target is searched
#   make machines EXAMPLES=2000     how many sequences of steps each machine tries (300); SEED=… takes the same steps
#   make soak MINUTES=3             how long everything runs at once; ARGS="--seed 7" draws other faults
#   make bench ARGS="--only paging --rounds 3"     a part of it; `--quick` to see that it runs

PYTHON ?= python3
ARGS ?=
WORKERS ?= 2
SECONDS ?= 60
PYTHONS ?= python3.11 python3.12 python3.13 python3.14 python3.15
# Which versions of the dependencies are installed.
VERSIONS ?= --constraint constraints.txt
# Targets that have a part of the tests name it as `testpaths`: pytest takes it unless ARGS has a path.
EXAMPLES ?= 300
# Drawn anew for each run unless it is named.
SEED ?=
MINUTES ?= 30

VENV := .venv
BENCH := .bench
CLIENTS := .clients
SPARK := .spark
DOCS := .docs
RELEASE := .release
BUNDLE := .bundle
OLDEST := .oldest
NEWEST := .newest
PYTHON_ENVIRONMENTS := .pythons
FUZZING := .fuzzing
AIRFLOW := .airflow
BIN := $(VENV)/bin
PIP := $(BIN)/python -m pip --quiet --disable-pip-version-check
RUNTIME := $(VENV)/.runtime-installed
DEVELOPMENT := $(VENV)/.development-installed
PEERS := $(BENCH)/.peers-installed
OTHERS := $(CLIENTS)/.clients-installed
WRITERS := $(SPARK)/.spark-installed
SITE_TOOLS := $(DOCS)/.docs-installed
RELEASERS := $(RELEASE)/.release-installed
BUNDLERS := $(BUNDLE)/.bundle-installed
FLOORS := $(OLDEST)/.oldest-installed
FUZZERS := $(FUZZING)/.fuzzing-installed
SCHEDULERS := $(AIRFLOW)/.airflow-installed
# What the package is built from: the extension is compiled again when one of these changes.
BUILD := pyproject.toml setup.py constraints.txt $(wildcard socialapi/_speedups/*.[ch])

# Where the extension has the largest part, in minutes. Once a week CI runs all tests without it, by
# `make test-pure PURE_TESTS=tests`. The proofs run without it at full size by `SOCIALAPI_NO_SPEEDUPS=1 make prove`.
PURE_TESTS ?= tests/bulk tests/models tests/speedups tests/streams tests/wire tests/session/test_pager.py

# What the dependencies have a part in, in minutes: answers, calls, files, signing, the commands, Redis.
OLDEST_TESTS := tests/models tests/session tests/wire \
	$(addprefix tests/bulk/inputs/test_,arrow.py json.py keyed_rows.py) \
	$(addprefix tests/integrations/test_,arrow.py redis_fence.py redis_server.py) \
	$(addprefix tests/cli/test_,app.py audience.py catalog.py demo.py jobs.py posts.py run_job.py) \
	$(addprefix tests/test_,client.py config.py file_lock.py imports.py sqlite_file.py)

# A copy of the package whose extension watches its own memory. Python's allocator is off, which would hide what it does;
# what Python itself never frees is no leak.
SANITIZED := .sanitize
WARNINGS := -Wall -Wextra -Werror -Wno-cast-function-type -Wno-missing-field-initializers
SANITIZE_FLAGS := $(WARNINGS) -O1 -g -fno-omit-frame-pointer -fsanitize=address,undefined -fno-sanitize-recover=undefined

# Programs that the tests start would compile the package anew each time, and every run the tests.
unexport PYTHONDONTWRITEBYTECODE

.DEFAULT_GOAL := help
.DELETE_ON_ERROR:
.PHONY: help demo test test-all coverage test-pure test-spark test-oldest test-newest test-pythons test-other-python lint docs audit sanitize fuzz fuzz-sanitized aarch64 airflow machines prove soak matrix release-check bundle bench bench-growth journeys simulate format clean

help: ## list the targets (the default)
	@awk -F ':.*## ' '/^[a-z0-9-]+:.*## / { printf "  make %-17s %s\n", $$1, $$2 }' $(MAKEFILE_LIST)

demo: $(RUNTIME) ## upload a dirty export and load a dirty feed, with faults, and prove the outcome
	@$(BIN)/socialapi demo
	@echo "Before these commands: . $(BIN)/activate"

test: $(DEVELOPMENT) ## run the tests, but for those that take long
	@$(BIN)/python -m pytest --numprocesses=$(WORKERS) --dist=loadgroup -m "not slow" $(ARGS)

test-all: $(DEVELOPMENT) $(OTHERS) ## run all tests; `ARGS="-m slow"` for those that `make test` leaves out
	@SOCIALAPI_REQUIRE_CLIENTS=1 $(BIN)/python -m pytest --numprocesses=$(WORKERS) --dist=loadgroup $(ARGS)

coverage: $(DEVELOPMENT) $(OTHERS) ## run the tests with branch coverage, which has a floor and takes twice the time
	@$(BIN)/coverage erase
	@SOCIALAPI_REQUIRE_CLIENTS=1 $(BIN)/coverage run -m pytest --numprocesses=$(WORKERS) --dist=loadgroup
	@$(BIN)/coverage combine --quiet
	@$(BIN)/coverage report

test-pure: $(DEVELOPMENT) ## run what the extension has a large part in once more, without it; `PURE_TESTS=tests` for all
	@SOCIALAPI_NO_SPEEDUPS=1 $(BIN)/python -m pytest --numprocesses=$(WORKERS) --dist=loadgroup $(PURE_TESTS)

test-spark: $(WRITERS) ## run the tests of writing from PySpark, which takes Java 17 and a redis-server
	@$(SPARK)/bin/python -m pytest -o testpaths=tests/spark --timeout=1200 $(ARGS)

test-oldest: $(FLOORS) ## run a part of the tests with the oldest dependencies that pyproject.toml allows
	@$(OLDEST)/bin/python -m pytest --numprocesses=$(WORKERS) --dist=loadgroup -o "testpaths=$(OLDEST_TESTS)" $(ARGS)

test-newest: ## run the tests with the newest dependencies that pyproject.toml allows
	@rm -f $(NEWEST)/.development-installed
	@$(MAKE) --no-print-directory test-all VENV=$(NEWEST) VERSIONS="--upgrade --upgrade-strategy eager"

test-pythons: ## run the tests on each of PYTHONS that is there, in environments of their own
	@mkdir -p $(PYTHON_ENVIRONMENTS) && rm -f $(PYTHON_ENVIRONMENTS)/results
	@$(MAKE) --no-print-directory $(OTHERS) # by the default Python, as for every other target
	@ran=0; failed=0; for python in $(PYTHONS); do \
		command -v $$python >/dev/null || { echo "$$python is not installed" >>$(PYTHON_ENVIRONMENTS)/results; continue; }; \
		version=$$($$python -c 'import platform; print(platform.python_version())' 2>$(PYTHON_ENVIRONMENTS)/error) || \
			{ echo "$$python does not run: $$(grep . $(PYTHON_ENVIRONMENTS)/error | head -n 3 | tr -s ' \n' ' ' | sed 's/ $$//')" \
				>>$(PYTHON_ENVIRONMENTS)/results; continue; }; \
		folder=$(PYTHON_ENVIRONMENTS)/$$version; ran=$$((ran + 1)); \
		{ $(MAKE) --no-print-directory test-all VENV=$(PYTHON_ENVIRONMENTS)/$$version PYTHON=$$python 2>&1; echo $$? >$$folder.status; } | tee $$folder.log; \
		status=$$(cat $$folder.status); [ "$$status" = 0 ] || failed=$$((failed + 1)); \
		said=$$(grep -E '[0-9]+ (passed|failed|error)' $$folder.log | tail -n 1 | sed 's/^=* *//; s/ *=*$$//'); \
		echo "$$version: exit status $$status, $${said:-$$(tail -n 1 $$folder.log)}" >>$(PYTHON_ENVIRONMENTS)/results; \
	done; \
	cat $(PYTHON_ENVIRONMENTS)/results; echo "$$ran ran, $$failed failed"; [ $$ran -gt 0 ] && [ $$failed -eq 0 ]

test-other-python: $(DEVELOPMENT) ## try the source archive on another Python of this machine, in a minute
	@$(BIN)/python -m tools.other_python

audit: $(DEVELOPMENT) $(RELEASERS) ## check the licences of the dependencies, and ask about known vulnerabilities
	@$(BIN)/python -m tools.licences
	@$(RELEASE)/bin/python -m tools.audit

sanitize: $(DEVELOPMENT) ## run the tests of the extension under the sanitizers for addresses and undefined behaviour
	@rm -rf $(SANITIZED)
	@CFLAGS="$(SANITIZE_FLAGS)" LDFLAGS="-fsanitize=address,undefined" \
		$(BIN)/python setup.py --quiet build --build-base $(SANITIZED)/build --build-lib $(SANITIZED)
	@LD_PRELOAD="$$($(CC) -print-file-name=libasan.so) $$($(CC) -print-file-name=libubsan.so)" \
		ASAN_OPTIONS=detect_leaks=0 UBSAN_OPTIONS=print_stacktrace=1 PYTHONMALLOC=malloc \
		$(BIN)/python -m pytest -o pythonpath=$(SANITIZED) tests/speedups tests/fuzz -k "speedups or native" --timeout=600

fuzz: $(FUZZERS) ## search with each target for inputs that break a promise, SECONDS each; `ARGS="csv xml"` for some
	@$(FUZZING)/bin/python -m tests.fuzz.run $(SECONDS) $(ARGS)

fuzz-sanitized: $(FUZZERS) ## search with the targets of the extension under the sanitizers, SECONDS each, which takes clang; `ARGS=native-table` for one
	@rm -rf $(SANITIZED)
	@CC=clang LDSHARED="clang -shared" CFLAGS="$(SANITIZE_FLAGS) -fsanitize=fuzzer-no-link" \
		$(FUZZING)/bin/python setup.py --quiet build --build-base $(SANITIZED)/build --build-lib $(SANITIZED)
	@LD_PRELOAD="$$(echo $(FUZZING)/lib/python3*/site-packages/asan_with_fuzzer.so)" \
		ASAN_OPTIONS=detect_leaks=0 UBSAN_OPTIONS=print_stacktrace=1 PYTHONMALLOC=malloc PYTHONSAFEPATH=1 PYTHONPATH=$(SANITIZED):. \
		$(FUZZING)/bin/python -m tests.fuzz.run $(SECONDS) $(or $(ARGS),$$(grep -o 'native-[a-z0-9-]*' tests/fuzz/native.py | sort -u))

aarch64: ## compile the extension for aarch64 and run its tests under qemu, on Debian as root; `ARGS=` names some
	@PYTHON=$(PYTHON) tools/aarch64.sh $(ARGS)

machines: $(DEVELOPMENT) ## drive the SDK and models of the service through EXAMPLES (300) random sequences of steps each; `SEED=…` takes the same ones, `ARGS="-k tokens"` a part
	@seed=$(or $(SEED),$(shell od -An -N4 -tu4 /dev/urandom | tr -d ' ')); echo "SEED=$$seed"; \
		SOCIALAPI_FULL_SIZE=1 SOCIALAPI_MACHINE_EXAMPLES=$(EXAMPLES) \
		$(BIN)/python -m pytest -o testpaths=tests/machines -s --hypothesis-seed=$$seed $(ARGS)

airflow: $(DEVELOPMENT) $(SCHEDULERS) ## run the DAG of the examples by a real Airflow, against the emulator
	@$(BIN)/python -m pytest -o testpaths=tests/examples/test_airflow_dag.py $(ARGS)

lint: $(DEVELOPMENT) ## check the format, the style and the types
	@$(BIN)/ruff format --check .
	@$(BIN)/ruff check .
	@$(BIN)/mypy
	@$(BIN)/pyright

docs: $(SITE_TOOLS) ## build the site of the documentation in site/, and check each of its links
	@$(DOCS)/bin/python -m docs.site.build

prove: $(DEVELOPMENT) ## run the proofs at full size; `make test-all` runs them at a twentieth of it
	@SOCIALAPI_FULL_SIZE=1 $(BIN)/python -m pytest tests/proofs -s -v --timeout=3600

matrix: $(DEVELOPMENT) ## hold every route against every fault and every hostile answer, with the extension and without; `make test-all` has a part; `ARGS=` names one
	@SOCIALAPI_FULL_SIZE=1 $(BIN)/python -m pytest --numprocesses=$(WORKERS) -o testpaths=tests/matrix --timeout=1800 $(ARGS)
	@SOCIALAPI_NO_SPEEDUPS=1 SOCIALAPI_FULL_SIZE=1 $(BIN)/python -m pytest --numprocesses=$(WORKERS) -o testpaths=tests/matrix --timeout=1800 $(ARGS)

soak: $(DEVELOPMENT) ## run everything at once on one client for MINUTES, with random faults: nothing is lost, nothing grows
	@$(PIP) install "$$(grep '^matplotlib==' benchmarks/requirements.txt)"
	@$(BIN)/python -m tests.soak --minutes $(MINUTES) $(ARGS)

release-check: $(RELEASERS) ## build what is released, install it in three ways, run the demo from each; `ARGS="--tag v0.1.0"`
	@$(RELEASE)/bin/python -m tools.release_check $(ARGS)

bundle: $(BUNDLERS) ## make a PyInstaller bundle of a program that uses the package, and run it
	@$(BUNDLE)/bin/python -m tools.bundle

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
	@rm -rf $(VENV) $(BENCH) $(CLIENTS) $(SPARK) $(DOCS) $(RELEASE) $(BUNDLE) $(OLDEST) $(NEWEST) $(FUZZING) $(AIRFLOW) $(PYTHON_ENVIRONMENTS) site .cache .coverage .coverage.* htmlcov .mypy_cache .pytest_cache .ruff_cache .hypothesis .prove .soak $(SANITIZED) .aarch64 .fuzz dist build *.egg-info
	@rm -f socialapi/_speedups/*.so
	@find . -name __pycache__ -type d -prune -exec rm -rf {} +

$(BIN)/python $(BENCH)/bin/python $(CLIENTS)/bin/python $(SPARK)/bin/python $(DOCS)/bin/python $(RELEASE)/bin/python $(BUNDLE)/bin/python $(OLDEST)/bin/python $(FUZZING)/bin/python $(AIRFLOW)/bin/python:
	@command -v $(PYTHON) >/dev/null || { echo "$(PYTHON) is not installed; name another with PYTHON=…" >&2; exit 1; }
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || \
		{ echo "Python 3.11 or later is needed, $(PYTHON) is $$($(PYTHON) -V 2>&1); name another with PYTHON=…" >&2; exit 1; }
	@echo "Setting up $(@:/bin/python=) …"
	@$(PYTHON) -m venv $(@:/bin/python=) || { rm -rf $(@:/bin/python=); exit 1; }

$(RUNTIME): $(BUILD) | $(BIN)/python
	@echo "Installing what the package needs …"
	@$(PIP) install $(VERSIONS) --editable .
	@touch $@

$(DEVELOPMENT): $(BUILD) | $(BIN)/python
	@echo "Installing what the tests need …"
	@$(PIP) install $(VERSIONS) --editable '.[dev]'
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

# Airflow wants other versions of what the tests need, which start it from their own environment.
$(SCHEDULERS): tests/examples/requirements-airflow.txt $(BUILD) | $(AIRFLOW)/bin/python
	@echo "Installing Airflow …"
	@$(AIRFLOW)/bin/python -m pip --quiet --disable-pip-version-check install --editable . --requirement tests/examples/requirements-airflow.txt
	@touch $@

# The generator reads the sources of the package, and needs nothing of what the package needs.
$(SITE_TOOLS): docs/requirements.txt | $(DOCS)/bin/python
	@echo "Installing what builds the site …"
	@$(DOCS)/bin/python -m pip --quiet --disable-pip-version-check install --requirement docs/requirements.txt
	@touch $@

# What builds, judges and audits a release. It never has the package, which is tried in environments of its own.
$(RELEASERS): tools/requirements.txt tools/requirements-build.txt | $(RELEASE)/bin/python
	@echo "Installing what checks a release …"
	@$(RELEASE)/bin/python -m pip --quiet --disable-pip-version-check install --require-hashes --requirement tools/requirements-build.txt
	@$(RELEASE)/bin/python -m pip --quiet --disable-pip-version-check install --requirement tools/requirements.txt
	@touch $@

# The package itself is installed anew for each bundle.
$(BUNDLERS): tools/requirements-bundle.txt | $(BUNDLE)/bin/python
	@echo "Installing what makes bundles …"
	@$(BUNDLE)/bin/python -m pip --quiet --disable-pip-version-check install --requirement tools/requirements-bundle.txt
	@touch $@

# The floors of what users have, and the newest of what only the tests need.
$(FLOORS): constraints-oldest.txt tools/requirements-oldest.txt $(BUILD) | $(OLDEST)/bin/python
	@echo "Installing the oldest dependencies …"
	@$(OLDEST)/bin/python -m pip --quiet --disable-pip-version-check install --constraint constraints-oldest.txt \
		--editable '.[arrow,pandas,zstd,redis,otel,remote]' --requirement tools/requirements-oldest.txt
	@touch $@

# Atheris is compiled for some versions of Python on Linux and macOS, and nothing else here needs it.
$(FUZZERS): $(BUILD) | $(FUZZING)/bin/python
	@echo "Installing the fuzzer …"
	@$(FUZZING)/bin/python -m pip --quiet --disable-pip-version-check install --only-binary atheris atheris==3.0.0 || \
		{ echo "atheris has no wheel for $$($(FUZZING)/bin/python -V) here; remove $(FUZZING) and name another with PYTHON=…" >&2; exit 1; }
	@$(FUZZING)/bin/python -m pip --quiet --disable-pip-version-check install --constraint constraints.txt --editable '.[dev]'
	@touch $@
