# Every target is complete on a fresh machine with Python 3.11 and make: it makes .venv by itself.
PYTHON ?= $(shell command -v python3.11 || command -v python3)
BIN := .venv/bin
DIST := dist
# A hundred processes start, and each would compile all of it anew where this is set.
export PYTHONDONTWRITEBYTECODE :=

.PHONY: help install demo smoke test coverage processes browser postgresql platforms kills world scale soak mutants model chaos check messages bench wheel sbom release lock

help:  ## say what there is
	@grep -hE '^[a-z]+:.*##' $(MAKEFILE_LIST) | sed -E 's/^([a-z]+):[^#]*## /  make \1\t/'

install: .venv/runtime  ## make .venv with what the product needs, for your own installation

demo: .venv/runtime  ## start everything on this machine, with a sandbox; DEMO="--web-port 8001" for another port
	@$(BIN)/python -m examples.demo $(DEMO)

smoke: .venv/runtime  ## run the same processes to a finished order, and check both sides
	@$(BIN)/python -m examples.demo --smoke

# Three, since a third of the time is waiting: for processes that start, and for what is slow.
test: .venv/development  ## run all tests but those in a browser or with real processes, on SQLite
	$(BIN)/python -m pytest --numprocesses 3 --dist worksteal -m "not processes and not browser and not chaos"

coverage: .venv/development  ## run the same tests, and name the lines and branches that none of them runs
	$(BIN)/python -m pytest --numprocesses 3 --dist worksteal --cov --cov-report=term \
		-m "not processes and not browser and not chaos"

processes: .venv/development  ## run the tests that start real processes: web, workers, beat, brokers, nginx
	$(BIN)/python -m pytest --numprocesses 2 --dist worksteal -m "processes and not browser and not chaos"

browser: .venv/development  ## use the admin in Chromium, and check each page with axe, wide and narrow, light and dark
	$(BIN)/python -m pytest --numprocesses 2 --dist worksteal -m browser tests/browser

postgresql: .venv/development  ## run what uses a database again, on the PostgreSQL at TEST_DATABASE_URL
	$(BIN)/python -m tests.postgresql

platforms: JOURNEYS := --numprocesses 3 --dist worksteal -m "not processes and not chaos" tests/journeys
platforms: .venv/development  ## run the journeys on each other kind of platform, on one or the other database
	SANDBOX_PLATFORM=strict $(BIN)/python -m tests.postgresql --database-only $(JOURNEYS)
	SANDBOX_PLATFORM=brief $(BIN)/python -m pytest $(JOURNEYS)
	SANDBOX_PLATFORM=odd $(BIN)/python -m tests.postgresql --database-only $(JOURNEYS)

kills: .venv/development  ## kill and stop real workers and the web while both sides work, on both databases
	$(BIN)/python -m tests.chaos --only kills --only web

world: .venv/development  ## play twenty seeds of a whole installation under one clock, with every fault at every point
	$(BIN)/python -m lab.world

scale: .venv/development  ## 20,000 properties and events through real processes and troubles, with a table
	$(BIN)/python -m lab.scale

mutants: .venv/development  ## plant the bugs that the tests must see, one at a time
	$(BIN)/python -m lab.mutants

model: .venv/development  ## reckon what a larger installation needs; MODEL="--workspaces 1000 --events 10"
	@$(BIN)/python -m lab.model $(MODEL)

soak: .venv/development  ## two to four workers, two beats, every trouble again and again; SOAK_MINUTES=60 for an hour
	$(BIN)/python -m lab.soak

chaos: .venv/development  ## the proofs of the push at the size of a long run, with a table
	$(BIN)/python -m tests.chaos --full

check: .venv/development  ## formatting, lint, types, import contracts, missing migrations, catalogues, the schema of the API
	$(BIN)/ruff format --check .
	$(BIN)/ruff check .
	$(BIN)/mypy .
	$(BIN)/lint-imports
	$(BIN)/python manage.py makemigrations --check --dry-run
	$(BIN)/python manage.py check --fail-level WARNING
	$(BIN)/python -m lab.messages --check
	$(BIN)/python manage.py spectacular --validate --fail-on-warn --file /dev/null
	PUBLIC_BASE_URL=https://crm.example.com $(BIN)/python manage.py check --deploy --fail-level WARNING

messages: .venv/development  ## bring the catalogues of the languages in locale/ up to date, and compile them
	$(BIN)/python -m lab.messages

bench: .venv/development  ## measure how fast it is, with wrk where there is one, and write docs/benchmarks.md
	$(BIN)/python -m lab.benchmarks --write

wheel: .venv/development  ## build the wheel into dist/, beside the list of what it needs, with hashes
	$(BIN)/python -m pip wheel --quiet --no-deps --no-build-isolation --wheel-dir $(DIST) .
	cp requirements.txt $(DIST)/

# It does not know where the build finds the version.
sbom release: VERSION = $(shell $(BIN)/python -c 'import crm_sync; print(crm_sync.__version__)')
sbom: .venv/development  ## write the software bill of materials into dist/: sbom.json, CycloneDX
	mkdir -p $(DIST)
	sed 's/^dynamic = .*/version = "$(VERSION)"/' pyproject.toml > .venv/project.toml
	$(BIN)/cyclonedx-py requirements requirements.txt --pyproject .venv/project.toml \
		--output-reproducible -o $(DIST)/sbom.json

release: wheel sbom  ## build all that a release has into dist/, with the SHA-256 of each file
	cd $(DIST) && sha256sum crm_sync-$(VERSION)-*.whl requirements.txt sbom.json > SHA256SUMS

lock: .venv/development  ## write the lock files anew from requirements*.in
	$(BIN)/pip install --quiet uv
	$(BIN)/uv pip compile --upgrade --universal --generate-hashes --no-emit-index-url --no-emit-find-links \
		--python-version 3.11 --no-header --quiet requirements.in -o requirements.txt
	$(BIN)/uv pip compile --upgrade --universal --generate-hashes --no-emit-index-url --no-emit-find-links \
		--python-version 3.11 --no-header --quiet requirements-dev.in -o requirements-dev.txt

.venv/runtime: requirements.txt
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11) and "Python 3.11 or newer is needed")'
	@echo "installing what it needs into .venv (about a minute, once)"
	@test -x $(BIN)/python || $(PYTHON) -m venv .venv
	@$(BIN)/pip install --quiet --disable-pip-version-check --require-hashes -r requirements.txt
	@touch $@

.venv/development: .venv/runtime requirements-dev.txt
	@echo "installing the checks and test tools into .venv"
	@$(BIN)/pip install --quiet --disable-pip-version-check --require-hashes -r requirements-dev.txt
	@touch $@
