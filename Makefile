# `make demo` and `make test` need nothing but make on a fresh Debian 12: each sets up what is missing first.

SHELL := /bin/bash
.SHELLFLAGS := -eu -o pipefail -c
.DEFAULT_GOAL := help

PYTHON ?= python3
VENV ?= .venv
PYTEST_ARGS ?= -n 2

BIN := $(VENV)/bin
READY := $(VENV)/.ready

.PHONY: help demo test campaign lint bench generated docs mutants upstream system clean

help: ## list the targets
	@sed -n 's/^\([a-z]*\):.*## \(.*\)/  make \1\t\2/p' $(MAKEFILE_LIST) | expand -t 20

demo: $(READY) ## render specs/tsort32.yaml and run every case on the CPU simulator
	@echo "rendering specs/tsort32.yaml, then building and running it; the first time, the headers are fetched and compiled once"
	$(BIN)/ptogen kernel specs/tsort32.yaml -o build/demo
	$(BIN)/ptogen check build/demo

test: lint ## look at the code, then run the tests, campaigns aside
	$(BIN)/python -m pytest -m "not campaign" $(PYTEST_ARGS)

campaign: $(READY) ## run the tests that take long: mutants, a tenth of the curated matrix, lost workers
	$(BIN)/python -m pytest -m campaign $(PYTEST_ARGS)

lint: $(READY) ## check the style, the format and the types of the Python code
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy

bench: $(READY) ## measure what a start and sanitizing cost, and how fast matrices become suites
	$(BIN)/python benchmarks/startup.py
	$(BIN)/python benchmarks/generation.py
	$(BIN)/python benchmarks/sanitize.py

generated: $(READY) ## render the suites of specs/*.yaml into generated/
	$(BIN)/ptogen kernel $$(grep -L '^matrix:' specs/*.yaml) -o generated --prune

docs: $(READY) ## make the reference pages that come from the code
	$(BIN)/python docs/codes.py > docs/codes.md
	$(BIN)/python docs/documents.py > docs/documents.md
	$(BIN)/python docs/readme.py

mutants: $(READY) ## break every plan and kernel of specs/ in every way, and make docs/mutants.md
	$(BIN)/python docs/mutants.py > docs/mutants.md.new
	mv docs/mutants.md.new docs/mutants.md

upstream: $(READY) ## try everything on a checkout of pto-isa (CHECKOUT=DIR), and make docs/upstream.md
	@[ -n "$(CHECKOUT)" ] || { echo "make: say which checkout of pto-isa: make upstream CHECKOUT=DIR" >&2; exit 1; }
	$(BIN)/python docs/upstream.py "$(CHECKOUT)" | tee docs/upstream.md.new
	mv docs/upstream.md.new docs/upstream.md

clean: ## remove what `make` built, the environment included
	rm -rf $(VENV) build dist

# The environment, made anew only where it is missing or pyproject.toml is newer. pip's own configuration applies.
$(READY): pyproject.toml | system
	@echo "setting up $(VENV): pip fetches and installs what ptogen and its tests need, which takes minutes on a slow machine"
	@$(BIN)/python -m pip --version > /dev/null 2>&1 || $(PYTHON) -m venv --clear $(VENV)
	@PYTHONUNBUFFERED=1 $(BIN)/python -m pip install --disable-pip-version-check --editable '.[test]' \
	    | sed -un 's/^Collecting \([^ ]*\).*/  \1/p; s/^Installing collected packages.*/  installing them/p'
	@touch $@

# Debian packages, installed only where what they hold cannot be found.
system:
	@missing=(); \
	if [ ! -x $(BIN)/python ]; then \
	    $(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 10))' 2> /dev/null || missing+=(python3); \
	    $(PYTHON) -c 'import ensurepip, venv' 2> /dev/null || missing+=(python3-venv); \
	fi; \
	cxx=$$(command -v g++ || command -v clang++ || true); \
	[ -n "$$cxx" ] || missing+=(g++); \
	command -v cmake > /dev/null || missing+=(cmake); \
	command -v ninja > /dev/null || missing+=(ninja-build); \
	[ -e /usr/include/gtest/gtest.h ] \
	    || { [ -n "$$cxx" ] && echo '#include <gtest/gtest.h>' | "$$cxx" -E -x c++ - > /dev/null 2>&1; } \
	    || missing+=(libgtest-dev); \
	[ $${#missing[@]} -gt 0 ] || exit 0; \
	install="apt-get install -y --no-install-recommends $${missing[*]}"; \
	if ! command -v apt-get > /dev/null; then \
	    echo "make: these are missing, and there is no apt-get to install them with: $${missing[*]}" >&2; exit 1; \
	elif [ $$(id -u) = 0 ]; then sudo=; \
	elif command -v sudo > /dev/null; then sudo=sudo; \
	else \
	    echo "make: Debian packages are missing, and installing them takes root or sudo; run as root: $$install" >&2; exit 1; \
	fi; \
	echo "installing Debian packages: $${missing[*]}"; \
	$$sudo apt-get update -qq || true; \
	$$sudo env DEBIAN_FRONTEND=noninteractive $$install -qq | sed -un 's/^Setting up \([^ ]*\).*/  \1/p'
