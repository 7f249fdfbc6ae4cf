# Everything runs in .venv, which the first target creates; only Python 3.11+, make and pip are needed.
PYTHON ?= python3
BIN := .venv/bin
INSTALLED := .venv/.installed

.PHONY: install demo test check audit paper lint format reference docs clean

install: $(INSTALLED)  ## sets up .venv

demo: $(INSTALLED)  ## the main job, end to end, on real data
	$(BIN)/synsetmine demo --out demo

test: lint  ## all checks and all tests
	$(BIN)/python -m pytest -n 2 --dist loadfile --no-loadscope-reorder

check: lint  ## the fast subset, for while one works
	$(BIN)/python -m pytest -n 2 --dist loadfile --no-loadscope-reorder -m "not slow and not spark"

audit: $(INSTALLED)  ## the packages: conflicts, licences, known weaknesses (asks pypi.org)
	$(BIN)/python -m pip check
	$(BIN)/python -m tests.dependencies
	$(PYTHON) -m venv .venv/audit
	.venv/audit/bin/python -m pip install --quiet --disable-pip-version-check pip-audit
	$(BIN)/python -m pip freeze --exclude-editable | sed 's/+.*//' > .venv/audit/installed.txt
	.venv/audit/bin/pip-audit --strict --no-deps --disable-pip -r .venv/audit/installed.txt

paper: $(INSTALLED)  ## every table and figure of the paper; options in PAPER, such as PAPER=--quick
	$(BIN)/python -m experiments.paper $(PAPER)

lint: $(INSTALLED)
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/lint-imports --no-cache

format: $(INSTALLED)
	$(BIN)/ruff check --fix .
	$(BIN)/ruff format .

reference: $(INSTALLED)  ## write docs/reference/cli.md and errors.md anew
	$(BIN)/python docs/reference/generate_cli.py
	$(BIN)/python -m docs.reference.generate_errors

docs: $(INSTALLED)  ## the documentation as a site, in site/
	$(BIN)/mkdocs build --quiet --strict

$(INSTALLED): pyproject.toml constraints.txt
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || \
		{ echo "synsetmine needs Python 3.11 or newer; name one with: make PYTHON=python3.12"; exit 1; }
	$(PYTHON) -m venv .venv
	$(BIN)/python -m pip install --quiet --disable-pip-version-check -c constraints.txt -e '.[dev]'
	touch $@

clean:
	rm -rf .venv dist site .mypy_cache .pytest_cache .ruff_cache .hypothesis
