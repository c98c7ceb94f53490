# shellcheck shell=bash
# OpenStack Keystone (Identity API v3) and a Swift proxy that trusts it, in front of the storage nodes of the swift bed.
# Sourced by up, down, status and faults. The knobs are described in README.md.

HERE=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
# shellcheck source-path=SCRIPTDIR source=../lib.sh
. "$HERE/../lib.sh"
bed_init keystone

KEYSTONE_VERSION=30.0.0
VENV=$TOOLS_DIR/keystone-$KEYSTONE_VERSION
PYTHON=$VENV/bin/python
ETC=$BED_DIR/etc
KEYSTONE_PORT=23050
PROXY_PORT=23051
MEMCACHED_PORT=23081 # the swift bed's
KEYSTONE_URL=http://127.0.0.1:$KEYSTONE_PORT/v3
SWIFT_BED=$HERE/../swift
SWIFT_ETC=$TESTBED_DIR/swift/etc
ADMIN_PASSWORD=adminpass

# ---- install and configure -------------------------------------------------------------------------------------

# The database belongs to it: it needs nothing that runs, and takes most of the time of the first start.
bed_install() {
  [[ ${KEYSTONE_LOG_LEVEL:=WARNING} =~ ^(DEBUG|INFO|WARNING|ERROR)$ ]] ||
    die "KEYSTONE_LOG_LEVEL=$KEYSTONE_LOG_LEVEL: use DEBUG, INFO, WARNING or ERROR"
  install_programs
  write_configuration
  make_database
}

bed_prepare() {
  bed_install
  swift_up
}

install_programs() {
  need_packages curl=curl python3=python3,python3-venv
  python3 -c 'import ensurepip, venv' 2>/dev/null || need_packages /no/ensurepip=python3-venv
  # The mark is written last: a half-made environment is thrown away.
  [[ -e $VENV/.complete ]] && cmp -s "$VENV/.complete" "$HERE/requirements.txt" && return 0
  say "installing Keystone $KEYSTONE_VERSION into $VENV"
  rm -rf "$VENV"
  python3 -m venv "$VENV" >"$LOG_DIR/pip.log" 2>&1 || die "python3 -m venv failed; see $LOG_DIR/pip.log"
  timeout 900 "$VENV/bin/pip" install --quiet --no-input --no-deps --only-binary :all: \
    -r "$HERE/requirements.txt" >>"$LOG_DIR/pip.log" 2>&1 || {
    tail -n 5 "$LOG_DIR/pip.log" >&2
    die "pip could not install Keystone; see $LOG_DIR/pip.log"
  }
  cp "$HERE/requirements.txt" "$VENV/.complete"
}

write_configuration() {
  mkdir -p "$ETC/fernet" "$ETC/credential"
  chmod 700 "$ETC/fernet" "$ETC/credential"
  render "$HERE/templates/keystone.conf.in" "$ETC/keystone.conf" ETC="$ETC" BED="$BED_DIR" LOG_LEVEL="$KEYSTONE_LOG_LEVEL"
  render "$HERE/templates/proxy-server.conf.in" "$ETC/proxy-server.conf" PORT=$PROXY_PORT USER="$(id -un)" \
    SWIFT_ETC="$SWIFT_ETC" MEMCACHED_PORT=$MEMCACHED_PORT KEYSTONE_PORT=$KEYSTONE_PORT LOG_LEVEL="$KEYSTONE_LOG_LEVEL"
}

# The mark is written last, and a half-made database is thrown away.
make_database() {
  [[ -e $BED_DIR/.database ]] && return 0
  say "making Keystone's database and keys (half a minute)"
  rm -f "$BED_DIR/keystone.db"
  local config=(--config-file "$ETC/keystone.conf") owner
  owner=(--keystone-user "$(id -un)" --keystone-group "$(id -gn)")
  timeout 900 "$PYTHON" "$HERE/manage.py" "${config[@]}" db_sync -- "${config[@]}" fernet_setup "${owner[@]}" -- \
    "${config[@]}" credential_setup "${owner[@]}" -- \
    "${config[@]}" bootstrap --bootstrap-password "$ADMIN_PASSWORD" --bootstrap-admin-url "$KEYSTONE_URL/" \
    --bootstrap-internal-url "$KEYSTONE_URL/" --bootstrap-public-url "$KEYSTONE_URL/" \
    --bootstrap-region-id RegionOne >"$LOG_DIR/manage.log" 2>&1 9>&- </dev/null || {
    tail -n 5 "$LOG_DIR/manage.log" >&2
    die "keystone-manage failed; see $LOG_DIR/manage.log"
  }
  : >"$BED_DIR/.database"
}

