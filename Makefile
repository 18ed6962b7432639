# One command for one job, the same for people and CI. Every target sets up in .venv what it needs and nothing more;
# stamps there say what has been done, so a second call does only what has changed. The stamp of a list of packages
# carries the list's hash in its name: a fresh checkout changes times, not hashes.

PYTHON ?= python3
# Compilers at a time; a file that includes nanobind takes half a gigabyte.
JOBS ?= 2

# Tests run in as many processes; PARALLEL= for one.
PARALLEL ?= -n $(JOBS) --dist worksteal

SHELL := bash
.SHELLFLAGS := -euo pipefail -c
.DELETE_ON_ERROR:
.DEFAULT_GOAL := help

# ON: warnings are errors. For our own checks only, with compilers that were tried; another compiler has other warnings.
EVENTIDE_DEV ?= OFF
export SKBUILD_CMAKE_DEFINE := EVENTIDE_DEV=$(EVENTIDE_DEV)

export PATH := $(CURDIR)/.venv/bin:$(PATH)
export CMAKE_BUILD_PARALLEL_LEVEL := $(JOBS)
export PIP_DISABLE_PIP_VERSION_CHECK := 1
unexport PYTHONPATH PYTHONHOME

hash = $(shell sha256sum $(1) | cut -c1-12)
VENV := .venv/bin/python
TOOLS := .venv/tools-$(call hash,pyproject.toml)
PACKAGE := .venv/package-$(call hash,pyproject.toml)
TESTING := .venv/testing-$(call hash,pyproject.toml)
WEB := web/node_modules/installed-$(call hash,web/package-lock.json)
HEAVY := .venv/heavy-$(call hash,requirements/heavy.txt)
FUZZ := .venv/fuzz-$(call hash,requirements/fuzz.txt)
BENCH := .venv/bench-$(call hash,requirements/bench.txt)

NATIVE := $(shell find native -name '*.cpp' -o -name '*.hpp' -o -name '*.h')

.PHONY: help build demo test test-heavy test-all bench bench-ranks web lint format native-quick native-test test-asan test-tsan soak \
    stress sanitizer-nightly fuzz fuzz-quick fuzz-build machines stubs clean

help:  ## Show this list (the default)
	@sed -n 's/^\([a-z-]*\):.*  ## /\1\t/p' $(MAKEFILE_LIST) | awk -F'\t' '{ printf "make %-17s %s\n", $$1, $$2 }'

build: $(PACKAGE)  ## Set up .venv and install the package there, editable

demo: build  ## Run the demo
	eventide demo

test: lint native-quick  ## Lint, then every light test
	pytest -m "not heavy" $(PARALLEL)

test-heavy: $(HEAVY) $(WEB)  ## What make test leaves out: tests that take long or need torch, pyopencl, JAX ...
	pytest -m heavy $(PARALLEL)

test-all: test test-heavy native-test test-asan test-tsan  ## Everything: light, heavy, and the sanitizers

web: $(WEB)  ## Build the page of the report (web/) into the Python package; needs Node
	cd web && npm run --silent build

bench: build $(BENCH)  ## Print the table of ratios against named peers; ARGS="submit --quick" for a part of it
	python -m benchmarks $(ARGS)

bench-ranks: $(HEAVY)  ## Import many ranks by the pool and on Dask; ARGS="--ranks 100" for fewer than 1,000 (20 GB of JSON)
	python -m benchmarks.ranks $(ARGS)

lint: $(TESTING)  ## Check with ruff, mypy --strict, vulture (code without a use) and clang-format
	ruff check
	ruff format --check
	mypy
	vulture
	@echo "clang-format --dry-run -Werror ($(words $(NATIVE)) files)"
	@clang-format --dry-run -Werror $(NATIVE)

format: $(TESTING)  ## Let ruff and clang-format rewrite the sources
	ruff check --fix-only
	ruff format
	@clang-format -i $(NATIVE)

# $(call native_tests,<name of the build>,<sanitizer or nothing>,<options of ctest>)
define native_tests
cmake -S . -B build/native-$(1) -G Ninja -DEVENTIDE_BUILD_PYTHON=OFF -DEVENTIDE_BUILD_TESTS=ON \
    -DEVENTIDE_DEV=$(EVENTIDE_DEV) -DEVENTIDE_SANITIZE=$(2) >/dev/null
cmake --build build/native-$(1)
ctest --test-dir build/native-$(1) --output-on-failure --no-tests=error $(3)
endef

native-quick: $(TOOLS)  ## Run the C++ tests without sanitizers
	$(call native_tests,plain,)

native-test: $(TOOLS)  ## Run the C++ tests under ASan+UBSan, then under TSan
	$(call native_tests,address,address)
	$(call native_tests,thread,thread)

# The module under a sanitizer has an environment of its own, build/venv-<sanitizer>; all packages are those of .venv.
# Its runtime must be loaded first, and libstdc++ with it: the runtime looks __cxa_throw up once, at the start. Its
# thread-local data needs more than the 512 bytes that glibc keeps for modules that are loaded later.
preload = $(foreach library,$(1) stdc++,$(shell $(CXX) -print-file-name=lib$(library).so))
REPORTS := $(CURDIR)/build/reports

