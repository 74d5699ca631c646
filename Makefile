# Front door. Each target installs what it lacks (scripts/setup.sh), configures and builds.
#   make run [TEXT=file] [OUT=directory] [ARGS=...]

BUILD := build
JOBS  := $(shell nproc 2>/dev/null || echo 2)
OUT   ?= runs/demo-$(shell date +%Y%m%d-%H%M%S)
PREFIX ?= /usr/local

SETUP     := scripts/setup.sh
CONFIGURE := cmake --preset release --log-level=WARNING
CTEST     := ctest --test-dir $(BUILD) --output-on-failure -j$(JOBS)

# PyTorch and the tools of the Python package live in an environment of their own.
PYTHON ?= python3
VENV   := $(BUILD)/venv

SOURCES := git ls-files --cached --others --exclude-standard
# Files that git still lists but that are gone from disk are skipped.
EXISTING := while IFS= read -r f; do [ -f "$$f" ] && printf '%s\0' "$$f"; done; true

.DEFAULT_GOAL := help
.PHONY: help run build test test-python check-sanitizers check-long check-distros fuzz bench bench-layers bench-peers format lint wheel check-wheel install package clean

help: ## show this list
	@awk -F ':.*## ' '/^[a-z-]+:.*## / {printf "make %-16s %s\n", $$1, $$2}' $(MAKEFILE_LIST)

run: build ## build, then train and compare on a small text: TEXT=file takes your own, OUT=directory
	$(BUILD)/dsf demo $(if $(TEXT),--text "$(TEXT)") --out "$(OUT)" $(ARGS)

build: ## the program, build/dsf
	@$(SETUP) build
	@$(CONFIGURE) >/dev/null
	@cmake --build $(BUILD) --target dsf_cli

test: build-tests ## all tests but the long ones
	$(CTEST) -LE '^long$$'
	@$(MAKE) --no-print-directory test-python

test-python: $(VENV)/ready build-native ## the tests of the Python package
	$(VENV)/bin/python -m pytest -q -n $(JOBS) $(ARGS)
	DSF_NATIVE=off $(VENV)/bin/python -m pytest -q -n $(JOBS) $(WITHOUT_NATIVE)

# What users without the native part rely on. The first run has everything on its kernels that they take.
WITHOUT_NATIVE := $(addprefix python/tests/test_,like_torch.py compile.py interface.py torch_cases.py)

# The package is installed in place: a change of its sources needs no installation, a change of its build does.
$(VENV)/ready: python/requirements-dev.txt pyproject.toml CMakeLists.txt scripts/python_env.sh
	@$(SETUP) python
	@scripts/python_env.sh $(VENV) $(PYTHON)
	@touch $@

check-sanitizers: $(VENV)/ready ## the same tests under the address, undefined-behaviour and thread sanitizers
	@$(SETUP) build test
	@for preset in asan tsan; do \
	  cmake --preset $$preset --log-level=WARNING >/dev/null && cmake --build --preset $$preset && \
	  ctest --preset $$preset -j$(JOBS) || exit 1; done
	@$(MAKE) --no-print-directory test-python-asan

# The native part of the Python package, built with the first two of them, as PyTorch calls it. Python is not built so:
# the run time is loaded before it, and libstdc++ with it, whose exceptions it watches. Python and PyTorch keep much of
# their memory until the process ends, so what is lost is not looked for here; test_memory.py sees what grows.
.PHONY: test-python-asan
test-python-asan: $(VENV)/ready
	@cmake --preset asan -DDSF_BUILD_PYTHON=ON --log-level=WARNING >/dev/null
	@cmake --build --preset asan --target dsf_native
	LD_PRELOAD="$$(c++ -print-file-name=libasan.so) $$(c++ -print-file-name=libstdc++.so)" \
	  ASAN_OPTIONS=detect_leaks=0 UBSAN_OPTIONS=print_stacktrace=1:halt_on_error=1 \
	  DSF_NATIVE_LIBRARY=$(CURDIR)/build-asan/libdsf_native.so \
	  $(VENV)/bin/python -m pytest -q -n $(JOBS) $(UNDER_ASAN)

# Those that call the layers' kernels; what needs the program or compiles is left out.
UNDER_ASAN := $(addprefix python/tests/test_,memory.py tapes.py native.py like_torch.py feedback.py)

