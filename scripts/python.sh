#!/usr/bin/env bash
# The Python package for results (python/).
#   scripts/python.sh install    make target/python, an environment with the package and all that it can use; needs
#                                Python 3.9 or newer with venv, and a package index that pip reaches
#   scripts/python.sh test       check its types and run its tests against archives that target/debug/cosmark makes
# With --if-possible as second argument, what cannot run here is said in a line "SKIPPED .." and is no failure.
# Exit code: 0 done, 1 failed, 2 bad usage.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."
WHAT='the Python package'
OPTIONAL=${2:-}
ENVIRONMENT=target/python
BINARY=target/debug/cosmark
log=$(mktemp)
trap 'rm -f "$log"' EXIT

cannot() { # WHY
  if [[ $OPTIONAL == --if-possible ]]; then
    printf 'SKIPPED %s: %s\n' "$WHAT" "$1"
    exit 0
  fi
  printf 'error: %s\n' "$1" >&2
  exit 1
}

install() {
  python3 -c 'import ensurepip, sys, venv; sys.exit(sys.version_info < (3, 9))' 2>/dev/null ||
    cannot 'no Python 3.9 with venv; install the packages python3 and python3-venv'
  # Its programs name the place where it was made: one that was moved with its folder is made again.
  if [[ -e $ENVIRONMENT/bin/pip ]] && ! head -n 1 "$ENVIRONMENT/bin/pip" | grep -qF "$(realpath "$ENVIRONMENT")/"; then
    rm -rf "$ENVIRONMENT"
  fi
  [[ -x $ENVIRONMENT/bin/python ]] || python3 -m venv "$ENVIRONMENT"
  local pip=("$ENVIRONMENT/bin/python" -m pip --disable-pip-version-check --no-input --timeout 20 --retries 1 install -q --no-compile)
  # What it can use, once; the package itself whenever a source changes.
  if [[ ! -e $ENVIRONMENT/.complete || python/pyproject.toml -nt $ENVIRONMENT/.complete ]]; then
    timeout 1500 "${pip[@]}" './python[all,test]' 'hatchling>=1.21' >"$log" 2>&1 || {
      tail -n 3 "$log"
      cannot 'pip cannot install what it uses; is the package index reachable?'
    }
    touch "$ENVIRONMENT/.complete"
  fi
  # It was installed, and no source is newer.
  [[ -z $(find python -newer "$ENVIRONMENT/.installed" -type f -print -quit 2>&1) ]] && return 0
  # Nothing of this needs the network: what fails is the package.
  timeout 600 "${pip[@]}" --no-deps --no-build-isolation --force-reinstall ./python >"$log" 2>&1 || {
    tail -n 3 "$log"
    printf 'error: the package cannot be built\n' >&2
    exit 1
  }
  touch "$ENVIRONMENT/.installed"
}

tests() {
  local status=0 passed failed
  install
  [[ -x $BINARY ]] || cannot "no $BINARY; run: cargo build -p cosmark"
  export COSMARK_BIN=$PWD/$BINARY MPLBACKEND=Agg
  cd python
  "../$ENVIRONMENT/bin/mypy" --cache-dir=../target/python/mypy || status=1
  timeout 3600 "../$ENVIRONMENT/bin/pytest" -q -p no:cacheprovider 2>&1 | tee "$log" || status=1
  passed=$(sed -n 's/.*\b\([0-9]\+\) passed.*/\1/p' "$log" | tail -n 1)
  failed=$(sed -n 's/.*\b\([0-9]\+\) \(failed\|error\).*/\1/p' "$log" | tail -n 1)
  # The line that scripts/test.sh adds up.
  printf 'test result: %s. %s passed; %s failed; 0 ignored\n' "$( ((status)) && echo FAILED || echo ok)" \
    "${passed:-0}" "${failed:-$status}"
  return "$status"
}

case ${1:-} in
  install) install ;;
  test) tests ;;
  *)
    awk 'NR == 1 { next } !/^#/ { exit } { sub(/^# ?/, ""); print }' "$0" >&2
    exit 2
    ;;
esac
