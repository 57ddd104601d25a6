# What a fresh clone can do. `make` alone lists it.
#
# Everything is built inside the clone: Rust in target/, Python in .venv/, the wheel in dist/. The
# files named .stamp-* remember what is up to date, so that a second call is quick.

SHELL := bash
.SHELLFLAGS := -euo pipefail -c
.DEFAULT_GOAL := help
.DELETE_ON_ERROR:
MAKEFLAGS += --no-print-directory

PYTHON ?= python3
PREFIX ?= $(HOME)/.local
PIP_FLAGS := --quiet --disable-pip-version-check

BIN := .venv/bin
PIP := $(BIN)/python -m pip install $(PIP_FLAGS)
SOURCES := Cargo.toml Cargo.lock pyproject.toml \
	$(shell find crates python/ssdlab -type f -not -path '*/__pycache__/*')

.PHONY: help
help: ## show this list
	@echo "make TARGET, where TARGET is one of"
	@sed -nE 's/^([a-z-]+):.*## (.*)/  \1\t\2/p' $(MAKEFILE_LIST) | expand -t 16

.PHONY: demo
demo: dist/.stamp-demo ## run a mixed load on a current drive in steady state, results in demo/
	$(BIN)/ssdlab run --device tlc-enterprise --workload ssdiq-load --set run.precondition=steady --out demo
	@$(BIN)/ssdlab report demo --out demo/report.html
	@echo "The read p99 is nearly five times the median of 65 us: docs/drives.md shows where the slow reads wait."
	@echo "As a page: demo/report.html. As JSON: demo/results.json. Again: $(BIN)/ssdlab run demo/experiment.toml"

# Notes what a part takes; at the end all parts are shown.
STEP := .ci/step
# Everything is built once, and linted in that build: what makes the next build faster costs without a use, and the
# budgets of instructions are of a build without it. `make quick` is for the next build.
ONCE := env CARGO_INCREMENTAL=0 RUSTC_WORKSPACE_WRAPPER=$(CURDIR)/.ci/rustc
CARGO_TEST := $(ONCE) cargo test --quiet --locked --workspace
# With `--lib`, libraries without tests would be compiled as programs of tests as well.
EVERY := --tests
# Linted, and not run.
LINTED := --examples --benches
# Not cargo fmt: it does not see modules that are declared in tables.
RUSTFMT := rustfmt --edition 2024 --check $$(find crates -name '*.rs')
PYTEST := $(BIN)/pytest --quiet --numprocesses auto --maxprocesses 4 --dist worksteal

.PHONY: test
test: check-tools ## run every check and test: Rust, the wheel, Python
	@rm -f .cache/steps
	$(RUSTFMT)
	@$(TOGETHER) test-build .venv/.stamp-dev
	$(STEP) "build: the wheel" $(MAKE) dist/.stamp-tested
	@$(TOGETHER) test-rust test-python
	@$(STEP)

# Neither side keeps two cores busy to its end, so both run at a time; what they print is not mixed.
TOGETHER := $(MAKE) --jobs 2 --keep-going --output-sync=target

.PHONY: test-build test-rust test-python
test-build:
	$(STEP) "build: tests of Rust, clippy" $(CARGO_TEST) $(EVERY) $(LINTED) --no-run

test-rust:
	$(STEP) "tests of Rust" $(CARGO_TEST) --no-fail-fast $(EVERY)
	$(STEP) "tests of Rust with ../shared" $(MAKE) test-shared
	$(STEP) "tests of Rust with fio" $(MAKE) test-fio
	$(STEP) "tests of Rust with valgrind" $(MAKE) test-valgrind

test-python:
	$(BIN)/ruff check --quiet
	$(BIN)/ruff format --quiet --check
	$(STEP) "mypy" $(BIN)/mypy --no-error-summary
	$(STEP) "tests of Python" $(PYTEST)

.PHONY: laws
laws: dist/.stamp-tested ## print the laws of the house: today's figures, and what they are to become
	@$(BIN)/python python/tests/support/house_laws.py

