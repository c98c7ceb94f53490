#!/usr/bin/env bash
# The pictures of docs/gallery, made anew: runs against the simulated store on loopback, `cosmark plot`, and the console and a
# report in headless Chromium.   scripts/gallery.sh [COSMARK]   takes about seven minutes.
set -euo pipefail
cd "$(dirname "$0")/.."
cosmark=$(realpath "${1:-target/release/cosmark}")
out=$PWD/docs/gallery
work=$(mktemp -d)
store=
stop() {
  if [ -n "$store" ]; then
    kill "$store" 2>/dev/null || true
    wait "$store" 2>/dev/null || true
    store=
  fi
}
trap 'stop; rm -rf "$work"' EXIT

# Starts the store of the behaviour file $1 on a free port and says its address.
start() {
  stop
  "$cosmark" serve --listen 127.0.0.1:0 --behaviour "scripts/gallery/$1" > "$work/store.log" 2>&1 &
  store=$!
  for _ in $(seq 100); do
    address=$(grep -o 'http://127.0.0.1:[0-9]*' "$work/store.log" | head -1 || true)
    if [ -n "$address" ]; then return; fi
    sleep 0.1
  done
  echo "the store did not start:" >&2
  cat "$work/store.log" >&2
  exit 1
}

# Runs the workload $1, whatever its verdict.
measure() {
  "$cosmark" run "scripts/gallery/$1" --set "storage.endpoint=$address" --archive "$work/archive" --seed 7 --quiet "${@:2}" \
    > /dev/null
}

# Draws kind $1 of the runs and options that follow; the first picture becomes $2.svg.
draw() {
  rm -rf "$work/plots"
  "$cosmark" plot "${@:3}" --kind "$1" --archive "$work/archive" --width 12cm --output "$work/plots" > /dev/null
  first=$(find "$work/plots" -name '*.svg' | LC_ALL=C sort | head -1)
  cp "$first" "$out/$2.svg"
}

mkdir -p "$out"
for _ in 1 2; do
  start store.yaml
  measure ladder.yaml
done
start stall.yaml
measure mixed.yaml
start faster.yaml
measure mixed.yaml
start faster.yaml
# A fault stands between the client and the store whose address it names.
sed "s|127.0.0.1:1|${address#http://}|" scripts/gallery/fault.yaml > "$work/fault.yaml"
"$cosmark" run "$work/fault.yaml" --archive "$work/archive" --seed 7 --quiet > /dev/null
stop
ladder='ladder=w1,w2'
draw workers workers "$ladder" --op read
draw knee knee "$ladder" --op read
draw ecdf ecdf w1 --op read --stage 'read-workers*'
draw ccdf ccdf w3 --stage main
draw cdf cdf before=w3 after=w4 --stage main --op read
draw histogram histogram w3 --stage main --op read
draw percentiles percentiles before=w3 after=w4 --stage main --op read
draw aggregate aggregate w1 --op read --metric throughput
draw scatter scatter first=w1 again=w2 --op read --metric throughput
draw maximum maximum before=w1,w3 after=w2,w4 --op read --metric throughput
draw faults faults w5
draw heat heat w3 --stage main --op read
draw timeline timeline w3 --stage main --op read --metric throughput
draw sizes sizes w3 --stage main --op read
draw nodes nodes w3
draw violin violin before=w3 after=w4 --stage main --op read
# Two pictures: in units of time, and as shares.
draw time time-share before=w3 after=w4 --stage main
cp "$work/plots/time.svg" "$out/time.svg"
draw compare compare "first=w1" "again=w2" --stage read-workers8 --metric throughput
# The view of a run in a narrow and in a wide terminal.
for size in '80 24' '200 50'; do
  read -r columns rows <<< "$size"
  scripts/gallery/terminal.py "$columns" "$rows" "$out/terminal-${columns}x$rows.svg" \
    "$cosmark" run scripts/gallery/view.yaml --no-report --archive "$work/view" --seed 7
done
if [ -x "${CHROMIUM:-/usr/bin/chromium}" ] && [ -d console/node_modules ]; then
  (cd console && node e2e/gallery.mjs "$cosmark" "$work/archive" "$out")
else
  echo 'no Chromium or no console/node_modules: the screenshots stay as they are' >&2
fi
total=$(du -sb "$out" | cut -f1)
echo "$(find "$out" -type f | wc -l) pictures, $total bytes in docs/gallery"
if [ "$total" -gt 1500000 ]; then
  echo 'more than 1.5 MB: make them smaller' >&2
  exit 1
fi
