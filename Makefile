# Everything a newcomer needs: `make demo` and `make test` start from a bare Python.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
STAMP := $(VENV)/.installed

.PHONY: demo test test-all lint types docs bench bench-quick clean

$(STAMP): pyproject.toml
	$(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --upgrade pip
	$(BIN)/python -m pip install --quiet --editable '.[dev]'
	touch $(STAMP)

demo: $(STAMP)
	$(BIN)/falsezero demo --output demo-output --force

test: $(STAMP)
	OPENBLAS_NUM_THREADS=1 $(BIN)/python -m pytest -q -n auto

lint: $(STAMP)
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .

types: $(STAMP)
	$(BIN)/mypy

docs: $(STAMP)
	$(BIN)/python -m pip install --quiet --editable '.[docs]'
	OPENBLAS_NUM_THREADS=1 $(BIN)/python -m sphinx -b html -W --keep-going docs docs/_build/html

bench: $(STAMP)
	$(BIN)/python -m pip install --quiet --editable '.[bench]'
	$(BIN)/python -m benchmarks

bench-quick: $(STAMP)
	$(BIN)/python -m benchmarks --quick

clean:
	rm -rf $(VENV) build dist demo-output docs/_build docs/api/generated .pytest_cache .mypy_cache .ruff_cache .hypothesis
