# One command for one job, the same for people and CI. Every target sets up in .venv what it needs and nothing more;
# stamps there say what has been done, so a second call does only what has changed. The stamp of a list of packages
# carries the list's hash in its name: a fresh checkout changes times, not hashes.

PYTHON ?= python3
# Compilers at a time; a file that includes nanobind takes half a gigabyte.
JOBS ?= 2

SHELL := bash
.SHELLFLAGS := -euo pipefail -c
.DELETE_ON_ERROR:
.DEFAULT_GOAL := help

export PATH := $(CURDIR)/.venv/bin:$(PATH)
export CMAKE_BUILD_PARALLEL_LEVEL := $(JOBS)
export PIP_DISABLE_PIP_VERSION_CHECK := 1
unexport PYTHONPATH PYTHONHOME

hash = $(shell sha256sum $(1) | cut -c1-12)
VENV := .venv/bin/python
TOOLS := .venv/tools-$(call hash,pyproject.toml)
PACKAGE := .venv/package-$(call hash,pyproject.toml)
TESTING := .venv/testing-$(call hash,pyproject.toml)
HEAVY := .venv/heavy-$(call hash,requirements/heavy.txt)
FUZZ := .venv/fuzz-$(call hash,requirements/fuzz.txt)
BENCH := .venv/bench-$(call hash,requirements/bench.txt)

NATIVE := $(shell find native -name '*.cpp' -o -name '*.hpp' -o -name '*.h')

.PHONY: help build demo test test-all bench lint format native-quick native-test stress sanitizer-nightly fuzz stubs \
    clean

help:  ## Show this list (the default)
	@sed -n 's/^\([a-z-]*\):.*  ## /\1\t/p' $(MAKEFILE_LIST) | awk -F'\t' '{ printf "make %-17s %s\n", $$1, $$2 }'

build: $(PACKAGE)  ## Set up .venv and install the package there, editable

demo: build  ## Run the demo
	eventide demo

test: lint native-quick  ## Lint, then every light test
	pytest -m "not heavy"

test-all: lint $(HEAVY)  ## Everything: heavy tests and sanitizers as well; SELECT="-m heavy" for what make test leaves out
	pytest $(SELECT)
	$(MAKE) native-test

bench: build $(BENCH)  ## Print the table of ratios against named peers; ARGS="submit --quick" for a part of it
	python -m benchmarks $(ARGS)

lint: $(TESTING)  ## Check with ruff, mypy --strict and clang-format
	ruff check
	ruff format --check
	mypy
	@echo "clang-format --dry-run -Werror ($(words $(NATIVE)) files)"
	@clang-format --dry-run -Werror $(NATIVE)

format: $(TESTING)  ## Let ruff and clang-format rewrite the sources
	ruff check --fix-only
	ruff format
	clang-format -i $(NATIVE)

# $(call native_tests,<name of the build>,<sanitizer or nothing>,<options of ctest>)
define native_tests
cmake -S . -B build/native-$(1) -G Ninja -DEVENTIDE_BUILD_PYTHON=OFF -DEVENTIDE_BUILD_TESTS=ON -DEVENTIDE_DEV=ON \
    -DEVENTIDE_SANITIZE=$(2) >/dev/null
cmake --build build/native-$(1)
ctest --test-dir build/native-$(1) --output-on-failure --no-tests=error $(3)
endef

native-quick: $(TOOLS)  ## Run the C++ tests without sanitizers
	$(call native_tests,plain,)

native-test: $(TOOLS)  ## Run the C++ tests under ASan+UBSan, then under TSan
	$(call native_tests,address,address)
	$(call native_tests,thread,thread)

stress: $(TESTING)  ## For the night: property tests with ten times the examples, C++ tests under TSan twenty times
	pytest tests/property --hypothesis-profile=stress --timeout=1800 -o faulthandler_timeout=1860
	$(call native_tests,thread,thread,--repeat until-fail:20)

sanitizer-nightly: $(TESTING)  ## For the night: the sanitizer against the oracle on 20,000 random programs
	EVENTIDE_SANITIZER_SEED=$${SEED:-$${RANDOM}0000} EVENTIDE_SANITIZER_PROGRAMS=$${PROGRAMS:-20000} \
	    pytest tests/property/test_sanitizer_property.py -o faulthandler_timeout=0

# Seconds for each of the three targets; libFuzzer's needs clang++ (Debian: clang), and what they find lands in build/fuzz.
FUZZ_TIME ?= 600
FUZZ_CORE := $(addprefix native/core/,json_scan.cpp json_text.cpp decimal.cpp enclosing.cpp chrome_event.cpp \
    chrome_table.cpp chrome_pairs.cpp chrome_document.cpp)

fuzz: $(FUZZ)  ## Fuzz the reader of Chrome JSON (the core with libFuzzer, the whole with atheris); damage files of ours
	mkdir -p build/fuzz/core build/fuzz/reader
	python tests/fuzz/seeds.py build/fuzz/seeds
	clang++ -std=c++20 -g -O1 -fsanitize=fuzzer,address,undefined -fno-sanitize-recover=undefined -Inative/core \
	    native/fuzz/fuzz_chrome.cpp $(FUZZ_CORE) -o build/fuzz/fuzz_chrome
	build/fuzz/fuzz_chrome build/fuzz/core build/fuzz/seeds -max_total_time=$(FUZZ_TIME) -max_len=4096 \
	    -artifact_prefix=build/fuzz/ -print_final_stats=1
	python tests/fuzz/fuzz_kineto.py build/fuzz/reader build/fuzz/seeds -max_total_time=$(FUZZ_TIME) -max_len=2048 \
	    -artifact_prefix=build/fuzz/
	python -m tests.fuzz.damage $(FUZZ_TIME)

stubs: $(TESTING)  ## Write src/eventide/_native.pyi anew
	python -m nanobind.stubgen -q -m eventide._native -O src/eventide \
	    $(addprefix -p ,$(wildcard native/bindings/stub_patterns.txt))

clean:  ## Remove .venv, build and every cache
	rm -rf .venv build dist .mypy_cache .pytest_cache .ruff_cache .hypothesis
	find . -name __pycache__ -type d -prune -exec rm -rf {} +

# --- what the targets above stand on -------------------------------------------------------------------------------

# The packages of one list in pyproject.toml, one a line: pip reads such lists only together with a build.
listed = python -c 'import tomllib; print(*tomllib.load(open("pyproject.toml", "rb"))$(1), sep="\n")'

$(VENV):
	$(PYTHON) -m venv .venv

$(TOOLS): | $(VENV)
	@echo "installing what the build needs"
	@pip install -q -r <($(call listed,["build-system"]["requires"]))
	@touch $@

$(PACKAGE): $(NATIVE) CMakeLists.txt | $(TOOLS)
	pip install -q --no-build-isolation --config-settings=cmake.define.EVENTIDE_DEV=ON -e .
	@touch $@

$(TESTING): | $(PACKAGE)
	@echo "installing what the tests need"
	@pip install -q -r <($(call listed,["project"]["optional-dependencies"]["test"]))
	@touch $@

$(HEAVY): requirements/heavy.txt | $(TESTING)
	pip install -q -r $<
	@touch $@

$(FUZZ): requirements/fuzz.txt | $(TESTING)
	pip install -q -r $<
	@touch $@

$(BENCH): requirements/bench.txt | $(PACKAGE)
	pip install -q -r $<
	@touch $@
