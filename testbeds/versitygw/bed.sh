# shellcheck shell=bash
# Versity S3 Gateway over a plain directory: a real S3 server that is not ours, built from source with Go.
# Sourced by up, down, status and faults.

HERE=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
# shellcheck source-path=SCRIPTDIR source=../lib.sh
. "$HERE/../lib.sh"
bed_init versitygw

VERSITYGW_VERSION=v1.8.0
GO_NEEDED=1.21 # the first Go that fetches the newer toolchain which a module asks for
GATEWAY=$TOOLS_DIR/versitygw-$VERSITYGW_VERSION/versitygw
PORT=23600
ENDPOINT=http://127.0.0.1:$PORT
ACCESS_KEY=cosmark
SECRET_KEY=cosmark-secret

bed_install() {
  need_packages curl=curl
  install_gateway
}

bed_prepare() {
  bed_install
  mkdir -p "$BED_DIR/buckets"
}

install_gateway() {
  local version
  [[ -x $GATEWAY ]] && return 0
  command -v go >/dev/null || skip "no Go toolchain; install Go $GO_NEEDED or newer to build versitygw"
  version=$(go env GOVERSION) version=${version#go}
  [[ $(printf '%s\n' "$GO_NEEDED" "$version" | sort -V | head -n 1) == "$GO_NEEDED" ]] ||
    skip "Go $version is too old to build versitygw; install Go $GO_NEEDED or newer"
  say "building versitygw $VERSITYGW_VERSION (2 minutes the first time)"
  local build=$TOOLS_DIR/versitygw-$VERSITYGW_VERSION.new
  mkdir -p "$build"
  GOBIN=$build timeout 1200 go install "github.com/versity/versitygw/cmd/versitygw@$VERSITYGW_VERSION" \
    >"$LOG_DIR/go.log" 2>&1 9>&- </dev/null || {
    tail -n 10 "$LOG_DIR/go.log" >&2
    die "go install failed; see $LOG_DIR/go.log"
  }
  rm -rf "${GATEWAY%/*}"
  mv "$build" "${GATEWAY%/*}"
}

bed_processes() { echo server; }

# The keys go in by the environment, so that the process list does not show them. Without --keep-alive the gateway
# closes the connection after each answer, and a benchmark would measure connection set-up.
bed_start() {
  ROOT_ACCESS_KEY=$ACCESS_KEY ROOT_SECRET_KEY=$SECRET_KEY \
    process_start "$1" "$GATEWAY" --port "127.0.0.1:$PORT" --region us-east-1 --health /health --keep-alive --quiet \
    posix "$BED_DIR/buckets"
}

bed_port() { echo 127.0.0.1 $PORT; }
bed_targets() { echo server; }
bed_target() { [[ $1 == server ]] && echo server; }

bed_check() {
  http 200 /dev/null "$ENDPOINT/health"
  check_s3 "$ENDPOINT" "$ACCESS_KEY" "$SECRET_KEY" testbed-check
}

bed_endpoints() {
  cat <<E
  S3      $ENDPOINT   access key $ACCESS_KEY   secret key $SECRET_KEY   region us-east-1, path style
  target  $HERE/target.yaml
E
}
