#!/usr/bin/env bash
# What cargo calls in the place of rustc for crates of ours, as RUSTC_WORKSPACE_WRAPPER: clippy's compiler, which lints what it
# compiles, for tests and examples, and rustc itself for a library or the program alone. Their sources are linted when they are
# compiled once more with their tests; nothing of them is left out there (crates/cli/tests/architecture).
#   scripts/linted.sh RUSTC ARGUMENT..
# Tests start the program some thousand times. Each time a third of a million addresses would be set right in it, as it may lie
# anywhere; one that lies where it was linked for has none, and starts in a third of the time. What is packed may lie anywhere.
placed=()
[[ $OSTYPE != linux* ]] || placed=(-C relocation-model=static)
case " $* " in
  *' --test '*) exec clippy-driver "$@" ;;
  *' --crate-type lib '*) exec "$@" ;;
  *' --crate-name cosmark '*) exec "$@" "${placed[@]}" ;;
  *) exec clippy-driver "$@" ;;
esac
