#!/usr/bin/env bash
# The web console and the page of the HTML report (console/), which the binary embeds when they were built before.
#   scripts/console.sh build     build console/dist/report.html (one file) and console/dist/console/ (index.html and files
#                                with hashed names) if a source is newer; needs Node.js 20.19 or newer and npm
#   scripts/console.sh test      check types and run their own tests
#   scripts/console.sh browser   make reports of real runs and open them in headless Chromium; screenshots stay in
#                                target/report-screenshots, but with COSMARK_SHOTS=no. Needs target/debug/cosmark, built
#                                after the page
#   scripts/console.sh live      drive the console in headless Chromium: against scripted runs, then against a real controller with the
#                                embedded store; screenshots stay in console/e2e/artefacts, but with COSMARK_SHOTS=no. Needs
#                                target/debug/cosmark
# With --if-possible as second argument, what cannot run here is said in a line "SKIPPED .." and is no failure.
# Exit code: 0 done, 1 failed, 2 bad usage.
set -euo pipefail
# shellcheck source-path=SCRIPTDIR source=../testbeds/lib.sh
. "$(dirname "${BASH_SOURCE[0]}")/../testbeds/lib.sh"
cd "$(dirname "${BASH_SOURCE[0]}")/.."
PAGE=console/dist/report.html
CONSOLE=console/dist/console/index.html
BUILT=console/dist/.built # as old as the last build of both that went well
OPTIONAL=${2:-}
log='' work='' # temporary
STEP=''        # the process that is waited for, and the group that it leads
BESIDE=''      # what runs beside it
trap 'rm -rf "$log" "$work"' EXIT
trap ended INT TERM HUP

# What is ended ends what it started: a browser would stay for ever.
ended() {
  trap '' INT TERM HUP
  # shellcheck disable=SC2086 # none or one each
  kill $STEP $BESIDE 2>/dev/null || true # timeout(1) passes it on to its whole group
  wait || true
  exit 143
}

# bounded SECONDS COMMAND..: as timeout(1), but a signal that comes meanwhile is heeded at once.
bounded() {
  local status=0
  timeout --kill-after=30 "$@" &
  STEP=$!
  wait "$STEP" || status=$?
  STEP=''
  return "$status"
}

cannot() { # WHAT WHY
  if [[ $OPTIONAL == --if-possible ]]; then
    printf 'SKIPPED %s: %s\n' "$1" "$2"
    exit 0
  fi
  die "$2"
}

need_node() { # WHAT
  local version
  { command -v node && command -v npm; } >/dev/null || cannot "$1" 'no Node.js; install Node.js 20.19 or newer with npm'
  version=$(node --version)
  node -e 'const [a, b] = process.versions.node.split(".").map(Number); process.exit(a > 20 || (a === 20 && b >= 19) ? 0 : 1)' ||
    cannot "$1" "Node.js $version is too old; install 20.19 or newer"
  # npm leaves this file when it has installed what the lock file says.
  if [[ ! console/node_modules/.package-lock.json -nt console/package-lock.json ]]; then
    (cd console && npm ci --no-audit --no-fund --loglevel=error) || cannot "$1" 'npm ci failed; is the package registry reachable?'
  fi
}

build() {
  if [[ -e $PAGE && -e $CONSOLE && -e $BUILT && -z $(find console -path console/node_modules -prune -o -path console/dist -prune -o -path console/e2e -prune -o -type f -newer $BUILT -print -quit) ]]; then
    return 0
  fi
  need_node 'web console and page of the HTML report'
  local page types status=0
  rm -f $BUILT
  cd console
  # All three at once.
  timeout --kill-after=30 600 npx --no-install tsc --noEmit &
  types=$!
  timeout --kill-after=30 600 npx --no-install vite build --logLevel warn &
  page=$!
  BESIDE="$types $page"
  bounded 600 npx --no-install vite build --config vite.console.config.ts --logLevel warn || status=$?
  wait "$types" || status=$?
  wait "$page" || status=$?
  BESIDE=''
  cd ..
  ((status)) || touch $BUILT
  return "$status"
}

# The line that scripts/test.sh adds up.
result() { # PASSED FAILED
  printf 'test result: %s. %s passed; %s failed; 0 ignored\n' "$( (($2)) && echo FAILED || echo ok)" "$1" "$2"
}

