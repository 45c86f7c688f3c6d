# Each target sets itself up in .venv: Python 3.11+ and the package registry are all it needs.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
# What running needs, and what development needs on top: `make demo` installs only the first.
RUNS := $(VENV)/.runs
READY := $(VENV)/.ready
PIP := $(BIN)/python -m pip install --quiet --disable-pip-version-check --constraint constraints.txt
# Modules are compiled once instead of in every process: tests start hundreds of them.
export PYTHONDONTWRITEBYTECODE :=

.PHONY: setup demo quick test long check format generated bench bench-utility bench-sets bench-planner \
	bench-forecast bench-clipping bench-distribution bench-dashboard bench-mechanisms bench-calendar bench-groups bench-releases bench-growth bench-import bench-startup bench-service bench-ledger experiments audit fuzz \
	every-release race \
	campaign faults engines docs screenshots picture requirements sbom dist clean

setup: $(READY)

$(RUNS): pyproject.toml constraints.txt
	$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11) and "PaPPI needs Python 3.11 or newer; set PYTHON=…")'
	test -x $(BIN)/python || $(PYTHON) -m venv $(VENV)
	$(PIP) --editable .
	touch $@

$(READY): $(RUNS)
	$(PIP) --editable '.[dev]'
	touch $@

demo: $(RUNS)  ## import the example logs, release their PPIs, write a page of charts for each to build/demo
	rm -rf build/demo
	$(BIN)/pappi demo build/demo

# One thread for each process: several processes with two each would wait for one another.
test: setup  ## everything that must hold
	OPENBLAS_NUM_THREADS=1 $(BIN)/python -m pytest -n 3 --dist worksteal

long: setup  ## the same in full: with all the examples, draws and combinations that `make test` leaves out
	PAPPI_LONG=1 OPENBLAS_NUM_THREADS=1 $(BIN)/python -m pytest -n 2 --dist worksteal

quick: setup  ## unit and property tests that build no workspace: the loop while working
	OPENBLAS_NUM_THREADS=1 $(BIN)/python -m pytest -q -n 2 -m "not outside" tests/unit tests/property

check: setup  ## style, types, architecture, generated files
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/lint-imports
	$(BIN)/python -m tools.docs --check

format: setup
	$(BIN)/ruff check --fix .
	$(BIN)/ruff format .

generated: setup  ## rewrite generated files: the schema, the reference, the page on semantics
	$(BIN)/python -m tests.engines.edge_cases
	$(BIN)/python -m tools.docs

docs: setup  ## the documentation as a site: build/site/index.html
	$(BIN)/mkdocs build --strict

screenshots: setup  ## the pictures of the pages in the docs; needs chromium
	$(BIN)/python -m tests.browser.tour docs/images/pages

picture: setup  ## the chart in the README, drawn by the lines below it
	$(BIN)/python -m tools.picture

bench: setup  ## speed, as ratios against a bare scan in the same run
	$(BIN)/python -m benchmarks.evaluate

bench-utility: setup  ## errors, as ratios against the paper's mechanisms
	$(BIN)/python -m benchmarks.utility

bench-sets: setup  ## catalogues as sets: Sepsis, the examples, other libraries (extra `peers`)
	$(BIN)/python -m benchmarks.sets
	$(BIN)/python -m benchmarks.sets_peers

bench-planner: setup  ## whether the planner chooses the best way to release
	$(BIN)/python -m benchmarks.planner

bench-dashboard: setup  ## eight PPIs of five logs: verdicts decided, wrong, advised against
	$(BIN)/python -m benchmarks.dashboard

bench-forecast: setup  ## what a preview says, compared with a rehearsal and a release
	$(BIN)/python -m benchmarks.forecast

bench-clipping: setup  ## whether clipping is reported correctly, how often it still misleads, what reporting it costs
	$(BIN)/python -m benchmarks.clipping

bench-distribution: setup  ## medians, percentiles and shares within limits, read off one noisy histogram
	$(BIN)/python -m benchmarks.distribution
	$(BIN)/python -m benchmarks.permute_and_flip
	$(BIN)/python -m benchmarks.derived

