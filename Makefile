# Everything a newcomer needs: `make demo` and `make test` start from a bare Python.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
STAMP := $(VENV)/.installed

OLDEST := .venv-oldest
# How many tests run at a time.
WORKERS ?= auto

.PHONY: demo attack test test-oldest lint types mutants docs bench bench-quick clean

$(STAMP): pyproject.toml
	$(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --upgrade pip
	$(BIN)/python -m pip install --quiet --editable '.[dev]'
	touch $(STAMP)

demo: $(STAMP)
	$(BIN)/falsezero demo --output demo-output --force

test: $(STAMP)
	OPENBLAS_NUM_THREADS=1 $(BIN)/python -m pytest -q -n $(WORKERS)

# The lowest versions that pyproject.toml allows. scikit-learn 1.6 checks estimators with the array
# API, which scipy has to be asked for.
test-oldest:
	$(PYTHON) -m venv $(OLDEST)
	$(OLDEST)/bin/python -m pip install --quiet --upgrade pip
	$(OLDEST)/bin/python tools/lowest_versions.py > $(OLDEST)/constraints.txt
	$(OLDEST)/bin/python -m pip install --quiet --constraint $(OLDEST)/constraints.txt --editable '.[dev]'
	SCIPY_ARRAY_API=1 OPENBLAS_NUM_THREADS=1 $(OLDEST)/bin/python -m pytest -q -n $(WORKERS)

attack: $(STAMP)
	OPENBLAS_NUM_THREADS=1 $(BIN)/python -m tests.attack $(TRIES)

lint: $(STAMP)
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .

types: $(STAMP)
	$(BIN)/mypy

# Small changes to the source that the tests should notice; MUTANTS is how many are tried.
MUTANTS ?= 40
mutants: $(STAMP)
	OPENBLAS_NUM_THREADS=1 $(BIN)/python -m tools.mutants --sample $(MUTANTS)

docs: $(STAMP)
	$(BIN)/python -m pip install --quiet --editable '.[docs]'
	OPENBLAS_NUM_THREADS=1 $(BIN)/python -m sphinx -b html -W --keep-going docs docs/_build/html

bench: $(STAMP)
	$(BIN)/python -m pip install --quiet --editable '.[bench]'
	$(BIN)/python -m benchmarks

bench-quick: $(STAMP)
	$(BIN)/python -m benchmarks --quick

clean:
	rm -rf $(VENV) $(OLDEST) build dist demo-output docs/_build docs/api/generated .pytest_cache .mypy_cache .ruff_cache .hypothesis
