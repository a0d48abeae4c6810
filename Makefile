# Everything a person types. `make help` lists it.
SHELL := /bin/bash
PREFIX ?= /usr/local
DESTDIR ?=
CARGO ?= cargo
BIN := target/release

# The programs, and the rooms whose tests start them and wait.
PROGRAMS := cli cryptand-sop daemon card agent terminator esp timed lab csulcca cryptand-offload cryptand-python cryptand-xfrm
PROCESSES := agent cli cryptand-sop daemon esp lab terminator ipsec-tests opencryptoki-tests openpgp-tests python-tests \
	system-tests table-tests tls-tests twin-tests
PROGRAMS_BUILT = $(CARGO) build --release --locked $(addprefix -p ,$(PROGRAMS)) && scripts/revision >$(BIN)/revision

.PHONY: help build demo test test-rooms test-processes test-simulation test-levels test-all fuzz lint bless figures bench deb tarball image release install uninstall clean

help: ## List the targets
	@awk -F ':.*## ' '/^[a-z-]+:.*## / { printf "  make %-15s %s\n", $$1, $$2 }' $(MAKEFILE_LIST)

build: ## Build the programs into target/release
	@scripts/need build
	$(PROGRAMS_BUILT)
	scripts/notices $(BIN)/NOTICES >/dev/null
	scripts/wheel >/dev/null

# When it began, for what says how far it is.
demo test test-all release: export CRYPTAND_BEGAN := $(shell date +%s)

demo: ## Build, start cards in a throw-away home, measure for two minutes, write a report
	@scripts/progress demo
	@$(MAKE) --no-print-directory build
	$(BIN)/cryptand report --quick --output target/demo
	@scripts/progress --done demo

# What tests did without is noted there, and counted at the end.
test test-all: export CRYPTAND_TESTS_LACKED := $(CURDIR)/target/tests-lacked

test: ## Build and run the whole test suite (about 50 minutes from a clean clone on two cores, 30 once built)
	@scripts/progress test
	@scripts/need test
	@mkdir -p target && rm -f "$$CRYPTAND_TESTS_LACKED"
	@scripts/progress programs
	$(PROGRAMS_BUILT)
	@scripts/progress workspace
	$(CARGO) test --release --locked --workspace --no-fail-fast
	$(MAKE) --no-print-directory test-simulation test-levels lint
	@scripts/lacked
	@scripts/progress --done test

test-rooms: ## A part of it: rooms by themselves
	@scripts/need test
	$(PROGRAMS_BUILT)
	$(CARGO) test --release --locked --workspace --no-fail-fast $(addprefix --exclude ,$(PROCESSES))

test-processes: ## A part of it: rooms whose tests start programs
	@scripts/need test
	$(PROGRAMS_BUILT)
	$(CARGO) test --release --locked --no-fail-fast $(addprefix -p ,$(PROCESSES))

test-simulation: ## A part of it: the simulation from its seeds, and loom
	@scripts/progress test-simulation
	CARGO_TARGET_DIR=target/loom $(CARGO) test --release --manifest-path crates/link/loom/Cargo.toml
	CARGO_TARGET_DIR=target/loom $(CARGO) test --release --manifest-path crates/ipsec/loom/Cargo.toml
	cd crates/sim && $(CARGO) test --release --locked && $(CARGO) run --release --locked -- --seeds 200 && \
		$(CARGO) run --release --locked -- --from today --seeds 100

test-levels: ## A part of it: the kernels as on machines with less
	@scripts/progress test-levels
	scripts/levels

test-all: test ## The suite, then the long runs: Miri, aarch64, cards killed under load, 10,000 seeds of the simulation, fuzzing
	scripts/test-all

fuzz: ## Fuzz every parser and border under coverage guidance, MINUTES=2 each unless given; TARGETS="verb label" for some
	@scripts/need build
	scripts/fuzz "$(or $(MINUTES),2)" $(TARGETS)

lint: ## Formatting, lints, the pages of the libraries, licences and known flaws of libraries
	@scripts/progress lint
	$(CARGO) fmt --all --check
	$(CARGO) clippy --release --locked --workspace --all-targets -- -D warnings
	cd crates/sim && $(CARGO) fmt --check && $(CARGO) clippy --release --locked --all-targets -- -D warnings
	RUSTDOCFLAGS="-D warnings" $(CARGO) doc --release --locked --no-deps -p cryptand-engine -p cryptand-wire -p cryptand-facility -p cryptand-token -p cryptand-openpgp \
		-p cryptand-pipeline -p cryptand-deflate -p cryptand-cardkeys -p cryptand-keyring -p cryptand-link -p cryptand-home
	scripts/notices --check
	scripts/advisories

# Each of these writes its file anew instead of comparing it.
bless: ## Write anew what tests make of the verb table, the points and the verbs' answers; look at the diff before it is committed
	CRYPTAND_BLESS=1 $(CARGO) test --release --locked -p house-tests --test all -- verb_table:: role_table::
	CRYPTAND_BLESS=1 $(CARGO) test --release --locked -p fuzz-targets --test replay
	CRYPTAND_BLESS=1 $(CARGO) test --release --locked -p csulcca --test all interface::
	CRYPTAND_BLESS=1 $(CARGO) test --release --locked -p card --test all matrix::
	CRYPTAND_BLESS=1 $(CARGO) test --release --locked -p cca --test verbs uses
	CRYPTAND_BLESS=1 $(CARGO) test --release --locked -p cca exercised

figures: build ## Write the pages of docs/measured/*.json, and say which parts are older than their code
	$(BIN)/cryptand bench --pages .

bench: build ## Measure what docs/measured/performance.md states, into docs/measured/KIND.json. REV=COMMIT: beside that revision
	@scripts/need bench
	$(CARGO) build --release --locked -q -p cca --example pin_passes
	$(CARGO) build --release --locked -q -p ipsec --examples
	beside=$(if $(REV),$$(scripts/beside $(REV))) && $(BIN)/cryptand bench --write . $${beside:+--beside $$beside}
	$(CARGO) bench --locked -p card --bench rights

deb: build ## A Debian package of it in target: apt-get install ./target/cryptand_*.deb
	@scripts/need deb
	scripts/deb

tarball: build ## What `make install` installs as target/cryptand-*.tar.xz, to be unpacked anywhere
	scripts/tarball

release: ## All of a version in target/release-VERSION: packages, images, notes, bill of materials, sums; KEY=WHO signs them
	@scripts/progress release
	@scripts/need deb
	@$(MAKE) --no-print-directory build
	@scripts/release $(if $(KEY),"$(KEY)")
	@scripts/progress --done release

image: build ## Two OCI images in target/cryptand*.oci.tar: file commands, and a development home; podman load -i FILE
	scripts/image

install: ## Install what `make build` made into PREFIX (default /usr/local), with man pages, completions and systemd units
	scripts/install "$(DESTDIR)" "$(PREFIX)" install

uninstall: ## Remove what `make install` put under PREFIX
	scripts/install "$(DESTDIR)" "$(PREFIX)" uninstall

clean: ## Remove everything that was built
	$(CARGO) clean
