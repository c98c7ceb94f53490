# shellcheck shell=bash
# Apache httpd with mod_dav: HTTP Digest and Basic authentication and full WebDAV (PROPFIND, LOCK).
# Debian's apache2-bin: the program and its modules, without a system service. Own configuration and directories.
# Sourced by up, down, status and faults.

HERE=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
# shellcheck source-path=SCRIPTDIR source=../lib.sh
. "$HERE/../lib.sh"
# Apache refuses to serve as root, and the user it changes to cannot enter root's home.
APACHE_USER=$(id -un) APACHE_GROUP=$(id -gn)
if is_root; then
  APACHE_USER=www-data APACHE_GROUP=www-data
  bed_init apache-dav /var/lib/cosmark-testbeds
else
  bed_init apache-dav
fi

PORT=23620
ENDPOINT=http://127.0.0.1:$PORT
MODULES=/usr/lib/apache2/modules
DAV_USER=tester
DAV_PASSWORD=testing
CREDENTIALS=$BED_DIR/etc/curl # for curl -K
REALM=cosmark

bed_prepare() {
  local user_lines=''
  need_packages apache2=apache2-bin curl=curl
  [[ -e $MODULES/mod_auth_digest.so && -e $MODULES/mod_dav_fs.so ]] ||
    die "no mod_auth_digest and mod_dav_fs in $MODULES; install Debian's apache2-bin"
  mkdir -p "$BED_DIR"/{etc,tmp,var,www/dav,www/digest,www/digest-short,www/basic}
  if is_root; then
    user_lines="User $APACHE_USER"$'\n'"Group $APACHE_GROUP"
    chown -R "$APACHE_USER:$APACHE_GROUP" "$BED_DIR/www" "$BED_DIR/var" "$BED_DIR/tmp"
    setpriv --reuid="$APACHE_USER" --regid="$APACHE_GROUP" --clear-groups test -w "$BED_DIR/www" ||
      die "$APACHE_USER cannot enter $BED_DIR; leave COSMARK_TESTBED_DIR unset or point it where everybody may enter"
  fi
  render "$HERE/httpd.conf.in" "$BED_DIR/etc/httpd.conf" BED="$BED_DIR" PORT=$PORT MODULES=$MODULES USER_LINES="$user_lines"
  write_passwords
  apache2 -t -f "$BED_DIR/etc/httpd.conf" >"$LOG_DIR/configtest.log" 2>&1 || {
    cat "$LOG_DIR/configtest.log" >&2
    die "Apache refuses its configuration"
  }
}

# What htdigest and htpasswd write (RFC 7616 H(A1); base64 of SHA-1, cheap to check on every request).
write_passwords() {
  local ha1 sha
  ha1=$(printf '%s' "$DAV_USER:$REALM:$DAV_PASSWORD" | md5sum | cut -d' ' -f1)
  sha=$(printf '%s' "$DAV_PASSWORD" | sha1sum | cut -d' ' -f1 | sed 's/../\\x&/g')
  # shellcheck disable=SC2059 # the format is the escaped bytes
  sha=$(printf "$sha" | base64)
  printf '%s:%s:%s\n' "$DAV_USER" "$REALM" "$ha1" >"$BED_DIR/etc/digest-users"
  printf '%s:{SHA}%s\n' "$DAV_USER" "$sha" >"$BED_DIR/etc/basic-users"
  (umask 077 && printf 'user = "%s:%s"\n' "$DAV_USER" "$DAV_PASSWORD" >"$CREDENTIALS")
}

bed_processes() { echo server; }
bed_start() {
  # Apache's own pid file outlives a SIGKILL, and Apache then takes itself for running if the number is in use.
  rm -f "$BED_DIR/tmp/httpd.pid"
  process_start "$1" apache2 -D FOREGROUND -f "$BED_DIR/etc/httpd.conf"
}
bed_port() { echo 127.0.0.1 $PORT; }
bed_targets() { echo server; }
bed_target() { [[ $1 == server ]] && echo server; }

bed_check() {
  local place
  check_object "$ENDPOINT/dav/testbed-check"
  for place in digest digest-short; do
    check_object "$ENDPOINT/$place/testbed-check" --digest -K "$CREDENTIALS"
    http 401 /dev/null "$ENDPOINT/$place/"
    http 401 /dev/null "$ENDPOINT/$place/" --digest -u "$DAV_USER:wrong"
  done
  check_object "$ENDPOINT/basic/testbed-check" -K "$CREDENTIALS"
  http 207 /dev/null "$ENDPOINT/digest/" --digest -K "$CREDENTIALS" -X PROPFIND -H 'Depth: 1'
}

bed_endpoints() {
  cat <<E
  WebDAV  $ENDPOINT/digest/        HTTP Digest (MD5, qop=auth), user $DAV_USER, password $DAV_PASSWORD
  WebDAV  $ENDPOINT/digest-short/  the same, each nonce valid for 2 s
  WebDAV  $ENDPOINT/basic/         HTTP Basic, same user
  WebDAV  $ENDPOINT/dav/           no authentication
  target  $HERE/target.yaml (Digest)
E
}
