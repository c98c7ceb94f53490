# shellcheck shell=bash
# fake-gcs-server, an emulator of Google Cloud Storage, built from source with Go. Sourced by up, down, status and faults.

HERE=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
# shellcheck source-path=SCRIPTDIR source=../lib.sh
. "$HERE/../lib.sh"
bed_init fake-gcs

FAKE_GCS_VERSION=v1.56.1
GO_NEEDED=1.21 # the first Go that fetches the newer toolchain which a module asks for
SERVER=$TOOLS_DIR/fake-gcs-server-$FAKE_GCS_VERSION/fake-gcs-server
PORT=23910
ENDPOINT=http://127.0.0.1:$PORT

bed_install() {
  need_packages curl=curl
  install_server
}

bed_prepare() {
  bed_install
  mkdir -p "$BED_DIR/buckets"
}

install_server() {
  local version
  [[ -x $SERVER ]] && return 0
  command -v go >/dev/null || skip "no Go toolchain; install Go $GO_NEEDED or newer to build fake-gcs-server"
  version=$(go env GOVERSION) version=${version#go}
  [[ $(printf '%s\n' "$GO_NEEDED" "$version" | sort -V | head -n 1) == "$GO_NEEDED" ]] ||
    skip "Go $version is too old to build fake-gcs-server; install Go $GO_NEEDED or newer"
  say "building fake-gcs-server $FAKE_GCS_VERSION (2 to 5 minutes the first time)"
  local build=$TOOLS_DIR/fake-gcs-server-$FAKE_GCS_VERSION.new
  mkdir -p "$build"
  GOBIN=$build timeout 1200 go install "github.com/fsouza/fake-gcs-server@$FAKE_GCS_VERSION" \
    >"$LOG_DIR/go.log" 2>&1 9>&- </dev/null || {
    tail -n 10 "$LOG_DIR/go.log" >&2
    die "go install failed; see $LOG_DIR/go.log"
  }
  rm -rf "${SERVER%/*}"
  mv "$build" "${SERVER%/*}"
}

bed_processes() { echo server; }

# The external URL is where it sends clients for the rest of a resumable upload.
bed_start() {
  process_start "$1" "$SERVER" -scheme http -host 127.0.0.1 -port $PORT -backend filesystem \
    -filesystem-root "$BED_DIR/buckets" -external-url "$ENDPOINT" -log-level error
}

bed_port() { echo 127.0.0.1 $PORT; }
bed_targets() { echo server; }
bed_target() { [[ $1 == server ]] && echo server; }

bed_check() {
  local bucket=testbed-check made="$BED_DIR/made" got="$BED_DIR/got" object
  object=$ENDPOINT/storage/v1/b/$bucket/o/object
  head -c 4096 /dev/urandom >"$made"
  http '200 409' /dev/null "$ENDPOINT/storage/v1/b?project=testbed" -H 'Content-Type: application/json' \
    --data "{\"name\":\"$bucket\"}" # 409: it is there
  http 200 /dev/null "$ENDPOINT/upload/storage/v1/b/$bucket/o?uploadType=media&name=object" \
    -H 'Content-Type: application/octet-stream' --data-binary "@$made"
  http 200 "$got" "$object?alt=media"
  cmp -s "$made" "$got" || die "$object gave back other bytes than were put"
  http '200 204' /dev/null "$object" -X DELETE
  http 404 /dev/null "$object?alt=media"
  http '200 204' /dev/null "$ENDPOINT/storage/v1/b/$bucket" -X DELETE
  rm -f "$made" "$got"
}

bed_endpoints() {
  cat <<TEXT
  GCS     $ENDPOINT   JSON API, no login
  target  $HERE/target.yaml
TEXT
}
