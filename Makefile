# make verify: train with Megatron FSDP here and judge the success criteria.
# make test:   run the tests; TESTS='-m training' chooses among them.   make lint: ruff and mypy.
# PYTHON=python3.12 make verify takes another interpreter; VENV=DIR another environment.
PYTHON ?= python3
VENV ?= .venv
TESTS ?=
BIN := $(VENV)/bin

# An environment made by another release of Python is made anew.
RELEASE := $(shell $(PYTHON) -c 'import sys; print("%d.%d" % sys.version_info[:2])' 2>/dev/null)
STAMP := $(VENV)/.made-$(RELEASE)

.PHONY: verify test lint format wheel clean
.DEFAULT_GOAL := verify

verify: $(STAMP)-smoke
	$(BIN)/skill run verify

test: $(STAMP)-dev
	$(BIN)/python -m pytest $(TESTS)

lint: $(STAMP)-dev
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy

format: $(STAMP)-dev
	$(BIN)/ruff check --fix .
	$(BIN)/ruff format .

wheel: $(STAMP)-dev
	$(BIN)/python -m build --wheel

clean:
	rm -rf $(VENV) build dist .mypy_cache .pytest_cache .ruff_cache .hypothesis

$(STAMP):
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || \
	  { echo "error: Python 3.11 or newer is needed; '$(PYTHON)' is $(RELEASE). Try: PYTHON=python3.12 make verify"; exit 2; }
	$(PYTHON) -m venv --clear $(VENV)
	@touch $@

$(STAMP)-smoke: $(STAMP) pyproject.toml
	$(BIN)/python -m pip install --quiet --editable '.[smoke]'
	@touch $@

$(STAMP)-dev: $(STAMP) pyproject.toml
	$(BIN)/python -m pip install --quiet --editable '.[dev,smoke]'
	@touch $@ $(STAMP)-smoke
