//! What librados's error numbers mean for a measurement, and what to do about each (errno(3); Ceph's src/osd/ and
//! src/mon/ say which are given when).

use std::ffi::c_int;

use cosmark_adaptor_api::{Error, ErrorKind};

use super::config::Config;
use super::monitor::{self, Unusable};

/// What was asked for.
#[derive(Debug, Clone, Copy)]
pub(super) enum About<'a> {
    /// What was done to this object of this container.
    Object(&'static str, &'a str, &'a str),
    /// What was done to this pool.
    Pool(&'static str, &'a str),
}

impl std::fmt::Display for About<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Object(what, container, object) => write!(f, "{what} {container}/{object}"),
            Self::Pool(what, pool) => write!(f, "{what} pool {pool}"),
        }
    }
}

/// One meaning of one error number.
struct Row {
    errno: c_int,
    code: &'static str,
    kind: ErrorKind,
    says: &'static str,
    hint: &'static str,
}

const fn row(
    errno: c_int,
    code: &'static str,
    kind: ErrorKind,
    says: &'static str,
    hint: &'static str,
) -> Row {
    Row { errno, code, kind, says, hint }
}

/// Answers to operations; what is not here is status 500.
const ANSWERS: &[Row] = &[
    row(libc::ENOENT, "ENOENT", ErrorKind::Status(404), "not there", ""),
    row(
        libc::EPERM,
        "EPERM",
        ErrorKind::Status(403),
        "this user may not do that there",
        "look at its caps with `ceph auth get`; reading and writing needs `osd 'allow rw'` on the pool",
    ),
    row(
        libc::EACCES,
        "EACCES",
        ErrorKind::Status(403),
        "this user may not do that there",
        "look at its caps with `ceph auth get`; creating and deleting pools needs `mon 'allow rw'`",
    ),
    row(
        libc::ETIMEDOUT,
        "ETIMEDOUT",
        ErrorKind::Timeout,
        "no answer in time",
        "`ceph -s` shows whether placement groups are inactive or OSDs down",
    ),
    row(
        libc::EFBIG,
        "EFBIG",
        ErrorKind::Status(413),
        "larger than an object may be",
        "RADOS objects end at `osd_max_object_size` (128 MiB by default); raise it, or measure larger ones through \
         the gateway",
    ),
    row(
        libc::EMSGSIZE,
        "EMSGSIZE",
        ErrorKind::Status(413),
        "more than one request may write",
        "use a `piece` or `part_size` below `osd_max_write_size` (90 MB by default)",
    ),
    row(
        libc::E2BIG,
        "E2BIG",
        ErrorKind::Status(413),
        "more than one request may write",
        "use a `piece` or `part_size` below 2 GiB",
    ),
    row(libc::EEXIST, "EEXIST", ErrorKind::Status(409), "there already", ""),
    row(libc::EBUSY, "EBUSY", ErrorKind::Status(409), "in use", "end what uses it and try again"),
    row(
        libc::ENOSPC,
        "ENOSPC",
        ErrorKind::Status(507),
        "the cluster is full",
        "`ceph df` shows how much is left; delete objects or add devices",
    ),
    row(
        libc::EDQUOT,
        "EDQUOT",
        ErrorKind::Status(507),
        "the pool's quota is used up",
        "raise it with `ceph osd pool set-quota`",
    ),
    row(
        libc::EOPNOTSUPP,
        "EOPNOTSUPP",
        ErrorKind::Unsupported,
        "this pool cannot do that",
        "an erasure-coded pool takes objects of several pieces only with `allow_ec_overwrites`",
    ),
    row(
        libc::ESHUTDOWN,
        "EBLOCKLISTED",
        ErrorKind::Denied,
        "the cluster has blocklisted this client",
        "`ceph osd blocklist ls` shows it; remove it there and start again",
    ),
    row(
        libc::ENOTCONN,
        "ENOTCONN",
        ErrorKind::Connect,
        "not connected to the cluster",
        "check the monitors with `ceph -s`",
    ),
    row(libc::ECANCELED, "ECANCELED", ErrorKind::Aborted, "the call was given up", ""),
    row(
        libc::ERANGE,
        "ERANGE",
        ErrorKind::Status(500),
        "too many placement groups for this cluster",
        "lower `osd_pool_default_pg_num`, or create the pool beforehand",
    ),
    row(
        libc::EIO,
        "EIO",
        ErrorKind::Status(500),
        "an OSD could not read or write its device",
        "look at `ceph health detail` and the OSD's log",
    ),
];

/// An operation was answered with this result, below 0.
pub(super) fn answer(about: About<'_>, result: i64) -> Error {
    let errno = c_int::try_from(result.unsigned_abs()).unwrap_or(0);
    let Some(row) = ANSWERS.iter().find(|row| row.errno == errno) else {
        let text = std::io::Error::from_raw_os_error(errno);
        return Error::new(ErrorKind::Status(500), format!("{about}: {text}"))
            .with_code(format!("errno_{errno}"));
    };
    let error = Error::new(row.kind, format!("{about}: {}", row.says)).with_code(row.code);
    if row.hint.is_empty() { error } else { error.with_hint(row.hint) }
}

/// A pool that is not there.
pub(super) fn no_pool(pool: &str) -> Error {
    Error::new(ErrorKind::Status(404), format!("the cluster has no pool {pool}"))
        .with_code("NoSuchPool")
        .with_hint(format!(
            "create it with `ceph osd pool create {pool}`, or give `create_pools=true`, or `pool=` for one that is there"
        ))
}