# Of everything a little: what fits into a minute after a change. Only crates that changed since their unit tests
# passed here are tested, and digests of the whole. Always with bindings, which asks most of other libraries: else those
# are compiled once for each choice of crates.
QUICK := cargo test --quiet --locked -p ssdlab-bindings
CHANGED = $(shell for crate in crates/*/; do \
  [ -e .cache/quick ] && [ -z "$$(find $$crate -newer .cache/quick -type f -print -quit)" ] \
  || echo "-p ssdlab-$$(basename $$crate | tr _ -)"; done)

.PHONY: quick
quick: check-tools ## check formatting, run unit tests of changed crates, a few digests and laws: a minute
	@rm -f .cache/steps
	@mkdir -p .cache && touch .cache/quick-began
	$(RUSTFMT)
	@if [ -x $(BIN)/ruff ]; then set -x; $(BIN)/ruff check --quiet && $(BIN)/ruff format --quiet --check; fi
	$(STEP) "unit tests of Rust" $(QUICK) $(CHANGED) --lib
	SSDLAB_DEPTH=quick $(STEP) "digests and laws" $(QUICK) -p ssdlab-lab --test tests -- digests:: laws::
	@mv .cache/quick-began .cache/quick
	@$(STEP)

# Tests of Rust that need data beside the checkout; cargo cannot skip a test while it runs. Those of
# Python are marked, and skip themselves.
.PHONY: test-shared
test-shared:
	@if [ -d ../shared ]; then set -x; \
	  $(CARGO_TEST) $(EVERY) -- --ignored recorded original_; \
	else \
	  echo "SKIPPED: recorded traces and the original simulator, request by request: no ../shared"; \
	fi

# The tests of Rust that need another program. Of the whole workspace: a part of it would be compiled anew.
.PHONY: test-fio
test-fio:
	@if command -v fio >/dev/null; then set -x; \
	  $(CARGO_TEST) $(EVERY) compare:: -- --ignored; \
	else \
	  echo "SKIPPED: requests of fio jobs compared with fio's own: no fio"; \
	fi

.PHONY: test-valgrind
test-valgrind:
	@if command -v valgrind >/dev/null; then set -x; \
	  $(CARGO_TEST) --test tests instructions::a_request -- --ignored; \
	else \
	  echo "SKIPPED: the budget of instructions of a request: no valgrind"; \
	fi

# Each part can be run by itself, and adds a row to the record of nights.
NIGHT := .ci/step --record
NIGHTLY := lints rust budgets large planted python doors fuzz
.PHONY: nightly $(NIGHTLY:%=nightly-%)
nightly: test ## the tests, and all of them again that search or repeat, at full size: hours
	@$(MAKE) --keep-going $(NIGHTLY:%=nightly-%)

nightly-%: export CARGO_INCREMENTAL := 0
nightly-%: export SSDLAB_DEPTH := nightly

nightly-lints:
	$(NIGHT) "clippy of the tests" cargo clippy --quiet --locked --workspace --all-targets -- -D warnings

# A row for each program.
nightly-rust:
	$(CARGO_TEST) --no-fail-fast $(EVERY) \
	  --config 'target."cfg(all())".runner = ["$(CURDIR)/.ci/step", "--record-each", "tests at full size"]'

nightly-budgets:
	$(NIGHT) "budgets of all loads" $(MAKE) test-valgrind

nightly-large:
	$(NIGHT) "pools and drives at full size" $(CARGO_TEST) --no-fail-fast --test tests -- --ignored pools:: large:: a_million

nightly-planted:
	$(NIGHT) "planted mistakes" $(MAKE) prove-planted

nightly-python:
	$(NIGHT) "tests of Python at full size" $(PYTEST) -m nightly
	$(NIGHT) "advice on other seeds" $(BIN)/python python/benches/why.py
	$(NIGHT) "halving of a grid" $(BIN)/python python/benches/halving.py

# A seed of each night; the seed of the record repeats it.
nightly-doors nightly-fuzz: export SEED := $(shell date +%s)
nightly-doors:
	$(NIGHT) "changed files of every kind" $(BIN)/python python/tests/support/doors.py 300 $(SEED)

nightly-fuzz:
	$(NIGHT) "fuzzing" $(MAKE) fuzz SECONDS=1200 SEED=$(SEED)

.PHONY: prove
prove: check-tools ## cut the power of drives of all shapes 100,000 times, and find the planted mistakes
	cargo test --quiet --release --locked -p ssdlab-devices --test power -- --ignored --nocapture \
	  a_hundred_thousand the_full_package_of_the_baseline
	@$(MAKE) prove-planted

.PHONY: prove-planted
prove-planted:
	cargo test --quiet --release --locked -p ssdlab-devices --features planted --test power --test tests -- --ignored --nocapture \
	  planted

.PHONY: docs
docs: dist/.stamp-tested ## build the docs as a site into site/
	$(BIN)/zensical build --clean --strict
	$(BIN)/python packaging/glossary.py site
	$(BIN)/python packaging/search.py site
	@echo "The first page: site/index.html"

.PHONY: pictures
pictures: dist/.stamp-tested ## draw the pictures of the docs that come from the simulator alone
	$(BIN)/python packaging/pictures.py

WORDS ?=
.PHONY: figures
figures: dist/.stamp-tested ## run the commands behind the figures of the docs, and write those that changed (WORDS=cliff)
	$(BIN)/python python/tests/support/figures.py --record $(WORDS)

.PHONY: docs-versions
docs-versions: docs ## put the site of this version beside those in dist/docs/
	$(BIN)/python packaging/versions.py

.PHONY: man
man: dist/.stamp-installed ## write manual pages of all commands into dist/man/man1/
	$(BIN)/python packaging/man.py dist/man/man1

.PHONY: bench
bench: check-tools dist/.stamp-tested ## run the benchmarks
	cargo bench --locked --workspace
	@$(MAKE) dist/.stamp-installed
	$(BIN)/python python/benches/custom_cleaner.py

# The byte fuzzers count inputs: about as many as take a third of the time. How many were tried over all
# nights is kept in .cache/fuzzed.tsv.
SECONDS ?= 60
SEED ?= 1
.PHONY: fuzz
fuzz: check-tools ## random experiments against the laws, random bytes against parsers (SECONDS=60 SEED=1)
	.ci/fuzzed experiments cargo run --quiet --release --locked -p ssdlab-lab --example fuzz -- $(SECONDS) $(SEED)
	.ci/fuzzed traces cargo run --quiet --release --locked -p ssdlab-workloads --example fuzz -- $$(($(SECONDS) * 1000)) $(SEED)
	.ci/fuzzed conversations cargo run --quiet --release --locked -p ssdlab-nbd --example fuzz -- $$(($(SECONDS) * 10000)) $(SEED)
	@.ci/fuzzed

HOURS ?= 0.05
.PHONY: soak
soak: check-tools dist/.stamp-installed ## a live device under three clients and faults, for hours (as root; HOURS=0.05)
	$(BIN)/python python/tests/soak.py $(HOURS)

# All in one build: an environment variable chooses the mistake. Of the tests those run that reach it.
COUNT ?= 150
.PHONY: mutants
mutants: check-tools ## plant COUNT mistakes in the crates, and list those that no law finds (COUNT=150 SEED=1): half an hour
	$(PYTHON) python/tests/support/planted_in_rust.py $(COUNT) $(SEED)

.PHONY: mutants-python
mutants-python: dist/.stamp-tested ## plant mistakes in the arithmetic of Python (costs, ratings, reliability)
	@$(BIN)/python -c 'import mutmut' 2>/dev/null || { echo "it needs mutmut: $(BIN)/python -m pip install mutmut" >&2; exit 2; }
	$(BIN)/python python/tests/mutants.py

.PHONY: crash
crash: dist/.stamp-installed ## cut the power of applications whose losses are known (as root; POINTS=1000)
	$(BIN)/ssdlab crash --controls --points $(or $(POINTS),1000)

# What zig remembers stays in the clone as well.
release check-targets: export ZIG_GLOBAL_CACHE_DIR := $(CURDIR)/.cache/zig
release check-targets: export CARGO_ZIGBUILD_CACHE_DIR := $(CURDIR)/.cache/zigbuild

.PHONY: check-targets
check-targets: .cache/release/.stamp ## check that it compiles for macOS, Windows and Linux on Arm
	packaging/check-targets $(CURDIR)/.cache/release/bin

# Slow: everything is compiled three times. The wheel for Arm runs where there are qemu-aarch64 and apt-get
# (packaging/python-for-arm), or by a Python that you name:
# PYTHONS="--python aarch64='qemu-aarch64 -L ROOT ROOT/usr/bin/python3'".
.PHONY: release
release: check-tools .cache/release/.stamp ## make and check wheels, a source distribution and checksums in dist/release/
	.cache/release/bin/python packaging/release.py $(PYTHONS)

.cache/release/.stamp: Makefile packaging/requirements-release.txt | check-tools
	@echo "Preparing .cache/release"
	@$(PYTHON) -m venv --clear .cache/release
	@.cache/release/bin/python -m pip install $(PIP_FLAGS) --require-hashes -r packaging/requirements-release.txt
	@touch $@

# With uv, which resolves for every Python and system at once.
.PHONY: lock
lock: check-tools ## write the versions and hashes of Python's packages anew (packaging/requirements-*.txt)
	@$(PYTHON) -m venv --clear .cache/lock && .cache/lock/bin/python -m pip install $(PIP_FLAGS) uv
	$(LOCK) pyproject.toml --extra dev --no-emit-package ssdlab --output-file packaging/requirements-dev.txt
	$(LOCK) packaging/requirements-release.in --output-file packaging/requirements-release.txt
	$(LOCK) packaging/requirements-build.in --output-file packaging/requirements-build.txt

LOCK := .cache/lock/bin/uv pip compile --quiet --universal --generate-hashes --python-version 3.10 \
	--custom-compile-command "make lock" --upgrade

.PHONY: audit
audit: .venv/.stamp-dev ## check licences, locks, and advisories where their databases can be reached
	$(BIN)/python packaging/audit.py

.PHONY: install
install: dist/.stamp-wheel ## put the command ssdlab into ~/.local/bin (PREFIX=~/.local)
	$(PYTHON) -m venv --clear "$(PREFIX)/share/ssdlab"
	"$(PREFIX)/share/ssdlab/bin/python" -m pip install $(PIP_FLAGS) dist/ssdlab-*.whl
	mkdir -p "$(PREFIX)/bin"
	ln -sfn "$(PREFIX)/share/ssdlab/bin/ssdlab" "$(PREFIX)/bin/ssdlab"
	"$(PREFIX)/share/ssdlab/bin/python" packaging/man.py "$(PREFIX)/share/man/man1"
	@echo "Installed $$("$(PREFIX)/bin/ssdlab" --version) as $(PREFIX)/bin/ssdlab"
	@case ":$$PATH:" in *":$(PREFIX)/bin:"*) ;; *) \
	  echo "$(PREFIX)/bin is not on your PATH. Add to your shell's profile:"; \
	  echo "  export PATH=\"$(PREFIX)/bin:\$$PATH\"" ;; esac

# With the version of its boundary in its name, and once more as a part of other programs.
.PHONY: install-c
install-c: check-tools ## put the library for C, its header and its pkg-config file into ~/.local (PREFIX=~/.local)
	cargo rustc --release --locked -p ssdlab-capi --crate-type cdylib -- -C link-arg=-Wl,-soname,libssdlab.so.1
	cargo rustc --release --locked -p ssdlab-capi --crate-type staticlib
	install -D -m 644 crates/capi/include/ssdlab.h "$(PREFIX)/include/ssdlab.h"
	install -D target/release/libssdlab.so "$(PREFIX)/lib/libssdlab.so.1"
	ln -sfn libssdlab.so.1 "$(PREFIX)/lib/libssdlab.so"
	install -m 644 target/release/libssdlab.a "$(PREFIX)/lib/libssdlab.a"
	mkdir -p "$(PREFIX)/lib/pkgconfig"
	sed -e 's|@PREFIX@|$(PREFIX)|' -e "s|@VERSION@|$$(sed -n 's/^version = "\(.*\)"/\1/p' Cargo.toml | head -1)|" \
	  crates/capi/ssdlab.pc.in > "$(PREFIX)/lib/pkgconfig/ssdlab.pc"

.PHONY: uninstall
uninstall: ## remove what install and install-c have put there
	rm -rf "$(PREFIX)/share/ssdlab" "$(PREFIX)/bin/ssdlab" "$(PREFIX)"/share/man/man1/ssdlab{,-*}.1
	rm -f "$(PREFIX)"/lib/libssdlab.{a,so,so.1} "$(PREFIX)/include/ssdlab.h" "$(PREFIX)/lib/pkgconfig/ssdlab.pc"

.PHONY: clean
clean: ## remove everything that was built here
	rm -rf target dist demo site .cache .venv .pytest_cache .ruff_cache
	find python -name __pycache__ -prune -exec rm -rf {} +

# The tools that a machine must have; each missing one is named with the line that installs it.
.PHONY: check-tools
check-tools:
	@missing=0; \
	need() { missing=2; echo "ssdlab needs $$1. Install it: $$2" >&2; }; \
	cargo --version >/dev/null 2>&1 || need "cargo (Rust 1.88 or newer)" "sudo apt-get install rustup && rustup default stable"; \
	{ cargo fmt --version && cargo clippy --version; } >/dev/null 2>&1 \
	  || need "rustfmt and clippy" "rustup component add rustfmt clippy"; \
	command -v cc >/dev/null || need "a C compiler and linker (cc)" "sudo apt-get install build-essential"; \
	$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 10))' 2>/dev/null \
	  || need "Python 3.10 or newer ($(PYTHON))" "sudo apt-get install python3"; \
	$(PYTHON) -c 'import ensurepip, venv' 2>/dev/null \
	  || need "Python's venv and pip" "sudo apt-get install python3-venv"; \
	exit $$missing

# Of exactly these versions, which their hashes vouch for, from whatever registry pip is configured with.
.venv/.stamp-tools: pyproject.toml packaging/requirements-build.txt | check-tools
	@echo "Preparing .venv"
	@$(PYTHON) -m venv --clear .venv
	@$(PIP) --require-hashes -r packaging/requirements-build.txt
	@touch $@

# The lock is whole, so nothing is resolved; most modules are never imported, so none is compiled ahead.
.venv/.stamp-dev: packaging/requirements-dev.txt .venv/.stamp-tools
	@$(PIP) --no-deps --no-compile --require-hashes -r packaging/requirements-dev.txt
	@touch $@

dist/.stamp-wheel: $(SOURCES) | .venv/.stamp-tools
	@echo "Building the wheel; the first time, this takes some minutes"
	@rm -f dist/*.whl
	$(BIN)/maturin build --quiet --release --locked --out dist
	@touch $@

# A wheel is installed twice, because pip takes one of the same version for installed: first what it needs.
# The builds have one place in .venv, and so one stamp at a time.
BUILDS := dist/.stamp-installed dist/.stamp-demo dist/.stamp-tested

dist/.stamp-installed: dist/.stamp-wheel .venv/.stamp-tools
	@$(PIP) dist/ssdlab-*.whl
	@$(PIP) --force-reinstall --no-deps dist/ssdlab-*.whl
	@rm -f $(BUILDS)
	@touch $@

# The program that ships, optimised less across its parts: it answers the same, a few per cent slower.
dist/.stamp-demo: $(SOURCES) .venv/.stamp-tools
	@echo "Building ssdlab; the first time, this takes two or three minutes"
	@rm -rf dist/demo
	$(BIN)/maturin build --quiet --profile demo --locked --out dist/demo
	@$(PIP) dist/demo/ssdlab-*.whl
	@$(PIP) --force-reinstall --no-deps dist/demo/ssdlab-*.whl
	@rm -f $(BUILDS)
	@touch $@

# What is tested is built like Rust's tests, with every assertion, and from what was compiled for them.
dist/.stamp-tested: $(SOURCES) .venv/.stamp-dev
	@echo "Building the wheel for the tests"
	@rm -rf dist/tested
	$(ONCE) $(BIN)/maturin build --quiet --locked --out dist/tested
	@$(PIP) --force-reinstall --no-deps dist/tested/ssdlab-*.whl
	@rm -f $(BUILDS)
	@touch $@
