#!/usr/bin/env bash
# What cargo calls in the place of rustc for crates of ours, as RUSTC_WORKSPACE_WRAPPER: clippy's compiler, which lints what it
# compiles, for tests and examples, and rustc itself for a library or the program alone. Their sources are linted when they are
# compiled once more with their tests; nothing of them is left out there (crates/cli/tests/architecture).
#   scripts/linted.sh RUSTC ARGUMENT..
case " $* " in
  *' --test '*) exec clippy-driver "$@" ;;
  *' --crate-type lib '* | *' --crate-name cosmark '*) exec "$@" ;;
  *) exec clippy-driver "$@" ;;
esac