check-long: build-tests build-fuzzers ## two hours: the long tests, the page in a browser, fuzzing, a soak
	@$(SETUP) browser
	scripts/check_long.sh

check-distros: ## `make run` and `make test` in a new root file system of each Debian release; as root
	scripts/check_distros.sh $(ARGS)

fuzz: FUZZ_SECONDS ?= 600
fuzz: build-fuzzers ## run the fuzz targets, each for FUZZ_SECONDS (600)
	scripts/fuzz.sh $(FUZZ_SECONDS)

.PHONY: build-tests build-fuzzers build-native
build-native:
	@$(SETUP) build
	@$(CONFIGURE) -DDSF_BUILD_PYTHON=ON >/dev/null
	@cmake --build $(BUILD) --target dsf_native dsf_cli

build-fuzzers:
	@$(SETUP) build fuzz
	@cmake --preset fuzz --log-level=WARNING >/dev/null
	@cmake --build build-fuzz --target fuzzers

build-tests:
	@$(SETUP) build test mpi
	@$(CONFIGURE) -DDSF_BUILD_TESTS=ON -DDSF_BUILD_PYTHON=ON -DDSF_WITH_MPI=ON >/dev/null
	@cmake --build $(BUILD)

bench: ## speed of every training method, in ARGS the options of `dsf bench step`
	@$(SETUP) build bench
	@$(CONFIGURE) -DDSF_BUILD_BENCH=ON >/dev/null
	@cmake --build $(BUILD)
	$(BUILD)/dsf bench step $(ARGS)

# PyTorch 2.13.0 of the environment, or Debian's if that cannot be made.
bench-peers: build ## training steps in PyTorch and in dsf, taking turns; in ARGS the options of scripts/bench_peers.py
	@$(MAKE) --no-print-directory $(VENV)/ready || $(SETUP) peers
	python=$(VENV)/bin/python; [ -e $(VENV)/ready ] || python=python3; \
	  $$python scripts/bench_peers.py --dsf $(BUILD)/dsf $(ARGS)

bench-layers: $(VENV)/ready ## dsf.nn's layers against torch.nn's, in ARGS the options of scripts/bench_layers.py
	$(VENV)/bin/python scripts/bench_layers.py $(ARGS)

format: $(VENV)/ready ## rewrite the sources as .clang-format and pyproject.toml say
	@$(SETUP) lint
	@$(VENV)/bin/ruff format --quiet
	@$(SOURCES) '*.cc' '*.h' | { $(EXISTING); } | xargs -0 -r clang-format -i

lint: lint-python ## clang-format, clang-tidy, ruff, mypy and bash -n; changes nothing
	@$(SETUP) build test mpi lint
	@$(CONFIGURE) -DDSF_BUILD_TESTS=ON -DDSF_WITH_MPI=ON >/dev/null
	@cmake --build $(BUILD) --target dsf_version
	@$(SOURCES) '*.cc' '*.h' | { $(EXISTING); } | xargs -0 -r clang-format --dry-run -Werror
	@$(SOURCES) '*.sh' .ci/run | { $(EXISTING); } | xargs -0 -r -n1 bash -n
	@$(SOURCES) 'dsf/*.cc' 'lab/*.cc' 'apps/*.cc' | { $(EXISTING); } | \
	  xargs -0 -r -n2 -P$(JOBS) scripts/tidy.sh $(BUILD)
	@echo "lint: clean"

.PHONY: lint-python
lint-python: $(VENV)/ready
	@$(VENV)/bin/ruff check --quiet
	@$(VENV)/bin/ruff format --quiet --check
	@$(VENV)/bin/mypy

wheel: $(VENV)/ready ## a self-contained wheel of the Python package, in dist/
	@$(SETUP) build
	@scripts/make_wheel.sh $(VENV)/bin/python

check-wheel: wheel ## the wheel in a new root file system without a compiler; as root
	scripts/check_wheel.sh $(ARGS)

install: build ## install under PREFIX (/usr/local)
	cmake --install $(BUILD) --prefix "$(PREFIX)"

package: build ## a Debian package of the program, in build/
	@$(SETUP) package
	@cd $(BUILD) && cpack --config CPackConfig.cmake >cpack.log || { cat cpack.log; exit 1; }
	@ls $(BUILD)/dsf_*.deb

clean: ## remove the build directories
	rm -rf build build-debug build-asan build-tsan build-fuzz build-distros
