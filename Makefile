PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
# The cache of indexed collections stays in the checkout, so that nothing is written into the home folder.
export XDG_CACHE_HOME ?= $(CURDIR)/.cache

# Tests start many processes: each would compile every import again if bytecode were not kept.
unexport PYTHONDONTWRITEBYTECODE

# A test file runs in one worker, so that it shares what its fixtures make.
PYTEST := $(BIN)/pytest --durations=10 -n 2 --dist loadfile
# One server for all tests of the command that follows, handed to them in CONVQA_TEST_ELASTICSEARCH.
WITH_SERVER := $(BIN)/python tests/services/elasticsearch_server.py run --brief --

.PHONY: help run test test-hostile test-services test-models test-gpu test-browser test-all screenshots check fix release bench clean
.DEFAULT_GOAL := help

help:  ## these targets
	@grep -E '^[a-z-]+:.*##' $(MAKEFILE_LIST) | sed 's/:.*## /\t/' | expand -t 15

$(VENV)/bin/python:
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || \
		{ echo "convqa needs Python 3.11 or newer; name it: make run PYTHON=python3.12" >&2; exit 2; }
	@$(PYTHON) -m venv $(VENV)

$(VENV)/.base: pyproject.toml | $(VENV)/bin/python
	@echo "Installing convqa (base, without torch) into $(VENV) ..."
	@$(BIN)/python -m pip install --quiet --disable-pip-version-check --editable .
	@touch $@

# Each lane of tests has a stamp for what it installs. uv unpacks large packages several times faster than pip does.
INSTALL = $(BIN)/uv pip install --quiet --python $(BIN)/python

# Of TIRA's client only the check of a run is used, so its requirements, pandas among them, stay away.
$(VENV)/.test: pyproject.toml | $(VENV)/bin/python
	@echo "Installing convqa and what its tests need (without torch) into $(VENV) ..."
	@$(BIN)/python -m pip install --quiet --disable-pip-version-check uv
	@$(INSTALL) --editable '.[baseline,documents,experiments,ja,mcp,pl,server,dev]'
	@$(INSTALL) --no-deps 'tira>=0.0.200'
	@# Its wheel brings its own tests as the package tests, in whose place worker processes would look for ours.
	@rm -rf $(VENV)/lib/python*/site-packages/tests
	@touch $(VENV)/.base $@

# Of pyserini only Anserini's jar is used, so its requirements, torch among them, stay away.
$(VENV)/.services: pyproject.toml | $(VENV)/.test
	@echo "Installing Java, Anserini and Ray into $(VENV) ..."
	@$(INSTALL) --editable '.[anserini-light,ray]'
	@$(INSTALL) --no-deps 'pyserini>=1.0'
	@touch $@

$(VENV)/.models: pyproject.toml | $(VENV)/.test
	@echo "Installing torch and transformers into $(VENV) ..."
	@$(INSTALL) --editable '.[dev-models]'
	@touch $@

# Playwright drives a Chromium of the system: none is downloaded.
$(VENV)/.browser: pyproject.toml | $(VENV)/.test
	@echo "Installing playwright and axe into $(VENV) ..."
	@$(INSTALL) --editable '.[dev-browser]'
	@touch $@

run: $(VENV)/.base  ## install the base, hold a conversation, and answer and score the bundled input
	@printf '%s\n' 'What makes Uranus so unusual?' 'Why is it tilted?' | \
		$(BIN)/convqa chat --collection examples/qrecc-trec/passages.jsonl.gz
	@$(BIN)/convqa run examples/qrecc-trec out/qrecc-trec --restart
	@echo
	@$(BIN)/convqa evaluate examples/qrecc-trec out/qrecc-trec --output out/qrecc-trec

test: check  ## formatting, lint, types, and the tests that need neither a server nor torch
	@$(PYTEST) -m 'not services and not models and not browser and not hostile and not slow'

test-hostile: $(VENV)/.test  ## hostile input: some hundreds of cases, each bounded in time and memory
	@$(PYTEST) -m hostile --dist load tests/hostile

test-services: $(VENV)/.services  ## the tests with Elasticsearch (one server, up and down), Anserini and Ray
	@$(WITH_SERVER) $(PYTEST) -m 'services and not slow'

test-models: $(VENV)/.models  ## the tests with torch
	@$(PYTEST) -m 'models and not services and not slow'

test-gpu: $(VENV)/.models  ## the tests with torch on a GPU: they are skipped where torch sees none
	@$(PYTEST) -m gpu -n 0

test-browser: $(VENV)/.browser  ## the page, in a Chromium without a window (apt-get install --yes chromium)
	@$(PYTEST) -m 'browser and not slow' tests/browser

test-all: $(VENV)/.services $(VENV)/.models $(VENV)/.browser check  ## all tests, the slow ones too
	@$(WITH_SERVER) $(PYTEST) --hypothesis-profile=default

check: $(VENV)/.test  ## formatting, lint and types only
	@$(BIN)/ruff check .
	@$(BIN)/ruff format --check .
	@$(BIN)/mypy

fix: $(VENV)/.test  ## format, mend what can be mended, write generated docs anew
	@$(BIN)/ruff check --fix .
	@$(BIN)/ruff format .
	@$(BIN)/python docs/reference/commands.py
	@$(BIN)/python docs/reference/way_of_a_turn.py
	@$(BIN)/python benchmarks/tables.py

screenshots: $(VENV)/.browser  ## the pictures of the page in docs/images anew
	@CONVQA_SCREENSHOTS=1 $(BIN)/pytest -q tests/browser/test_screenshots.py tests/browser/test_report.py -k pictures

release: $(VENV)/.test  ## check version and changelog, build the packages into dist/, and try the wheel in a bare environment
	@$(BIN)/python scripts/release.py

bench: $(VENV)/.services $(VENV)/.models  ## the benchmarks of docs/benchmarks that take minutes; needs the data that they name
	@$(BIN)/python benchmarks/conversations.py
	@$(BIN)/python benchmarks/lucene_equality.py
	@$(BIN)/python benchmarks/speed.py overhead

clean:  ## remove what make made
	rm -rf $(VENV) .cache out build dist