tests() {
  local status=0
  need_node 'tests of the console and the report page'
  log=$(mktemp)
  (cd console && npx --no-install tsc --noEmit && NO_COLOR=1 npx --no-install vitest run) 2>&1 | tee "$log" || status=$?
  result "$(sed -n 's/^ *Tests .*[^0-9]\([0-9]\+\) passed.*/\1/p' "$log" | grep . || echo 0)" \
    "$(sed -n 's/^ *Tests .*[^0-9]\([0-9]\+\) failed.*/\1/p' "$log" | grep . || echo $((status ? 1 : 0)))"
  return "$status"
}

# A script that drives the browser and fails, or hangs, runs once more: if it passes then, the first try counts as "FLAKY
# NAME" and not as failed. A FLAKY line is a defect of the script, to be fixed.
TRY_SECONDS=${COSMARK_TRY_SECONDS:-2700}

# The output goes through a file: a pipe would be waited for as long as anything that the browser left behind holds it.
first_try() { # COMMAND..
  local out status=0
  out=$(mktemp)
  bounded "$TRY_SECONDS" "$@" >"$out" 2>&1 || status=$?
  sed 's/^test result: FAILED/first try: FAILED/' "$out"
  rm -f "$out"
  if ((status == 124 || status == 137)); then printf 'first try: NOT DONE after %s s\n' "$TRY_SECONDS"; fi
  return "$status"
}

again() { # NAME COMMAND..
  local name=$1
  shift
  bounded $((TRY_SECONDS * 2 / 3)) "$@" || return "$?"
  printf 'FLAKY %s: failed once, passed when it ran again\n' "$name"
}

browser() {
  local what='reports in a browser' binary=target/debug/cosmark synthetic=target/debug/examples/synthetic_matrix
  need_node "$what"
  [[ -e $PAGE ]] || cannot "$what" 'the page was not built; run: make console'
  [[ -x $binary ]] || cannot "$what" "no $binary; run: cargo build -p cosmark"
  (need_packages chromium=chromium,fonts-dejavu-core) || cannot "$what" 'no Chromium; install the package chromium'
  work=$(mktemp -d)
  "$binary" demo --runtime 6 --archive "$work" --quiet >"$work/log" 2>&1 || { cat "$work/log"; die "the demo failed"; }
  local reports=("$work"/w1-*/report.html)
  if [[ -x $synthetic ]]; then
    # Twenty stages: the overview, and data that has to be reduced.
    "$synthetic" "$work/study" 30 1
    "$binary" report "$work"/study/w1-* >/dev/null
    reports+=("$work"/study/w1-*/report.html)
  fi
  CHROMIUM=$(command -v chromium)
  export CHROMIUM
  cd console
  local script=(node e2e/report.mjs ../target/report-screenshots "${reports[@]}")
  first_try "${script[@]}" || again 'reports in a browser' "${script[@]}"
}

live() {
  local what='the console in a browser' binary=target/debug/cosmark status=0
  need_node "$what"
  [[ -e $CONSOLE ]] || cannot "$what" 'the console was not built; run: make console'
  [[ -x $binary ]] || cannot "$what" "no $binary; run: cargo build -p cosmark"
  (need_packages chromium=chromium,fonts-dejavu-core) || cannot "$what" 'no Chromium; install the package chromium'
  CHROMIUM=$(command -v chromium)
  export CHROMIUM
  cd console
  local scripted=(node e2e/console-mock.mjs) real=(node e2e/console.mjs "../$binary")
  # Both at once: much of the time is waiting. One that fails runs again alone.
  log=$(mktemp)
  # A process of its own: it has nothing of this one's to end, and is ended by the same signals.
  (
    trap ended INT TERM HUP
    BESIDE=''
    first_try "${scripted[@]}"
  ) >"$log" &
  BESIDE=$!
  local scripted_failed='' real_failed=''
  first_try "${real[@]}" || real_failed=yes
  wait "$BESIDE" || scripted_failed=yes
  BESIDE=''
  cat "$log"
  [[ -z $scripted_failed ]] || again 'the console against scripted runs' "${scripted[@]}" || status=$?
  [[ -z $real_failed ]] || again 'the console against a real controller' "${real[@]}" || status=$?
  return "$status"
}

case ${1:-} in
  build) build ;;
  test) tests ;;
  browser) browser ;;
  live) live ;;
  *) usage 2 ;;
esac
