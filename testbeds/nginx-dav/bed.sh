# shellcheck shell=bash
# Debian's nginx as a WebDAV server, with and without HTTP Basic authentication, and as a server of static files.
# Its own configuration and directories; the system's nginx service is not touched.
# Sourced by up, down, status and faults.

HERE=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
# shellcheck source-path=SCRIPTDIR source=../lib.sh
. "$HERE/../lib.sh"
bed_init nginx-dav

PORT=23610
ENDPOINT=http://127.0.0.1:$PORT
DAV_USER=tester
DAV_PASSWORD=testing
CREDENTIALS=$BED_DIR/etc/curl # for curl -K

bed_prepare() {
  local workers=${NGINX_WORKERS:-2} user_line=''
  [[ $workers =~ ^[1-9][0-9]?$ ]] || die "NGINX_WORKERS=$workers: use 1 to 99"
  need_packages nginx=nginx-light curl=curl
  [[ $(nginx -V 2>&1) == *--with-http_dav_module* ]] ||
    die "this nginx was built without its WebDAV module; install Debian's nginx-light"
  mkdir -p "$BED_DIR"/{etc,tmp,www/dav,www/basic,www/static}
  # As root the workers would change to www-data, which may not enter the bed's directory.
  if is_root; then user_line='user root;'; fi
  render "$HERE/nginx.conf.in" "$BED_DIR/etc/nginx.conf" USER_LINE="$user_line" WORKERS="$workers" PORT=$PORT BED="$BED_DIR"
  # Plain, so that the server's work on a request is not dominated by hashing a password.
  (umask 077 && printf '%s:{PLAIN}%s\n' "$DAV_USER" "$DAV_PASSWORD" >"$BED_DIR/etc/users")
  (umask 077 && printf 'user = "%s:%s"\n' "$DAV_USER" "$DAV_PASSWORD" >"$CREDENTIALS")
  static_file 4KiB 4096
  static_file 64KiB 65536
  static_file 1MiB 1048576
  static_file 10MiB 10485760
  nginx -t -q -e stderr -p "$BED_DIR" -c "$BED_DIR/etc/nginx.conf" || die "nginx refuses its configuration"
}

static_file() { # static_file NAME BYTES: random, hence not compressible
  local file=$BED_DIR/www/static/$1
  [[ -f $file ]] && return 0
  head -c "$2" /dev/urandom >"$file.new"
  mv "$file.new" "$file"
}

bed_processes() { echo server; }
bed_start() { process_start "$1" nginx -e stderr -p "$BED_DIR" -c "$BED_DIR/etc/nginx.conf"; }
bed_port() { echo 127.0.0.1 $PORT; }
bed_targets() { echo server; }
bed_target() { [[ $1 == server ]] && echo server; }

bed_check() {
  local size
  http 200 /dev/null "$ENDPOINT/health"
  size=$(curl -sS -m 120 "$ENDPOINT/static/10MiB" | wc -c)
  [[ $size == 10485760 ]] || die "$ENDPOINT/static/10MiB has $size bytes, not 10485760"
  check_object "$ENDPOINT/dav/testbed-check"
  check_object "$ENDPOINT/basic/testbed-check" -K "$CREDENTIALS"
  http 401 /dev/null "$ENDPOINT/basic/"
}

bed_endpoints() {
  cat <<E
  WebDAV  $ENDPOINT/dav/     no authentication
  WebDAV  $ENDPOINT/basic/   HTTP Basic, user $DAV_USER, password $DAV_PASSWORD
  files   $ENDPOINT/static/  4KiB 64KiB 1MiB 10MiB
  targets $HERE/target.yaml (Basic), $HERE/plain.yaml
E
}
