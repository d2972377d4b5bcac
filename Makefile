PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
# The cache of indexed collections stays in the checkout, so that nothing is written into the home folder.
export XDG_CACHE_HOME ?= $(CURDIR)/.cache

.PHONY: help run test test-all check fix bench clean
.DEFAULT_GOAL := help

help:  ## these targets
	@grep -E '^[a-z-]+:.*##' $(MAKEFILE_LIST) | sed 's/:.*## /\t/' | expand -t 12

$(VENV)/bin/python:
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || \
		{ echo "convqa needs Python 3.11 or newer; name it: make run PYTHON=python3.12" >&2; exit 2; }
	@$(PYTHON) -m venv $(VENV)

$(VENV)/.base: pyproject.toml | $(VENV)/bin/python
	@echo "Installing convqa (base, without torch) into $(VENV) ..."
	@$(BIN)/python -m pip install --quiet --disable-pip-version-check --editable .
	@touch $@

# uv resolves and unpacks the large packages of the extras several times faster than pip does.
$(VENV)/.all: pyproject.toml | $(VENV)/bin/python
	@echo "Installing convqa with the extras that tests need into $(VENV) ..."
	@$(BIN)/python -m pip install --quiet --disable-pip-version-check uv
	@$(BIN)/uv pip install --quiet --python $(BIN)/python --editable '.[models,train,anserini,baseline,faiss,ja,pl,dev]'
	@touch $(VENV)/.base $@

run: $(VENV)/.base  ## install the base and answer, score and show the bundled conversations
	@$(BIN)/convqa run examples/qrecc-trec out/qrecc-trec --restart
	@echo
	@$(BIN)/convqa evaluate examples/qrecc-trec out/qrecc-trec --output out/qrecc-trec
	@echo
	@$(BIN)/python examples/conversation.py

test: $(VENV)/.all  ## install everything and run all tests but the slow ones
	@$(BIN)/ruff check .
	@$(BIN)/ruff format --check .
	@$(BIN)/mypy
	@$(BIN)/pytest -m 'not slow' --durations=10 -n 2 --dist loadfile

test-all: $(VENV)/.all  ## all tests, the slow ones too
	@$(BIN)/pytest

check: $(VENV)/.all  ## formatting, lint and types only
	@$(BIN)/ruff check .
	@$(BIN)/ruff format --check .
	@$(BIN)/mypy

fix: $(VENV)/.all  ## format, mend what can be mended, write generated docs anew
	@$(BIN)/ruff check --fix .
	@$(BIN)/ruff format .
	@$(BIN)/python docs/commands.py
	@$(BIN)/python docs/way_of_a_turn.py

bench: $(VENV)/.all  ## the benchmarks of docs/benchmarks.md that take minutes; needs the data that they name
	@$(BIN)/python benchmarks/conversations.py
	@$(BIN)/python benchmarks/lucene_equality.py
	@$(BIN)/python benchmarks/overhead.py

clean:  ## remove what make made
	rm -rf $(VENV) .cache out build dist