/// An address of monitors that cannot be one.
pub(super) fn unusable(mon_host: &str, why: &Unusable) -> Error {
    let (kind, message) = match why {
        Unusable::Empty => (ErrorKind::Config, format!("`{mon_host}` names no monitor")),
        Unusable::Port(port) => (ErrorKind::Config, format!("`{port}` in `{mon_host}` is no port")),
        Unusable::Name(host) => {
            (ErrorKind::Connect, format!("the name of the monitor {host} cannot be resolved"))
        }
    };
    Error::new(kind, message).with_code("NoAddress").with_hint(
        "give `endpoint` as HOST or HOST:PORT, several separated by commas, and check the name service",
    )
}

/// The connection to the cluster could not be made. Looks at the monitors where librados's number says too little.
pub(super) fn connect(config: &Config, result: c_int) -> Error {
    let answers = -result == libc::ETIMEDOUT && config.mon_host.as_deref().is_some_and(monitor::answers);
    unconnected(config, -result, answers)
}

fn unconnected(config: &Config, errno: c_int, answers: bool) -> Error {
    let (user, place) = (&config.user, config.place());
    let (kind, code, message, hint) = match (errno, answers) {
        (libc::EACCES | libc::EPERM, _) => (
            ErrorKind::Denied,
            "EACCES",
            format!("the cluster at {place} refuses client.{user}: no such user, or a wrong key"),
            format!("compare with `ceph auth get client.{user}`"),
        ),
        (libc::ETIMEDOUT, true) => (
            ErrorKind::Denied,
            "EACCES",
            format!(
                "the monitors at {place} answer but did not let client.{user} in within {:?}: no such user, or a wrong key",
                config.connect_timeout
            ),
            format!(
                "compare with `ceph auth get client.{user}`; if that is right, raise `connect_timeout` or write \
                 `v2:HOST:PORT` as `endpoint`"
            ),
        ),
        (libc::ETIMEDOUT, _) => (
            ErrorKind::Connect,
            "ETIMEDOUT",
            format!("no monitor at {place} answered within {:?}", config.connect_timeout),
            "check `endpoint` (monitors usually listen on ports 3300 and 6789) and the network".to_owned(),
        ),
        (libc::ENOENT, _) if !config.has_key() => (
            ErrorKind::Config,
            "ENOENT",
            format!("no key for client.{user} was found"),
            "give `secretkey=` or `keyring=`".to_owned(),
        ),
        (libc::ENOENT, _) => (
            ErrorKind::Config,
            "ENOENT",
            format!("no monitors, or no key for client.{user}, were found"),
            "check that `conf` or `endpoint` names the monitors and that the keyring holds this user"
                .to_owned(),
        ),
        (libc::EINVAL, _) => (
            ErrorKind::Config,
            "EINVAL",
            format!("librados can make nothing of the key of client.{user} or of the address {place}"),
            format!(
                "`secretkey` is the text that `ceph auth get-key client.{user}` prints; `endpoint` is host or host:port"
            ),
        ),
        (libc::EOPNOTSUPP, _) => (
            ErrorKind::Denied,
            "EOPNOTSUPP",
            format!("the cluster at {place} and this librados have no authentication method in common"),
            "look at `auth_client_required` in the cluster's configuration".to_owned(),
        ),
        (errno, _) => (
            ErrorKind::Connect,
            "ECONNECT",
            format!("cannot connect to the cluster at {place}: {}", std::io::Error::from_raw_os_error(errno)),
            "`ceph -s` on this machine may say more".to_owned(),
        ),
    };
    Error::new(kind, message).with_code(code).with_hint(hint)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_error_number_stands_once_and_an_unknown_one_is_shown() {
        for (at, row) in ANSWERS.iter().enumerate() {
            assert!(ANSWERS[..at].iter().all(|other| other.errno != row.errno), "{}", row.code);
        }
        let error = answer(About::Object("reading", "c", "o"), -i64::from(libc::EXDEV));
        assert_eq!(error.code(), Some(format!("errno_{}", libc::EXDEV).as_str()));
        assert!(error.to_string().starts_with("reading c/o: "), "{error}");
    }

    #[test]
    fn a_login_that_fails_says_whether_the_user_the_place_or_the_key_is_wrong() {
        let settings = Config {
            library: String::new(),
            mon_host: Some("mon:3300".into()),
            conf: None,
            user: "bench".into(),
            key: cosmark_adaptor_api::Secret::new("AQhidden"),
            keyring: None,
            usual_keyrings: true,
            connect_timeout: std::time::Duration::from_secs(5),
            timeout: None,
        };
        for (errno, answers, kind, words) in [
            (libc::EACCES, false, ErrorKind::Denied, "refuses client.bench"),
            (libc::ETIMEDOUT, true, ErrorKind::Denied, "a wrong key"),
            (libc::ETIMEDOUT, false, ErrorKind::Connect, "no monitor at mon:3300"),
            (libc::EINVAL, false, ErrorKind::Config, "key of client.bench"),
            (libc::EIO, false, ErrorKind::Connect, "cannot connect"),
        ] {
            let error = unconnected(&settings, errno, answers);
            assert_eq!(error.kind(), kind, "{error}");
            assert!(error.message().contains(words) && error.hint().is_some(), "{error}");
            assert!(!error.to_string().contains("AQhidden"));
        }
    }
}
