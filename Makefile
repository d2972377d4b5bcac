PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
# Keep the cache of indexed collections in the checkout instead of the home folder.
export XDG_CACHE_HOME ?= $(CURDIR)/.cache

# Tests start many processes, which would otherwise compile every import again.
unexport PYTHONDONTWRITEBYTECODE

# Each test file runs in one worker, so that its tests share fixtures. Three workers keep two cores busy.
PYTEST := $(BIN)/pytest --durations=10 -n 3 --dist loadfile
# Starts one server for all tests, and passes its address in CONVQA_TEST_ELASTICSEARCH.
WITH_SERVER := $(BIN)/python tests/services/elasticsearch_server.py run --brief --

.PHONY: help run test test-hostile test-hostile-sample test-services test-models test-gpu test-browser test-lowest test-all screenshots check fix release bench clean
.DEFAULT_GOAL := help

help:  ## show this help
	@grep -E '^[a-z-]+:.*##' $(MAKEFILE_LIST) | sed 's/:.*## /\t/' | expand -t 22

$(VENV)/bin/python:
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || \
		{ echo "convqa requires Python 3.11 or newer. Choose one: make run PYTHON=python3.12" >&2; exit 2; }
	@$(PYTHON) -m venv $(VENV)

$(VENV)/.base: pyproject.toml | $(VENV)/bin/python
	@echo "Installing convqa (base, without torch) into $(VENV) ..."
	@$(BIN)/python -m pip install --quiet --disable-pip-version-check --editable .
	@touch $@

# Each test lane has a stamp file for its packages. uv installs large packages several times faster than pip.
INSTALL = $(BIN)/uv pip install --quiet --python $(BIN)/python

# Tests use only the run checker of TIRA's client, so its requirements, such as pandas, are not installed.
$(VENV)/.test: pyproject.toml | $(VENV)/bin/python
	@echo "Installing convqa and its test requirements (without torch) into $(VENV) ..."
	@$(BIN)/python -m pip install --quiet --disable-pip-version-check uv
	@$(INSTALL) --editable '.[baseline,documents,experiments,ja,mcp,pl,server,sharc,dev]'
	@$(INSTALL) --no-deps 'tira>=0.0.200'
	@# Its wheel contains a package named tests, which would hide ours from worker processes.
	@rm -rf $(VENV)/lib/python*/site-packages/tests
	@touch $(VENV)/.base $@

# Only Anserini's jar of pyserini is used, so its requirements, such as torch, are not installed.
$(VENV)/.services: pyproject.toml | $(VENV)/.test
	@echo "Installing Java, Anserini and Ray into $(VENV) ..."
	@$(INSTALL) --editable '.[anserini-light,ray]'
	@$(INSTALL) --no-deps 'pyserini>=1.0'
	@touch $@

$(VENV)/.models: pyproject.toml | $(VENV)/.test
	@echo "Installing torch and transformers into $(VENV) ..."
	@$(INSTALL) --editable '.[dev-models]'
	@touch $@

# Playwright uses the system's Chromium and downloads none.
$(VENV)/.browser: pyproject.toml | $(VENV)/.test
	@echo "Installing playwright and axe into $(VENV) ..."
	@$(INSTALL) --editable '.[dev-browser]'
	@touch $@

run: $(VENV)/.base  ## install convqa, hold a conversation, then answer and score the bundled example
	@printf '%s\n' 'When was Uranus discovered?' 'Why is it blue-green?' | \
		$(BIN)/convqa chat --collection examples/qrecc-trec/passages.jsonl.gz
	@$(BIN)/convqa run examples/qrecc-trec out/qrecc-trec --restart
	@echo
	@$(BIN)/convqa evaluate examples/qrecc-trec out/qrecc-trec --output out/qrecc-trec

test: check  ## run check and all tests that need neither a server nor torch
	@$(PYTEST) -m 'not services and not models and not browser and not hostile and not slow'

test-hostile: $(VENV)/.test  ## run the hostile-input tests, each with time and memory limits
	@$(PYTEST) -m hostile --dist load tests/hostile

test-hostile-sample: $(VENV)/.test  ## run every eighth hostile-input test, which takes a minute
	@$(PYTEST) -m hostile_sample --dist load tests/hostile

test-services: $(VENV)/.services  ## run the tests with Elasticsearch, Anserini and Ray
	@$(WITH_SERVER) $(PYTEST) -m 'services and not slow'

test-models: $(VENV)/.models  ## run the tests with torch
	@$(PYTEST) -m 'models and not services and not slow'

test-gpu: $(VENV)/.models  ## run the tests with torch on a GPU, skipped without one
	@$(PYTEST) -m gpu -n 0

test-browser: $(VENV)/.browser  ## run the tests of the web page in headless Chromium (apt-get install --yes chromium)
	@$(PYTEST) -m 'browser and not slow' tests/browser

# Of the direct requirements only, as those of others are not ours to declare.
LOWEST := build/lowest/bin/python
test-lowest: $(VENV)/.test  ## run tests of most parts with the lowest declared versions of all requirements
	@$(BIN)/uv venv --quiet --clear --python $(BIN)/python build/lowest
	@$(BIN)/uv pip install --quiet --python $(LOWEST) --resolution lowest-direct \
		--editable '.[documents,experiments,mcp,server]' 'pytest>=8.2' 'hypothesis>=6.100' 'fpdf2>=2.8' 'pypdf>=5'
	@$(LOWEST) -m pytest -q -p no:cacheprovider tests/test_qa.py tests/cli/test_ask.py tests/server/test_openai.py \
		tests/server/test_service.py tests/server/test_mcp.py tests/documents/test_word.py tests/documents/test_pdf.py

test-all: $(VENV)/.services $(VENV)/.models $(VENV)/.browser check  ## run all tests, including slow ones
	@$(WITH_SERVER) $(PYTEST) --hypothesis-profile=default

check: $(VENV)/.test  ## check lint, formatting and types
	@$(BIN)/ruff check .
	@$(BIN)/ruff format --check .
	@$(BIN)/mypy

fix: $(VENV)/.test  ## fix lint and formatting, and regenerate docs
	@$(BIN)/ruff check --fix .
	@$(BIN)/ruff format .
	@$(BIN)/python docs/reference/commands.py
	@$(BIN)/python docs/reference/way_of_a_turn.py
	@$(BIN)/python benchmarks/tables.py

screenshots: $(VENV)/.browser  ## retake the screenshots in docs/images
	@CONVQA_SCREENSHOTS=1 $(BIN)/pytest -q tests/browser/test_screenshots.py tests/browser/test_tables.py tests/browser/test_report.py -k pictures

release: $(VENV)/.test  ## check version and changelog, build packages into dist/, and test the wheel
	@$(BIN)/python scripts/release.py

bench: $(VENV)/.services $(VENV)/.models  ## run the benchmarks that take minutes; they need their data
	@$(BIN)/python benchmarks/conversations.py
	@$(BIN)/python benchmarks/lucene_equality.py
	@$(BIN)/python benchmarks/speed.py overhead

clean:  ## remove generated files
	rm -rf $(VENV) .cache out build dist
