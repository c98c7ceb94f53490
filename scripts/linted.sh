#!/usr/bin/env bash
# What cargo calls in the place of rustc for crates of ours, as RUSTC_WORKSPACE_WRAPPER: clippy's compiler, which lints what it
# compiles, for programs and tests, and rustc itself for a library alone. The source of a library is linted when it is compiled
# once more with its tests; nothing of it is left out there (crates/cli/tests/architecture).
#   scripts/linted.sh RUSTC ARGUMENT..
case " $* " in
  *' --crate-type lib '*) exec "$@" ;;
  *) exec clippy-driver "$@" ;;
esac
