# shellcheck shell=bash
# Azurite, Microsoft's own emulator of Azure Storage (npm), its blob service only. Sourced by up, down, status and faults.

HERE=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
# shellcheck source-path=SCRIPTDIR source=../lib.sh
. "$HERE/../lib.sh"
bed_init azurite

AZURITE_VERSION=3.35.0
NODE_NEEDED=16
PROGRAM=$TOOLS_DIR/azurite-$AZURITE_VERSION/node_modules/azurite/dist/src/blob/main.js
PORT=23900
# The account that every Azurite has; its key is published in Microsoft's manual.
ACCOUNT=devstoreaccount1
ACCOUNT_KEY='Eby8vdM02xNOcqFlqUwJPLlmEtlCDXJ1OUzFT50uSRZ6IFsuFq2UVErCz4I6tq/K1SZFPTOtr/KBHBeksoGMGw=='
ENDPOINT=http://127.0.0.1:$PORT/$ACCOUNT
API_DATE=2021-12-02

bed_install() {
  need_packages curl=curl openssl=openssl
  install_azurite
}

bed_prepare() {
  bed_install
  mkdir -p "$BED_DIR/blobs"
}

install_azurite() {
  [[ -e $PROGRAM ]] && return 0
  local program
  for program in node npm; do
    command -v $program >/dev/null || skip "no $program; install Node.js $NODE_NEEDED or newer with npm to run Azurite"
  done
  local version
  version=$(node --version) version=${version#v}
  [[ $(printf '%s\n' "$NODE_NEEDED" "$version" | sort -V | head -n 1) == "$NODE_NEEDED" ]] ||
    skip "Node.js $version is too old for Azurite; install Node.js $NODE_NEEDED or newer"
  say "installing Azurite $AZURITE_VERSION (a minute the first time)"
  local build=$TOOLS_DIR/azurite-$AZURITE_VERSION.new
  rm -rf "$build"
  mkdir -p "$build"
  cp "$HERE/package.json" "$HERE/package-lock.json" "$build/"
  (cd "$build" && timeout 900 npm ci --no-audit --no-fund --ignore-scripts) >"$LOG_DIR/npm.log" 2>&1 9>&- </dev/null || {
    tail -n 10 "$LOG_DIR/npm.log" >&2
    die "npm could not install Azurite; see $LOG_DIR/npm.log"
  }
  rm -rf "$TOOLS_DIR/azurite-$AZURITE_VERSION"
  mv "$build" "$TOOLS_DIR/azurite-$AZURITE_VERSION"
}

bed_processes() { echo server; }

# Without --disableTelemetry it would report its use to Microsoft.
bed_start() {
  process_start "$1" node "$PROGRAM" --blobHost 127.0.0.1 --blobPort $PORT --blobKeepAliveTimeout 65 \
    --location "$BED_DIR/blobs" --silent --disableTelemetry
}

bed_port() { echo 127.0.0.1 $PORT; }
bed_targets() { echo server; }
bed_target() { [[ $1 == server ]] && echo server; }

# sign TEXT: HMAC-SHA256 with the account's key, in base64.
sign() {
  local key
  key=$(base64 -d <<<"$ACCOUNT_KEY" | od -An -v -tx1 | tr -d ' \n')
  printf '%s' "$1" | openssl dgst -sha256 -mac HMAC -macopt "hexkey:$key" -binary | base64 -w 0
}

# An account SAS for a day: blob service, all kinds of resources. Source: Microsoft, "Create an account SAS".
make_sas() {
  local expiry text signature
  expiry=$(date -u -d '+1 day' +%Y-%m-%dT%H:%M:%SZ)
  # The dot keeps the line ends at the end, which $(..) would drop.
  text=$(printf '%s\n%s\n%s\n%s\n\n%s\n\n%s\n%s\n\n.' "$ACCOUNT" rwdlac b sco "$expiry" http,https "$API_DATE")
  signature=$(sign "${text%.}")
  printf '%s' "sv=$API_DATE&ss=b&srt=sco&sp=rwdlac&se=${expiry//:/%3A}&spr=http,https&sig=$(urlencoded "$signature")"
}

urlencoded() {
  local text=${1//+/%2B}
  text=${text//\//%2F}
  printf '%s' "${text//=/%3D}"
}

bed_check() {
  local sas container=$ENDPOINT/testbed-check
  sas=$(make_sas)
  (umask 077 && printf '%s\n' "$sas" >"$BED_DIR/sas")
  http '201 409' /dev/null "$container?restype=container&$sas" -X PUT -H 'Content-Length: 0' # 409: it is there
  check_object "$container/object?$sas" -H 'x-ms-blob-type: BlockBlob'
  http 202 /dev/null "$container?restype=container&$sas" -X DELETE
  http '403' /dev/null "$container?restype=container" # without a signature
}

bed_endpoints() {
  cat <<TEXT
  Azure   $ENDPOINT   account $ACCOUNT, with its published key
  SAS     $BED_DIR/sas (for a day)
  target  $HERE/target.yaml
TEXT
}
