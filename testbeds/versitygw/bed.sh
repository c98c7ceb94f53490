# shellcheck shell=bash
# Versity S3 Gateway over a plain directory: a real S3 server that is not ours, built from source with Go.
# Sourced by up, down, status and faults. The knobs are described in README.md.

HERE=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
# shellcheck source-path=SCRIPTDIR source=../lib.sh
. "$HERE/../lib.sh"
bed_init versitygw

VERSITYGW_VERSION=v1.8.0
GO_NEEDED=1.21 # the first Go that fetches the newer toolchain which a module asks for
GATEWAY=$TOOLS_DIR/versitygw-$VERSITYGW_VERSION/versitygw
SETTINGS=$BED_DIR/settings
TLS_DIR=$BED_DIR/tls
ACCESS_KEY=cosmark
SECRET_KEY=cosmark-secret

# ---- doors -----------------------------------------------------------------------------------------------------
# Each door is a gateway of its own over the same directory: server, and with VERSITYGW_DOORS=all tls, closing, tls-closing.

declare -A DOOR_PORT=([server]=23600 [tls]=23601 [closing]=23602 [tls-closing]=23603)

door_scheme() { if [[ $1 == tls* ]]; then echo https; else echo http; fi; }
door_endpoint() { echo "$(door_scheme "$1")://127.0.0.1:${DOOR_PORT[$1]}"; }

# The doors of the last `up` are on file, for status and faults; `up` itself takes them from its environment.
doors_load() {
  VERSITYGW_DOORS=one
  [[ ! -s $SETTINGS ]] || VERSITYGW_DOORS=$(<"$SETTINGS")
}

doors_choose() {
  local asked=${VERSITYGW_DOORS:-one} names
  case $asked in one | all) ;; *) die "VERSITYGW_DOORS=$asked: use one or all" ;; esac
  doors_load
  mapfile -t names < <(process_names)
  [[ $asked == "$VERSITYGW_DOORS" || -z $(process_members "${names[@]}") ]] ||
    die "the bed is up with VERSITYGW_DOORS=$VERSITYGW_DOORS; run down first"
  VERSITYGW_DOORS=$asked
}

bed_install() {
  need_packages curl=curl
  if [[ ${VERSITYGW_DOORS:-one} == all ]]; then need_packages openssl=openssl; fi
  install_gateway
}

bed_prepare() {
  doors_choose
  bed_install
  mkdir -p "$BED_DIR/buckets"
  if [[ $VERSITYGW_DOORS == all ]]; then make_certificate; fi
  echo "$VERSITYGW_DOORS" >"$SETTINGS"
}

# An authority and a certificate for the bed's address that it has signed, both ECDSA on P-256. The certificate comes last: it
# says that all is there.
make_certificate() {
  local new=(openssl req -x509 -newkey ec -pkeyopt ec_paramgen_curve:prime256v1 -nodes -days 3650)
  [[ ! -s $TLS_DIR/certificate.pem ]] || return 0
  mkdir -p "$TLS_DIR"
  {
    "${new[@]}" -subj '/CN=authority of the test bed' -keyout "$TLS_DIR/authority-key.pem" -out "$TLS_DIR/authority.pem" &&
      "${new[@]}" -subj '/CN=test bed' -CA "$TLS_DIR/authority.pem" -CAkey "$TLS_DIR/authority-key.pem" \
        -addext subjectAltName=IP:127.0.0.1 -addext basicConstraints=critical,CA:FALSE \
        -keyout "$TLS_DIR/key.pem" -out "$TLS_DIR/certificate.new"
  } >"$LOG_DIR/openssl.log" 2>&1 || die "openssl could not make a certificate; see $LOG_DIR/openssl.log"
  mv "$TLS_DIR/certificate.new" "$TLS_DIR/certificate.pem"
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

bed_processes() {
  doors_load
  echo server
  [[ $VERSITYGW_DOORS == one ]] || printf '%s\n' tls closing tls-closing
}

# The keys go in by the environment, so that the process list does not show them. Without --keep-alive the gateway
# closes the connection after each answer, and a benchmark would measure connection set-up.
bed_start() {
  local more=()
  [[ $1 == *closing ]] || more+=(--keep-alive)
  [[ $(door_scheme "$1") == http ]] || more+=(--cert "$TLS_DIR/certificate.pem" --key "$TLS_DIR/key.pem")
  ROOT_ACCESS_KEY=$ACCESS_KEY ROOT_SECRET_KEY=$SECRET_KEY \
    process_start "$1" "$GATEWAY" --port "127.0.0.1:${DOOR_PORT[$1]}" --region us-east-1 --health /health "${more[@]}" \
    --quiet posix "$BED_DIR/buckets"
}

bed_port() { echo 127.0.0.1 "${DOOR_PORT[$1]}"; }
bed_targets() { bed_processes | paste -sd ' '; }
bed_target() { bed_processes | grep -Fx -- "$1"; }

bed_check() {
  local door
  for door in $(bed_processes); do
    (
      [[ $(door_scheme "$door") == http ]] || export CURL_CA_BUNDLE=$TLS_DIR/authority.pem
      http 200 /dev/null "$(door_endpoint "$door")/health"
      check_s3 "$(door_endpoint "$door")" "$ACCESS_KEY" "$SECRET_KEY" testbed-check
    )
  done
}

bed_version() {
  doors_load
  echo "Versity S3 Gateway $VERSITYGW_VERSION, VERSITYGW_DOORS=$VERSITYGW_DOORS"
}

bed_endpoints() {
  cat <<E
  S3      $(door_endpoint server)   access key $ACCESS_KEY   secret key $SECRET_KEY   region us-east-1, path style
  target  $HERE/target.yaml
E
  doors_load
  [[ $VERSITYGW_DOORS == all ]] || return 0
  cat <<E
  TLS     $(door_endpoint tls)   trust $TLS_DIR/authority.pem   target $HERE/tls.yaml
  closing $(door_endpoint closing), $(door_endpoint tls-closing)   targets $HERE/closing.yaml, $HERE/tls-closing.yaml
E
}
