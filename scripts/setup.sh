#!/usr/bin/env bash
# Install what is missing on a Debian machine, as root; otherwise say exactly what to install.
#   scripts/setup.sh build     what building Cosmark needs
#   scripts/setup.sh all       that, and what tests and test beds start; says what `make bench` could use besides
# Exit code: 0 all is there, 1 something is missing.
set -euo pipefail
# shellcheck source-path=SCRIPTDIR source=../testbeds/lib.sh
. "$(dirname "${BASH_SOURCE[0]}")/../testbeds/lib.sh"
skip() { die "$*"; } # here, what is missing is an error

need_cargo() {
  [[ -d ${HOME:-}/.cargo/bin ]] && PATH=$PATH:$HOME/.cargo/bin
  command -v cargo >/dev/null || die "no Rust toolchain; install the current stable Rust (https://rustup.rs) and try again"
}

case ${1:-} in
  build)
    need_cargo
    need_packages cc=gcc,libc6-dev
    ;;
  all)
    need_cargo
    PATH=$PATH:/usr/sbin:/sbin # where Debian keeps servers, also for who is not root
    need_packages cc=gcc,libc6-dev curl=curl python3=python3,python3-venv memcached=memcached rsync=rsync \
      nginx=nginx-light apache2=apache2-bin nats-server=nats-server sshd=openssh-server fio=fio \
      ip=iproute2 nft=nftables unshare=util-linux
    python3 -c 'import ensurepip, venv' 2>/dev/null || need_packages /no/ensurepip=python3-venv
    say "everything that is needed is installed"
    command -v go >/dev/null || say "optional: Go 1.21 or newer; without it the test beds versitygw, minio and fake-gcs are skipped"
    command -v npm >/dev/null || say "optional: Node.js 16 or newer with npm; without it the test bed azurite is skipped"
    for program in wrk iperf3 valgrind openssl; do
      command -v "$program" >/dev/null || say "optional: $program, for its lines of make bench"
    done
    python3 -c 'import pyarrow' 2>/dev/null || say "optional: python3's module pyarrow, for the lines of make bench about pauses"
    command -v mkfs.xfs >/dev/null || say "optional: xfsprogs, for the test bed swift with SWIFT_FS=xfs"
    ;;
  *) usage 2 ;;
esac
