# `make demo`, `make test` and `make check` do all their own set-up; each leaves the command at .venv/bin/packetloom.

SHELL := /bin/sh
PYTHON ?= python3
BIN := .venv/bin
# One interpreter for every build of the bindings, so that nothing is compiled twice for another.
export PYO3_PYTHON := $(CURDIR)/$(BIN)/python
RUST := Cargo.toml Cargo.lock $(shell find crates workloads benches -type f 2>/dev/null)

.PHONY: help install demo test check compiled-tests test-ray lint format fast bench bench-parts bench-compare docs library wheel validate verdicts stale reproduce fuzz clean

help:
	@echo "make install    build the simulator and its command, .venv/bin/packetloom"
	@echo "make demo       build, run examples/demo.toml, show the table, write the report"
	@echo "make test       is this build right on this machine? Pins of every component, exact references, the commands"
	@echo "make check      what CI runs: lint, all tests but the long ones"
	@echo "make test-ray   campaigns on a Ray cluster of two nodes; installs Ray"
	@echo "make lint       formatting, clippy, ruff, mypy, who may import whom, prose, workflows, citation"
	@echo "make format     format all sources"
	@echo "make fast       a profile-guided build instead of the plain one: a little faster, minutes to make"
	@echo "make bench      speed and memory"
	@echo "make bench-parts   the speed of the engine's parts"
	@echo "make bench-compare BASE=main~1   speed beside another revision's, in pairs of runs"
	@echo "make validate   the long comparisons with theory and other simulators; every paper's verdicts"
	@echo "make verdicts   redo every paper (SCALE=quick), and hold its verdicts against the committed ones; ACCEPT=1 commits"
	@echo "make stale      name the committed verdicts that are of other code; MARK=1 has them say so"
	@echo "make reproduce  redo one paper (PAPER=pfabric SCALE=quick)"
	@echo "make library    the C library and its header, in target/library"
	@echo "make fuzz       throw broken files at every reader (FUZZ_SECONDS=60 each)"
	@echo "make docs       the documentation as a site in target/site; the Rust reference in target/doc"
	@echo "make wheel      wheels for any Linux in dist/, tested in a clean environment; for one kind of machine with TARGET="
	@echo "make clean      remove what the builds made (results stay)"

.venv/pyvenv.cfg:
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || { echo "packetloom needs Python 3.11 or later; name it: make demo PYTHON=python3.12" >&2; exit 1; }
	@$(PYTHON) -m venv .venv || { rm -rf .venv; echo "python3 -m venv failed: on Debian, apt install python3-venv" >&2; exit 1; }

# Of the packages only what commands load is compiled; pip would compile all there is. It is done as they are installed, since
# an environment may have Python keep nothing (PYTHONDONTWRITEBYTECODE), and each command would take a CPU-second more.
LOADED := jinja2, matplotlib.pyplot, numba, polars, pyarrow.compute, pyarrow.parquet, rich.live, rich.table, scipy.stats, tomlkit

.venv/.tools: requirements.txt .venv/pyvenv.cfg
	@echo "installing the pinned Python packages"
	@$(BIN)/python -m pip install --quiet --no-compile --disable-pip-version-check -r requirements.txt
	@env -u PYTHONDONTWRITEBYTECODE $(BIN)/python -c "import $(LOADED)"
	@touch $@

.venv/.dev-tools: requirements-dev.txt .venv/.tools
	@$(BIN)/python -m pip install --quiet --no-compile --disable-pip-version-check -r requirements-dev.txt
	@touch $@

.venv/.ray: requirements-ray.txt .venv/.dev-tools
	@$(BIN)/python -m pip install --quiet --no-compile --disable-pip-version-check -r requirements-ray.txt
	@touch $@

.venv/.wheel: requirements-wheel.txt .venv/.dev-tools
	@$(BIN)/python -m pip install --quiet --no-compile --disable-pip-version-check -r requirements-wheel.txt
	@touch $@

.venv/.docs: requirements-docs.txt .venv/.dev-tools
	@$(BIN)/python -m pip install --quiet --no-compile --disable-pip-version-check -r requirements-docs.txt
	@touch $@

.venv/.installed: .venv/.tools pyproject.toml $(RUST)
	@command -v cargo >/dev/null || { echo "packetloom needs Rust (cargo) to be built: see the README" >&2; exit 1; }
	@echo "building the simulator (once; a minute or two)"
	@. $(BIN)/activate && maturin develop --release --locked
	@env -u PYTHONDONTWRITEBYTECODE $(BIN)/python -m compileall -q python/packetloom
	@env -u PYTHONDONTWRITEBYTECODE $(BIN)/packetloom check examples/dumbbell.toml >/dev/null
	@touch $@

