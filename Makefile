# The book's commands.  `make help` lists them.
PYTHON ?= python3
VENV := .venv
ifeq ($(OS),Windows_NT)
BIN := $(VENV)/Scripts
else
BIN := $(VENV)/bin
endif
PY := $(BIN)/python
PORT ?= 8000

.DEFAULT_GOAL := help
.PHONY: help book test serve lab notebooks pdf handouts experiments clean lock benchmark measure linkcheck reproduce

help:  ## list the commands
	@awk -F ':.*## ' '/^[a-z]+:.*## / {printf "  make %-11s %s\n", $$1, $$2}' $(MAKEFILE_LIST)

book: $(VENV)/ready  ## build the website in _build/html
	@$(PY) book/_tools/build.py

test: book  ## run every test against the built site, and against the PDFs where they are there
	@$(PY) -m pytest

serve: book  ## show the site at http://localhost:8000 (PORT=... for another)
	@$(PY) -m http.server --bind 127.0.0.1 --directory _build/html $(PORT)

lab: $(VENV)/ready _build/labels.json  ## open the chapters as notebooks in JupyterLab (ARGS=... goes to it)
	@$(PY) book/_tools/lab.py $(ARGS)

# Numbers of tables, figures and references come from a built book; a chapter that does not build can still be opened.
_build/labels.json: | $(VENV)/ready
	@echo "Building the book once, for the numbers of its tables and figures"
	-@$(PY) book/_tools/build.py

notebooks: book  ## executed notebooks of all pages, and one archive of them
	@echo "Notebooks: _build/html/notebooks; archive: _build/html/notebooks/sequence-models-notebooks.zip"

PAPER_OPTIONS = $(if $(EDITION),--edition $(EDITION)) $(if $(PAPER),--paper $(PAPER))

pdf: $(VENV)/ready  ## typeset the whole book, for students and for instructors (EDITION=student PAPER=letter; needs XeLaTeX)
	@$(PY) book/_tools/paper.py book $(PAPER_OPTIONS)

handouts: $(VENV)/ready  ## typeset a handout for each chapter, in both editions (CHAPTER=one_head EDITION=student PAPER=letter)
	@$(PY) book/_tools/paper.py handouts $(if $(CHAPTER),--chapter $(CHAPTER)) $(PAPER_OPTIONS)

experiments: $(VENV)/ready  ## train the grid of the laboratory anew (RUNS="fresh mixed choices", or all)
	@$(PY) -m experiments.train $(RUNS)

clean:  ## remove the site, the execution cache and the environment
	rm -rf _build $(VENV) *.egg-info .pytest_cache .hypothesis

lock: $(VENV)/ready  ## pin every package in requirements.txt anew
	@$(PY) -m pip install --quiet 'pip-tools>=7.5'
	@$(PY) book/_tools/lock.py

benchmark: $(VENV)/ready  ## time cold builds, prose edits and helper edits
	@$(PY) book/_tools/benchmark.py

measure: book  ## bytes sent and seconds until the mathematics stands, page by page (needs Chromium)
	@$(PY) book/_tools/measure_site.py

reproduce: $(VENV)/ready  ## build twice from nothing and compare every byte
	@$(PY) book/_tools/reproduce.py

linkcheck: book  ## try every external link, with retries
	@$(PY) book/_tools/linkcheck.py

$(VENV)/ready: requirements.txt pyproject.toml
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11) and "make: wanted Python 3.11 or newer, got " + sys.version.split()[0] + "; name another with PYTHON=...")'
	@echo "Setting up $(VENV) from requirements.txt (a minute or two, once)"
	@$(PYTHON) -m venv $(VENV)
	@$(PY) -m pip install --quiet --disable-pip-version-check -r requirements.txt
	@$(PY) -m pip install --quiet --disable-pip-version-check --no-deps -e .
	@touch $@
