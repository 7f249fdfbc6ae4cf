# Everything runs in .venv, which the first target creates; only Python 3.11+, make and pip are needed.
PYTHON ?= python3
WORKERS ?= 2
BIN := .venv/bin
PIP := $(BIN)/python -m pip --disable-pip-version-check
DEMO := .venv/.demo
INSTALLED := .venv/.installed
PYTEST := $(BIN)/python -m pytest -n $(WORKERS) --dist loadfile --no-loadscope-reorder

.PHONY: help install demo test test-all coverage audit paper lint format reference docs constraints clean

help:  ## list the targets
	@sed -n 's/^\([a-z-]*\):.*##  *\(.*\)/\1\t\2/p' Makefile | expand -t 13

install: $(INSTALLED)  ## set up .venv with all extras and the tools of contributors

demo: $(DEMO)  ## the main job, end to end, on real data
	$(BIN)/synsetmine demo --out demo

test: lint  ## all checks and the quick tests: minutes
	$(PYTEST) -m "not slow"

test-all: test  ## all checks and all tests: the quick ones, then the slow ones
	$(PYTEST) -m slow

coverage: $(INSTALLED)  ## the share of src that the quick tests run, by file
	$(PYTEST) -m "not slow" --cov=synsetmine --cov-report=term:skip-covered

audit: $(INSTALLED)  ## check the installed packages: conflicts, licences, known vulnerabilities (asks pypi.org)
	$(PIP) check
	$(BIN)/python -m tests.dependencies
	$(PYTHON) -m venv .venv/audit
	.venv/audit/bin/python -m pip install --quiet --disable-pip-version-check pip-audit
	$(PIP) freeze --exclude-editable | sed 's/+.*//' > .venv/audit/installed.txt
	.venv/audit/bin/pip-audit --strict --no-deps --disable-pip -r .venv/audit/installed.txt

paper: $(INSTALLED)  ## every table and figure of the paper; options in PAPER, such as PAPER=--quick
	$(BIN)/python -m experiments.paper $(PAPER)

lint: $(INSTALLED)  ## ruff, mypy, import-linter
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/lint-imports --no-cache

format: $(INSTALLED)  ## apply the fixes and the layout of ruff
	$(BIN)/ruff check --fix .
	$(BIN)/ruff format .

reference: $(INSTALLED)  ## write cli.md, settings.md and errors.md of docs/reference anew
	$(BIN)/python docs/reference/generate_cli.py
	$(BIN)/python docs/reference/generate_settings.py
	$(BIN)/python -m docs.reference.generate_errors
	$(BIN)/python docs/tutorials/generate_notebook.py

docs: $(INSTALLED)  ## the documentation as a site, in site/
	NO_MKDOCS_2_WARNING=1 $(BIN)/mkdocs build --quiet --strict  # a notice of the theme

constraints: $(INSTALLED)  ## write the installed versions to constraints.txt
	{ head -1 constraints.txt; $(PIP) freeze --exclude-editable | sed '/^#/d; s/+.*//'; } > .venv/constraints.txt
	mv .venv/constraints.txt constraints.txt

clean:  ## remove .venv and all that the tools wrote
	rm -rf .venv .coverage dist site .mypy_cache .pytest_cache .ruff_cache .hypothesis

$(BIN)/python:
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || \
		{ echo "synsetmine needs Python 3.11 or newer; name one with: make PYTHON=python3.12"; exit 1; }
	$(PYTHON) -m venv .venv

$(DEMO): pyproject.toml constraints.txt | $(BIN)/python
	$(PIP) install --quiet -c constraints.txt -e '.[demo]'
	touch $@

# pip reads dependency groups since 25.1; the one that venv brings may be older.
$(INSTALLED): pyproject.toml constraints.txt | $(BIN)/python
	$(PIP) install --quiet 'pip>=25.1'
	$(PIP) install --quiet -c constraints.txt -e '.[all]' --group dev
	touch $@ $(DEMO)