install: .venv/.installed
	@echo "the command is $(BIN)/packetloom; after \`. $(BIN)/activate\` it is packetloom"

demo: .venv/.installed
	@$(BIN)/packetloom run examples/demo.toml -o results/demo
	@$(BIN)/packetloom report results/demo -o results/demo/report.html

lint: .venv/.dev-tools .venv/.installed
	cargo fmt --check
	cargo clippy --workspace --all-targets --locked -- -D warnings
	RUSTDOCFLAGS="-D warnings" cargo doc --workspace --no-deps --locked --document-private-items --quiet
	$(BIN)/ruff format --check python tests docs
	$(BIN)/ruff check python tests docs
	$(BIN)/mypy
	$(BIN)/python docs/style.py
	$(BIN)/pytest --quiet tests/python/test_rooms.py tests/python/test_crate_rooms.py tests/python/test_one_of_each.py
	$(BIN)/check-jsonschema --builtin-schema vendor.github-workflows .github/workflows/*.yml
	$(BIN)/check-jsonschema --builtin-schema vendor.citation-file-format CITATION.cff

# Another build computes the same, bit for bit; other simulators, to the nanosecond; the commands and documents work.
TESTED := this_build cli docs examples peer_hpcc peer_conweave
.venv/.test-tools: requirements-dev.txt .venv/.tools
	@$(BIN)/python -m pip install --quiet --no-compile --disable-pip-version-check -c requirements-dev.txt pytest pytest-xdist
	@touch $@

test: .venv/.test-tools .venv/.installed
	@$(BIN)/pytest -n auto --dist load $(TESTED:%=tests/python/test_%.py)

# With -j compiled while the packages come and the simulator is built.
compiled-tests: .venv/pyvenv.cfg
	cargo test --workspace --locked --no-run

# A worker for each core; what needs every core for itself runs after the others.
QUICK := not slow and not ray and not wheel
check: lint compiled-tests library
	cargo test --workspace --locked
	$(BIN)/pytest -n auto --dist loadfile -m "$(QUICK) and not alone"
	$(BIN)/pytest -m "$(QUICK) and alone"

test-ray: .venv/.ray .venv/.installed
	$(BIN)/pytest -m ray

format: .venv/.dev-tools
	cargo fmt
	$(BIN)/ruff format python tests docs
	$(BIN)/ruff check --fix python tests docs

# Built, trained on benches/training, built again; it stays until the sources change. The packages that the training runs
# with are the pinned ones, and what is compiled goes: the profile is another each time, so nothing could be used again.
fast: .venv/.tools
	@command -v cargo >/dev/null || { echo "packetloom needs Rust (cargo) to be built: see the README" >&2; exit 1; }
	@test -x "$$(rustc --print target-libdir)/../bin/llvm-profdata" || \
	  { echo "a profile-guided build needs the toolchain's own llvm-profdata: rustup component add llvm-tools" >&2; exit 1; }
	@echo "building the simulator twice, once to learn what it does (some minutes)"
	@rm -f .venv/.installed
	@. $(BIN)/activate && PIP_CONSTRAINT=$(CURDIR)/requirements.txt CARGO_TARGET_DIR=target/fast maturin develop --pgo --locked
	@rm -rf target/fast
	@touch .venv/.installed

results:
	@mkdir -p $@

bench: .venv/.installed | results
	@$(BIN)/packetloom bench --json results/bench.json
	@$(BIN)/packetloom bench-control --json results/bench-control.json

# The calendar, each queue, each routing and a matching by themselves.
bench-parts:
	cargo bench --locked -p packetloom --bench parts

# Both builds at once, on a core each, so that they have the same neighbours; in turn where there are too few cores. BASE's
# build stays in target/bench-base, so that the next comparison with it starts at once.
PAIRS ?= 5
bench-compare: .venv/.installed | results
	@test -n "$(BASE)" || { echo "which revision? make bench-compare BASE=main~1" >&2; exit 2; }
	@mkdir -p target
	@test -d target/bench-base || git worktree add --quiet --detach target/bench-base
	@git -C target/bench-base checkout --quiet --detach "$(BASE)"
	@$(MAKE) --no-print-directory -C target/bench-base .venv/.installed
	@$(BIN)/packetloom bench $(BENCHMARKS) --against target/bench-base/.venv/bin/python --pairs $(PAIRS) --json results/bench-compare.json

# Published traces are read where PACKETLOOM_TRACES names a folder that has them.
validate: test-ray library | results
	cargo test --workspace --release --locked -- --ignored $(if $(PACKETLOOM_TRACES),,--skip formats::examples)
	$(BIN)/pytest -m slow
	$(BIN)/packetloom validate theory peers kernel --json results/validate.json
	@$(MAKE) --no-print-directory verdicts

# Every paper at once, so that one whose verdicts changed hides no other. With ACCEPT=1 today's are committed.
PAPERS ?= $(patsubst papers/%/README.md,%,$(wildcard papers/*/README.md))
SCALE ?= quick
verdicts: .venv/.installed | results
	@changed=; for paper in $(PAPERS); do \
	  $(BIN)/packetloom reproduce $$paper --scale $(SCALE) --json results/$$paper-$(SCALE).json $(if $(ACCEPT),--accept) \
	    || changed="$$changed $$paper"; \
	done; test -z "$$changed" || { echo "reproduce failed, see above:$$changed" >&2; exit 1; }