# The storage nodes are those of the swift bed. If it was down it is ours to stop.
swift_up() {
  local status=0
  "$SWIFT_BED/status" --quiet 9>&- || status=$?
  ((status)) || return 0
  if ((status == EXIT_DOWN)); then : >"$BED_DIR/.started-swift"; fi
  "$SWIFT_BED/up" 9>&- || {
    status=$?
    ((status != EXIT_SKIPPED)) || exit "$EXIT_SKIPPED"
    die "the swift bed does not start; run testbeds/swift/up"
  }
}

bed_release() {
  [[ -e $BED_DIR/.started-swift ]] || return 0
  "$SWIFT_BED/down" 9>&-
  rm -f "$BED_DIR/.started-swift"
}

# ---- processes -------------------------------------------------------------------------------------------------

bed_processes() { printf '%s\n' keystone proxy; }

bed_start() {
  case $1 in
    keystone)
      # Nothing is written beside the sources.
      PYTHONDONTWRITEBYTECODE=1 OS_KEYSTONE_CONFIG_DIR=$ETC OS_KEYSTONE_CONFIG_FILES=$ETC/keystone.conf process_start keystone \
        "$PYTHON" "$VENV/bin/gunicorn" --workers 2 --timeout 120 --bind "127.0.0.1:$KEYSTONE_PORT" --no-control-socket \
        --preload --log-level warning --chdir "$HERE" identity:application
      ;;
    proxy)
      process_start proxy "$PYTHON" "$SWIFT_BED/run_server.py" "$SWIFT_ETC/swift.conf" \
        "$VENV/bin/swift-proxy-server" "$ETC/proxy-server.conf" -v
      ;;
  esac
}

bed_port() {
  case $1 in
    keystone) echo 127.0.0.1 $KEYSTONE_PORT ;;
    proxy) echo 127.0.0.1 $PROXY_PORT ;;
  esac
}

bed_targets() { echo 'keystone proxy'; }
bed_target() { [[ $1 == keystone || $1 == proxy ]] && echo "$1"; }

# ---- readiness -------------------------------------------------------------------------------------------------

provision() { # provision VERB [MEMCACHED_PORT]
  timeout 300 "$PYTHON" "$HERE/provision.py" "$KEYSTONE_URL" "http://127.0.0.1:$PROXY_PORT" "$ADMIN_PASSWORD" "$@" 9>&-
}

# login: set STORAGE_URL and TOKEN, as the project's user.
login() {
  local answer
  answer=$(provision login) || die "no token from $KEYSTONE_URL; see $LOG_DIR/keystone.log"
  read -r STORAGE_URL TOKEN <<<"$answer"
}

# An object by the Swift API with a token, and one by the S3 API with EC2 credentials.
bed_check() {
  http 200 /dev/null "$KEYSTONE_URL"
  provision all || die "users and projects could not be made; see $LOG_DIR/keystone.log"
  login
  local container=$STORAGE_URL/testbed-check
  http '201 202' /dev/null "$container" -X PUT -H "X-Auth-Token: $TOKEN"
  check_object "$container/object" -H "X-Auth-Token: $TOKEN"
  # 409: the container's listing still has the object, because an update was queued. It is harmless here.
  http '204 409' /dev/null "$container" -X DELETE -H "X-Auth-Token: $TOKEN"
  http 401 /dev/null "$STORAGE_URL" -H 'X-Auth-Token: nonsense'
  check_s3 "http://127.0.0.1:$PROXY_PORT" benchaccess benchsecret testbed-check-s3
}

bed_endpoints() {
  cat <<E
  Keystone $KEYSTONE_URL   user bench   password benchpass   project bench   domain Default   region RegionOne
           application credential: name bench-app of user bench, secret benchappsecret
  Swift    http://127.0.0.1:$PROXY_PORT (the catalogue names it)
  S3       http://127.0.0.1:$PROXY_PORT   access key benchaccess   secret key benchsecret   region us-east-1, path style
  targets  $HERE/target.yaml, $HERE/application.yaml, $HERE/s3.yaml
E
}
