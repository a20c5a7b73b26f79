# make run   installs what it needs and opens the dashboard on the bundled samples; PORT=8600 chooses its port
# make test  installs everything and runs every check and test, browser tests included; COVERAGE=1 prints what they reach
#   of lines and branches, measured in the tests of test-fast, and fails below the floor in pyproject.toml
# make test-fast runs the tests that need no browser, no documentation and no further process
# make test-pythons runs those on every Python from 3.11 to 3.14 that this machine has
# make coverage runs them and prints which branches they reach; fails below the floor in pyproject.toml
# make docs  builds the documentation into build/docs
# make bench measures speed and memory at full size, for hours; make bench-quick a part of it, in minutes;
#   BEFORE=COMMIT measures that commit too, in the same run, and prints the ratios
# make audit looks up known vulnerabilities of the pinned dependencies, where an index is reachable
VENV ?= .venv
BIN := $(VENV)/bin
READY := $(VENV)/.ready
TESTED := $(VENV)/.ready-to-test
NEW_ENOUGH := import sys; sys.exit(sys.version_info < (3, 11))
.PHONY: run test test-fast test-pythons coverage check docs audit bench bench-quick clean
EARLIER := $(if $(BEFORE),--before $(BEFORE))
FAST := not browser and not docs and not processes
.DEFAULT_GOAL := run

$(READY): pyproject.toml constraints.txt
	@set -e; \
	for python in "$(PYTHON)" python3 python3.14 python3.13 python3.12 python3.11; do \
	  if [ -n "$$python" ] && "$$python" -c '$(NEW_ENOUGH)' 2>/dev/null; then found="$$python"; break; fi; \
	done; \
	if [ -z "$${found:-}" ]; then echo "ragtriage needs Python 3.11 or newer; name one with PYTHON=/path/to/python"; exit 1; fi; \
	if ! $(BIN)/python -m pip --version >/dev/null 2>&1; then \
	  rm -rf "$(VENV)"; \
	  "$$found" -m venv "$(VENV)" || { rm -rf "$(VENV)"; echo "no virtual environment could be made; on Debian: apt-get install python3-venv"; exit 1; }; \
	fi; \
	echo "Installing into $(VENV) (once; half a minute, or some minutes on a slow machine)"
	@$(BIN)/python -m pip install --quiet --disable-pip-version-check -c constraints.txt -e ".[images,judge,live,mcp]"
	@touch $(READY)

$(TESTED): $(READY)
	@echo "Installing what checks and tests need"
	@$(BIN)/python -m pip install --quiet --disable-pip-version-check -c constraints.txt -e ".[images,judge,test]"
	@touch $(TESTED)

run: $(READY)
	@echo "Loading the bundled samples and starting the dashboard; the address follows"
	@$(BIN)/ragtriage demo $(if $(PORT),--port $(PORT))

check: $(TESTED)
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/lint-imports

test: check
	$(BIN)/pytest -rs -n auto --dist loadgroup $(if $(COVERAGE),--cov --cov-branch --cov-report=)
	@if [ -n "$(COVERAGE)" ]; then echo "Branches and lines reached in per cent:"; $(BIN)/coverage report --format=total; fi

test-fast: $(TESTED)
	$(BIN)/pytest -q -rs -n auto --dist loadgroup -m "$(FAST)"

test-pythons:
	@set -e; for version in 3.11 3.12 3.13 3.14; do \
	  if command -v python$$version >/dev/null; then \
	    echo "Python $$version"; $(MAKE) test-fast VENV=.venv-$$version PYTHON=python$$version; \
	  else echo "Python $$version is not on this machine"; fi; \
	done

coverage: $(TESTED)
	$(BIN)/pytest -q -n auto --dist loadgroup -m "$(FAST)" --cov --cov-branch --cov-report=term

docs: $(TESTED)
	$(BIN)/python -m sphinx -W --keep-going -n -q -E -b html docs build/docs
	@echo "Open build/docs/index.html"

audit: $(TESTED)
	@.ci/audit $(BIN)/python

bench: $(TESTED)
	$(BIN)/python benchmarks/all_figures.py $(EARLIER)

bench-quick: $(TESTED)
	$(BIN)/python benchmarks/all_figures.py --quick $(EARLIER)

clean:
	rm -rf $(VENV) .venv-3.* build .mypy_cache .ruff_cache .pytest_cache .import_linter_cache .hypothesis .coverage .coverage.*