bench-mechanisms: setup  ## CPU of the mechanisms alone
	$(BIN)/python -m benchmarks.mechanism_time

bench-calendar: setup  ## working hours, as a ratio to plain durations
	$(BIN)/python -m benchmarks.working_hours

bench-groups: setup  ## what groups and persons add to an evaluation and a release, compared with hand-written SQL
	$(BIN)/python -m benchmarks.groups

bench-releases: setup  ## what a release costs beyond exact values: of one answer, of a few, of 6,000
	$(BIN)/python -m benchmarks.releases

bench-growth: setup  ## sealing the hundredth month beside the second, and beside other logs
	$(BIN)/python -m benchmarks.growth

bench-import: setup  ## CSV and Parquet into a workspace, beside DuckDB's own sorted table
	$(BIN)/python -m benchmarks.imports

bench-startup: setup  ## what a command costs that reads no event, compared with Python and numpy alone
	$(BIN)/python -m benchmarks.startup

bench-service: setup  ## fifty analysts on a log of a million events, compared with the bare query; then each page
	$(BIN)/python -m benchmarks.service
	$(BIN)/python -m benchmarks.service --dashboards
	$(BIN)/python -m benchmarks.pages

bench-ledger: setup  ## what it costs to open a ledger of up to a million entries
	$(BIN)/python -m benchmarks.ledger

engines: setup  ## every measure on every engine over real logs and a million events
	PAPPI_ENGINES=1 $(BIN)/python -m pytest -s tests/engines/test_contract_logs.py

every-release: setup  ## every mechanism × shape of a PPI × noise × adjacency: planned, or rightly refused
	PAPPI_EVERY_RELEASE=1 $(BIN)/python -m pytest -q tests/unit/test_every_release.py

race: setup  ## 64 processes for one budget: through the library and HTTP, SQLite and PostgreSQL
	for through in library http; do for on in sqlite postgres; do \
		$(BIN)/python -m tests.service.race --through $$through --on $$on \
			--processes 64 --attempts 200 --places 1280 || exit 1; done; done

campaign: setup  ## a thousand kills of a release on each database
	$(BIN)/python -m tests.crash.campaign --kills 1000 --on sqlite
	$(BIN)/python -m tests.crash.campaign --kills 1000 --on postgres

faults: setup  ## a thousand ledgers whose files are dropped, cut off, swapped and put back
	FAULT_WORLDS=1000 $(BIN)/python -m pytest -q tests/crash/test_file_faults.py

experiments: setup  ## the paper, re-run: build/experiments/report.html
	$(BIN)/python -m experiments

fuzz: setup  ## a million generated and a million mutated definitions: an hour on two free cores
	$(BIN)/python -m tests.fuzz.campaign --generated 1000000 --mutated 1000000 --jobs 2

audit: setup  ## all layers of the audit in full length: well over an hour on two cores
	PAPPI_AUDIT_PAIRS=100000 PAPPI_AUDIT_SAMPLES=20000 PAPPI_AUDIT_LOGS=10 $(BIN)/python -m pytest -n 2 \
		tests/audit tests/leak/test_release_attacks.py tests/leak/test_scope_attacks.py

# For every file of a version, on any machine; the versions are those of constraints.txt.
HASHED = uv pip compile --quiet --universal --python-version 3.11 --no-header --no-annotate \
	--generate-hashes --constraint constraints.txt

requirements:  ## the hashes of what goes into the image, and of what builds it; needs uv
	$(HASHED) --extra service --extra postgres pyproject.toml --output-file requirements/image.txt
	$(HASHED) requirements/image-build.in --output-file requirements/image-build.txt

sbom:  ## the contents of the image, installed and listed the same way: build/image/sbom.cdx.json
	rm -rf build/image build/image-tools
	PYTHON=$(PYTHON) tools/image.sh build/image build/image-tools

dist:  ## wheel and sdist in dist/, checked; the wheel runs the demo in a separate environment
	PYTHON=$(PYTHON) tools/dist.sh dist build/dist

clean:
	rm -rf $(VENV) build dist .mypy_cache .ruff_cache .pytest_cache .hypothesis .import_linter_cache