# OpenCL's loader is given a folder without platforms: the LLVM of PoCL replaces the signal stack of the thread that
# asks for them, and ASan ends the process when that thread ends. This test counts the platforms.
WITHOUT_OPENCL := --deselect tests/unit/test_sim_streams.py::test_the_number_of_sim_devices_is_configurable

# A library that is loaded after those of ASan, so that a fork does not copy a lock of its allocator.
QUIET_FORK := build/venv-address/fork_when_quiet.so

# $(call instrumented,<address or thread>,<libraries>,<variables of the sanitizer>,<arguments of pytest>,<a library>)
# Child processes inherit it all; what they report is in files, and fails the run whatever the test made of it.
define instrumented
rm -rf $(REPORTS) && mkdir -p $(REPORTS)
status=0; env PATH="$(CURDIR)/build/venv-$(1)/bin:$$PATH" LD_PRELOAD="$(call preload,$(2)) $(5)" PYTHONMALLOC=malloc \
    OCL_ICD_VENDORS=$(REPORTS) GLIBC_TUNABLES=glibc.rtld.optional_static_tls=16384 $(3) \
    python -m pytest -m "not heavy" -p no:cacheprovider --capture=sys $(PARALLEL) $(WITHOUT_OPENCL) $(4) || status=$$?; \
if grep -rs "Sanitizer:" $(REPORTS); then cat $(REPORTS)/*; status=1; fi; exit $$status
endef

# What work abandoned at exit leaves on its stack is poisoned, since Python's pthread_exit is not instrumented: with
# detect_stack_use_after_return locals are elsewhere. CPython never frees some memory: leaks are the soak's matter.
ASAN_FLAGS := ASAN_OPTIONS=detect_leaks=0:detect_stack_use_after_return=1:allocator_may_return_null=1:log_path=$(REPORTS)/a \
    UBSAN_OPTIONS=print_stacktrace=1:abort_on_error=1
# Its deadlock detector takes 64 locks at once and Arrow's allocator has more at a fork; EVENTIDE_CHECK_LOCKS checks
# that hooks and device calls hold none of ours.
TSAN_FLAGS := TSAN_OPTIONS="suppressions=$(CURDIR)/native/tests/tsan.supp log_path=$(REPORTS)/t \
    ignore_noninstrumented_modules=1 die_after_fork=0 detect_deadlocks=0 exitcode=66"

ASAN_TESTS := tests/unit tests/property $(addprefix tests/integration/test_,$(addsuffix .py,close_race conformance \
    immediate immediate_locks plugin plugin_faults plugin_threads plugin_streams threads_race))
TSAN_TESTS := $(addprefix tests/unit/test_,$(addsuffix .py,asyncio backpressure blocking close completion \
    current_stream deadlock future gil handover hooks notify pool recorder sim_streams)) \
    $(addprefix tests/property/test_,$(addsuffix .py,concurrent_order backpressure_property)) \
    $(addprefix tests/integration/test_,$(addsuffix .py,immediate_locks plugin_threads soak))

test-asan: build/venv-address/package $(QUIET_FORK)  ## Run the Python tests with the module under ASan+UBSan; SELECT=... for other tests
	$(call instrumented,address,asan ubsan,$(ASAN_FLAGS),$(or $(SELECT),$(ASAN_TESTS)),$(CURDIR)/$(QUIET_FORK))

test-tsan: build/venv-thread/package  ## Run the threaded Python tests with the module under TSan; SELECT=... for others
	$(call instrumented,thread,tsan,$(TSAN_FLAGS),$(or $(SELECT),$(TSAN_TESTS)))

# Seconds for each device.
SECONDS ?= 600
SEED ?= 1

soak: $(HEAVY)  ## For the night: random concurrent programs on every device; a row of a table for each
	status=0; for device in cpu sim python immediate plugin opencl torch; do \
	    python -m tests.soak --device $$device --seconds $(SECONDS) --seed $(SEED) || status=1; done; exit $$status

stress: $(TESTING)  ## For the night: property tests with ten times the examples, C++ tests under TSan twenty times
	pytest tests/property --hypothesis-profile=stress --timeout=1800 -o faulthandler_timeout=1860
	$(call native_tests,thread,thread,--repeat until-fail:20)

sanitizer-nightly: $(TESTING)  ## For the night: the sanitizer against the oracle on 20,000 random programs
	EVENTIDE_SANITIZER_SEED=$${SEED:-$${RANDOM}0000} EVENTIDE_SANITIZER_PROGRAMS=$${PROGRAMS:-20000} \
	    pytest tests/property/test_sanitizer_property.py tests/property/test_sanitizer_inside_property.py \
	    -o faulthandler_timeout=0

# Seconds for each target. Those of libFuzzer need clang++ (Debian: clang and libclang-rt-14-dev); TARGET is one of them,
# or kineto, program (both atheris) or damage. What they find is in build/fuzz/found.
FUZZ_TIME ?= 600
TARGET ?= all
FUZZ_TARGETS := $(patsubst native/fuzz/fuzz_%.cpp,%,$(wildcard native/fuzz/fuzz_*.cpp))
# The folders of the core that the targets are linked with.
FUZZ_FOLDERS := encoding tracefile formats formats/* analysis sanitizer
FUZZ_CORE := $(patsubst native/core/%.cpp,build/fuzz/objects/%.o,$(wildcard $(FUZZ_FOLDERS:%=native/core/%/*.cpp)))
FUZZ_FLAGS := -std=c++20 -g -O1 -fsanitize=address,undefined -fno-sanitize-recover=undefined -Inative/core

fuzz: fuzz-build $(FUZZ)  ## Fuzz every reader of files, FUZZ_TIME seconds each; TARGET=pftrace for one of them
	python tests/fuzz/seeds.py build/fuzz/seeds
	python -m tests.fuzz.run $(FUZZ_TIME) $(if $(filter all,$(TARGET)),$(FUZZ_TARGETS) kineto program damage,$(TARGET))

fuzz-quick: fuzz-build $(TESTING)  ## Fuzz the readers of the core, FUZZ_TIME seconds each
	python tests/fuzz/seeds.py build/fuzz/seeds
	python -m tests.fuzz.run $(FUZZ_TIME) $(FUZZ_TARGETS)

fuzz-build:
	@command -v clang++ >/dev/null || { echo "fuzzing needs clang++: apt-get install clang libclang-rt-14-dev"; exit 1; }
	@$(MAKE) --no-print-directory -j$(JOBS) $(addprefix build/fuzz/fuzz_,$(FUZZ_TARGETS))

build/fuzz/objects/%.o: native/core/%.cpp
	@mkdir -p $(@D)
	$(CMAKE_CXX_COMPILER_LAUNCHER) clang++ $(FUZZ_FLAGS) -fsanitize=fuzzer-no-link -MMD -c $< -o $@

build/fuzz/fuzz_%: native/fuzz/fuzz_%.cpp native/fuzz/fuzz.hpp native/fuzz/recording.hpp build/fuzz/core.a
	clang++ $(FUZZ_FLAGS) -fsanitize=fuzzer $(filter %.cpp %.a,$^) -o $@

build/fuzz/core.a: $(FUZZ_CORE)
	ar rcs $@ $^

-include $(FUZZ_CORE:.o=.d)
.SECONDARY: $(FUZZ_CORE)

machines:  ## Run make demo and make test on clean machines (root, debootstrap); SUITES="trixie sid" for some of them
	$(PYTHON) -m tests.machines $(SUITES)

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
	@echo "building eventide (all that the build prints: .venv/build.log)"
	@pip install -v --no-build-isolation -e . 2>&1 | tee .venv/build.log | sed -un \
	    -e 's/^ *Collecting \([^ ]*\).*/  installing \1/p' -e 's/^ *\(\[[0-9]*\/[0-9]*\]\) .*\/\(.*\)/  \1 \2/p' \
	    || { tail -n 60 .venv/build.log; exit 1; }
	@touch $@

