# make test    every test and check              make quick   unit tests without any server, < 1 minute
# make soak    the long versions of tests        make demo    a real Label Studio with a simulated crowd
# make format  formats the code                  make bench   installs what benchmarks/ compares with
# make clean   removes what was made, but not .label-studio

PYTHON ?= python3
ENVIRONMENT := .venv
BIN := $(ENVIRONMENT)/bin

# One thread for each of the two processes: numpy would start more than there are cores.
PYTEST := OMP_NUM_THREADS=1 OPENBLAS_NUM_THREADS=1 $(BIN)/pytest --numprocesses 2 --dist loadfile --no-loadscope-reorder

# Compiled tests are kept even where the environment says otherwise: to compile them again takes ten seconds.
unexport PYTHONDONTWRITEBYTECODE

.PHONY: test quick demo soak bench format clean
.DEFAULT_GOAL := test

test: $(ENVIRONMENT)/installed-test
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(PYTEST)

quick: $(ENVIRONMENT)/installed-test
	$(BIN)/ruff check .
	HYPOTHESIS_PROFILE=quick $(PYTEST) tests/unit -m "not soak and not postgres and not slow"

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

# A stamp file says that what pyproject.toml names is installed, so nothing is installed again until that file changes.
$(ENVIRONMENT)/installed: pyproject.toml
	$(PYTHON) -m venv $(ENVIRONMENT)
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --no-compile --editable .
	@touch $@

$(ENVIRONMENT)/installed-%: $(ENVIRONMENT)/installed
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --no-compile --editable '.[$*]'
	@touch $@
