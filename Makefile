# make run   installs everything and opens the dashboard on the bundled samples
# make test  installs everything and runs every check and test, browser tests included
PYTHON ?= python3
VENV ?= .venv
BIN := $(VENV)/bin
READY := $(VENV)/.ready
.PHONY: run test check bench clean
.DEFAULT_GOAL := run

$(READY): pyproject.toml constraints.txt
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || { echo "ragtriage needs Python 3.11 or newer; name one with PYTHON=python3.12"; exit 1; }
	@test -x $(BIN)/python || $(PYTHON) -m venv $(VENV)
	@$(BIN)/python -m pip install --quiet --disable-pip-version-check -c constraints.txt -e ".[judge,test]"
	@touch $(READY)

run: $(READY)
	@$(BIN)/ragtriage demo

check: $(READY)
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/lint-imports

test: check
	$(BIN)/pytest -n auto --dist loadgroup

bench: $(READY)
	$(BIN)/python benchmarks/dashboard_speed.py

clean:
	rm -rf $(VENV) .mypy_cache .ruff_cache .pytest_cache .import_linter_cache .hypothesis