$(TESTING): | $(PACKAGE)
	@echo "installing what the tests need"
	@pip install -q -r <($(call listed,["project"]["optional-dependencies"]["test"]))
	@touch $@

$(HEAVY): requirements/heavy.txt | $(TESTING)
	pip install -q -r $<
	@touch $@

$(WEB): web/package-lock.json
	cd web && npm ci --silent --no-fund --no-audit
	@touch $@

$(FUZZ): requirements/fuzz.txt | $(TESTING)
	pip install -q -r $<
	@touch $@

$(BENCH): requirements/bench.txt | $(PACKAGE)
	pip install -q -r $<
	@touch $@

$(QUIET_FORK): native/tests/asan/fork_when_quiet.cpp | build/venv-address/package
	$(CXX) -std=c++20 -O1 -shared -fPIC -o $@ $<

comma := ,
build/venv-%/package: $(NATIVE) CMakeLists.txt | $(TESTING)
	$(VENV) -m venv --without-pip build/venv-$*
	python -c 'import sysconfig; print(sysconfig.get_path("purelib"))' > "$$(build/venv-$*/bin/python -c \
	    'import sysconfig; print(sysconfig.get_path("purelib"))')/everything_else.pth"
	build/venv-$*/bin/python -m pip install -q --no-build-isolation --no-deps --config-settings=build-dir=build/$* \
	    --config-settings=cmake.define.EVENTIDE_SANITIZE=$* --config-settings=install.strip=false -e .
	@# The compiler that tests run is not instrumented itself; the devices that it builds are.
	printf '#!/bin/sh\nunset LD_PRELOAD\nexec %s -g -fsanitize=%s "$$@"\n' "$$(command -v $(CXX))" \
	    $(if $(filter address,$*),address$(comma)undefined,$*) > build/venv-$*/bin/c++
	chmod +x build/venv-$*/bin/c++
	touch $@
