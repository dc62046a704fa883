# make test    every test and check          make demo    a real Label Studio with a simulated crowd
# make soak    the long versions of tests    make bench   what benchmarks/ needs besides
# make format  rewrites the code in style    make clean   removes that, but not .label-studio

PYTHON ?= python3
ENVIRONMENT := .venv
BIN := $(ENVIRONMENT)/bin

.PHONY: test demo soak bench format clean
.DEFAULT_GOAL := test

test: $(ENVIRONMENT)/installed-test
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/pytest --numprocesses 2 --dist loadfile --no-loadscope-reorder

demo: $(ENVIRONMENT)/installed
	@$(BIN)/python -m ls_crowd_plugin demo

soak: $(ENVIRONMENT)/installed-test
	$(BIN)/pytest -m soak

bench: $(ENVIRONMENT)/installed-bench

format: $(ENVIRONMENT)/installed-test
	$(BIN)/ruff check --fix .
	$(BIN)/ruff format .

clean:
	rm -rf $(ENVIRONMENT) build dist .mypy_cache .pytest_cache .ruff_cache .hypothesis .screenshots

# Each stamp says that what pyproject.toml names is installed, so nothing is installed again until that file changes.
$(ENVIRONMENT)/installed: pyproject.toml
	$(PYTHON) -m venv $(ENVIRONMENT)
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --editable .
	@touch $@

$(ENVIRONMENT)/installed-%: $(ENVIRONMENT)/installed
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --editable '.[$*]'
	@touch $@
