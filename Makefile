# Two commands for a new machine with python3 (>= 3.11, venv) and make:
#   make demo   design a panel, train its experts on the digits, label the held-out ones
#   make test   everything that continuous integration checks
PYTHON ?= python3
BIN := .venv/bin

.PHONY: demo test slow format clean

# A stamp per set of dependencies: a second run installs nothing.
.venv/installed: pyproject.toml
	$(PYTHON) -m venv .venv
	$(BIN)/pip install --quiet --disable-pip-version-check --editable .
	touch $@

.venv/installed-test: pyproject.toml .venv/installed
	$(BIN)/pip install --quiet --disable-pip-version-check --editable '.[test]'
	touch $@

# What the tests run as separate processes (a model server, a federated-learning framework): it needs other
# versions of libraries that covote uses, so it has an environment of its own.
.venv/peers/installed: tests/peers.txt
	$(PYTHON) -m venv .venv/peers
	.venv/peers/bin/pip install --quiet --disable-pip-version-check --requirement tests/peers.txt
	touch $@

.PHONY: peers
peers: .venv/peers/installed

demo: .venv/installed
	$(BIN)/covote demo

# Two workers: one thread of linear algebra and of scikit-learn's loops for each.
test slow: export OMP_NUM_THREADS = 1
test slow: export OPENBLAS_NUM_THREADS = 1

test: .venv/installed-test .venv/peers/installed
	$(BIN)/ruff format --check
	$(BIN)/ruff check
	$(BIN)/mypy
	$(BIN)/lint-imports --no-cache
	$(BIN)/pytest -n 2 -m 'not slow'

# The statistical and exhaustive checks that take minutes.
slow: .venv/installed-test .venv/peers/installed
	$(BIN)/pytest -n 2 -m slow

format: .venv/installed-test
	$(BIN)/ruff format
	$(BIN)/ruff check --fix

clean:
	rm -rf .venv demo
