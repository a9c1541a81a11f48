# Everything runs from a virtual environment that the first target to need it makes.
PYTHON ?= python3
VENV ?= .venv
SPARK ?= 4.1
# More arguments for the command a target runs: make test ARGS="-k frames"
ARGS ?=

BIN := $(VENV)/bin
STAMP := $(VENV)/.installed
PIP := $(BIN)/python -m pip --disable-pip-version-check
EXTRAS := connect,plot,postgres,server,dev,docs
TYPED := $(wildcard src benchmarks examples)

# The theme prints a page about the next MkDocs on every build; pyproject.toml bounds it.
export NO_MKDOCS_2_WARNING := 1

.DEFAULT_GOAL := help
.PHONY: help demo serve page test test-spark soak bench lint format docs pictures clean java chromium constraints

help: ## List the targets
	@awk -F ':.*## ' '/^[a-z-]+:.*## / {printf "  %-12s %s\n", $$1, $$2}' $(MAKEFILE_LIST)

demo: $(STAMP) java ## Run the freeway example
	$(BIN)/python examples/freeway/full.py $(ARGS)

serve: $(STAMP) java page ## Open the page in a browser: six people's queries over a freeway
	$(BIN)/muntin demo desk $(ARGS)

page: $(STAMP) ## Build the page, with Node from the machine or from PyPI
	@bash scripts/build-page.sh $(BIN)/python

# Two processes, each with a Spark session of its own for the files it gets: much of a stream's
# time is waiting, and most of the other tests are one thread.
test: $(STAMP) java page chromium ## Run the tests, without the slow ones
	$(BIN)/python -m tests.compile_kernels
	$(BIN)/pytest -n 2 --dist loadfile --no-loadscope-reorder $(ARGS)

test-spark: java ## Run the core of the tests on an older Spark: make test-spark SPARK=4.1
	bash scripts/test-spark.sh $(PYTHON) $(SPARK) $(ARGS)

# A soak test that needs longer than an hour says so with its own timeout mark.
soak: $(STAMP) java page chromium ## Run the slow tests, and properties with all of their examples
	$(BIN)/pytest -m "slow or hypothesis" --hypothesis-profile=soak --timeout=3600 $(ARGS)

bench: $(STAMP) java ## Run the benchmarks
	$(BIN)/python -m benchmarks $(ARGS)

lint: $(STAMP) ## Check format, style and types
	$(BIN)/ruff format --check .
	$(BIN)/ruff check .
	$(BIN)/mypy --strict $(TYPED)

format: $(STAMP) ## Format the code and fix what can be fixed
	$(BIN)/ruff check --fix .
	$(BIN)/ruff format .

pictures: $(STAMP) java ## Draw the pictures of the documentation again
	for script in scripts/draw_*.py; do $(BIN)/python $$script || exit 1; done

docs: $(STAMP) ## Build the documentation into site/
	$(BIN)/mkdocs build --strict

clean: ## Remove what was built or cached; the virtual environment stays
	rm -rf build dist site web/build src/muntin/server/static spark-warehouse metastore_db derby.log artifacts
	rm -rf .mypy_cache .ruff_cache .pytest_cache .hypothesis
	find . -path ./$(VENV) -prune -o -name __pycache__ -type d -exec rm -rf {} +

java:
	@bash scripts/ensure-java.sh

chromium:
	@bash scripts/ensure-chromium.sh >/dev/null

# The build backends (ours, and the one of PySpark, which is published as source) go in first
# and build without isolation: a constraints file does not reach an isolated build, and an
# unpinned backend could break a build that worked.
$(STAMP): pyproject.toml constraints.txt
	@bash scripts/ensure-venv.sh $(PYTHON) $(VENV)
	$(PIP) install -q -c constraints.txt hatchling editables setuptools
	$(PIP) install -q -c constraints.txt --no-build-isolation -e '.[$(EXTRAS)]'
	@touch $@

constraints: ## Resolve constraints.txt anew (with the oldest Python: PYTHON=...)
	PYTHON=$(PYTHON) EXTRAS=$(EXTRAS) bash scripts/resolve-constraints.sh