# Which committed verdicts are of other code than this, in seconds.
stale: .venv/.installed
	@$(BIN)/python -m packetloom.reproduce.fingerprints $(if $(MARK),--mark)

PAPER ?= pfabric
reproduce: .venv/.installed | results
	@$(BIN)/packetloom reproduce $(PAPER) --scale $(SCALE) --json results/$(PAPER)-$(SCALE).json

docs: .venv/.docs .venv/.installed
	RUSTDOCFLAGS="-D warnings" cargo doc --workspace --no-deps --locked
	@$(BIN)/packetloom schema > target/doc/scenario.schema.json
	@NO_MKDOCS_2_WARNING=1 $(BIN)/mkdocs build --quiet
	@echo "target/site/index.html, target/doc/packetloom/index.html, target/doc/scenario.schema.json"

# libpacketloom.so.1 is the name of the first interface (PACKETLOOM_ABI of the header); programs are linked with -lpacketloom.
CARGO_OUTPUT ?= $(or $(CARGO_TARGET_DIR),target)/release
LIBRARY ?= target/library
library:
	@command -v cargo >/dev/null || { echo "packetloom needs Rust (cargo) to be built: see the README" >&2; exit 1; }
	cargo build --release --locked -p packetloom-c
	@mkdir -p $(LIBRARY)/include $(LIBRARY)/lib
	@cp include/packetloom.h $(LIBRARY)/include/
	@cp $(CARGO_OUTPUT)/libpacketloom_c.so $(LIBRARY)/lib/libpacketloom.so.1
	@ln -sf libpacketloom.so.1 $(LIBRARY)/lib/libpacketloom.so
	@echo "cc -I$(LIBRARY)/include program.c -L$(LIBRARY)/lib -lpacketloom -Wl,-rpath,$(abspath $(LIBRARY)/lib)"

# For both machines of Linux, where rustc has the other's standard library, or for TARGET alone; zig links for each, against
# the glibc of 2014, so that it runs on any Linux since. Not profile-guided: zig does not link what has counters.
# The engine is built once: the test beside this clone's own build is left out where there is none.
TARGETS = $(or $(TARGET),x86_64-unknown-linux-gnu aarch64-unknown-linux-gnu)
LINKED = --compatibility manylinux2014 $(if $(findstring windows,$(TARGET)),,--zig)
wheel: .venv/.wheel
	@command -v cargo >/dev/null || { echo "packetloom needs Rust (cargo) to be built: see the README" >&2; exit 1; }
	@rm -rf dist
	@. $(BIN)/activate; for target in $(TARGETS); do \
	  if test -d "$$(rustc --print target-libdir --target $$target)"; then \
	    CARGO_TARGET_DIR=target/wheel maturin build --release --locked --target $$target $(LINKED) --out dist || exit 1; \
	  else echo "no wheel for $$target: rustc lacks its standard library; rustup target add $$target" >&2; fi; \
	done; ls dist/*.whl 2>/dev/null
	@if ls dist/*manylinux*_$$(uname -m).whl >/dev/null 2>&1; then PYTHONPATH=python $(BIN)/pytest -m wheel tests/python/test_wheel.py; \
	else echo "not run here: it is for another machine" >&2; fi

# Not part of the tests: it needs a nightly toolchain and cargo-fuzz (cargo install cargo-fuzz).
FUZZ_SECONDS ?= 60
FUZZ_TARGETS ?= $(notdir $(wildcard fuzz/corpus/*))
fuzz:
	@for reader in $(FUZZ_TARGETS); do \
	  mkdir -p target/fuzz/$$reader && \
	  cargo +nightly fuzz run $$reader target/fuzz/$$reader fuzz/corpus/$$reader -- \
	    -max_total_time=$(FUZZ_SECONDS) -timeout=10 -rss_limit_mb=1024 -max_len=4096 || exit 1; \
	done

clean:
	rm -rf .venv target dist .mypy_cache .ruff_cache .pytest_cache
