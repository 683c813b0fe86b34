# Two commands set everything up in .venv: `make demo` installs and diagnoses a shipped sample, `make test` installs and passes the tests.
# PYTHON chooses the interpreter (3.10 or newer), VENV the folder, PYTEST_ARGS what else pytest shall hear.
PYTHON ?= python3
VENV ?= .venv
SAMPLE ?= samples/silent-crash
PYTEST_ARGS ?=

COMPILED = forensics/ruleset/compiled.json

.PHONY: demo test check format picture clean

demo: $(VENV)/.installed $(COMPILED)
	@echo '$$ ddforensics diagnose $(SAMPLE)'
	@$(VENV)/bin/ddforensics diagnose $(SAMPLE); code=$$?; echo "(exit code $$code)"; test $$code -ne 2 -a $$code -ne 3

test: check $(COMPILED)
	$(VENV)/bin/pytest -n auto -m "not remote" --cov --cov-report= $(PYTEST_ARGS)
	$(VENV)/bin/pytest -m remote --cov --cov-append --cov-report=term-missing:skip-covered $(PYTEST_ARGS)

check: $(VENV)/.dev
	$(VENV)/bin/ruff check .
	$(VENV)/bin/ruff format --check .
	$(VENV)/bin/mypy

format: $(VENV)/.dev
	$(VENV)/bin/ruff check --fix .
	$(VENV)/bin/ruff format .

picture: $(VENV)/.dev
	$(VENV)/bin/python tests/cli/test_readme.py

$(VENV)/bin/python:
	$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 10) and "Python 3.10 or newer is needed: make PYTHON=/path/to/python3 ...")'
	$(PYTHON) -m venv $(VENV)

$(VENV)/.installed: pyproject.toml forensics/ruleset/_alike.c | $(VENV)/bin/python
	$(VENV)/bin/python -m pip install -qq --disable-pip-version-check --editable .
	touch $@

$(VENV)/.dev: pyproject.toml forensics/ruleset/_alike.c | $(VENV)/bin/python
	$(VENV)/bin/python -m pip install -qq --disable-pip-version-check --editable '.[dev]'
	$(VENV)/bin/python -m pip install -qq --disable-pip-version-check --only-binary :all: google-re2 ahocorasick_rs || echo 'google-re2 or ahocorasick_rs has no wheel for this machine: their tests are skipped'
	touch $@ $(VENV)/.installed

# an installation makes it, and it is not used once a rule has changed: this only keeps the start quick
$(COMPILED): $(wildcard rules/*.yaml rules/*/*.yaml forensics/ruleset/*.py forensics/model/*.py) | $(VENV)/.installed
	$(VENV)/bin/python -m forensics.ruleset.compiled

clean:
	rm -rf $(VENV) $(COMPILED) forensics/ruleset/_alike.*.so .mypy_cache .pytest_cache .ruff_cache .coverage .hypothesis dist
