//! Addresses of stores as people give them, also in the place of something else, and how they are repeated: without a secret, as
//! logs keep what a program says.

use std::net::IpAddr;

use cosmark_workload::logins::tokens_in;

/// An address of a store, also one that says no protocol before its login.
#[must_use]
pub fn is_address(text: &str) -> bool {
    text.contains("://") || text.rsplit_once('@').is_some_and(|(login, _)| login.contains(':'))
}

/// The address as it may be shown: without its login, without the tokens in its parameters, and without what stands in the place of
/// a port and may be a secret whose @ and host are missing.
#[must_use]
pub fn without_login(text: &str) -> String {
    let start = text.find("://").map_or(0, |at| at + "://".len());
    let (before, rest) = text.split_at(start);
    let mut shown = match text.rfind('@') {
        Some(at) if at >= start => format!("{before}***{}", &text[at..]),
        Some(at) => format!("***{}", &text[at..]),
        None => format!("{before}{}", without_number(before, rest)),
    };
    for token in tokens_in(&shown).into_iter().rev() {
        shown.replace_range(token, "***");
    }
    shown
}

/// True for what names a machine and no user: an address of IP, or this machine.
#[must_use]
pub fn is_surely_a_host(name: &str) -> bool {
    name.starts_with('[') || name.parse::<IpAddr>().is_ok() || name.eq_ignore_ascii_case("localhost")
}

/// What begins with a host, behind the scheme in `before`. What stands behind its `:` is a port where it is a number of one; behind
/// a name it may be a user's secret all the same, but for addresses of the web, before which nobody here writes a login.
fn without_number(before: &str, text: &str) -> String {
    let (host, behind) = text.split_at(text.find(['/', '?', '#']).unwrap_or(text.len()));
    let Some((name, port)) = host.split_once(':').filter(|_| !host.starts_with('[')) else {
        return text.to_owned();
    };
    let is_number = port.bytes().all(|byte| byte.is_ascii_digit());
    let is_port = port.is_empty() || (is_number && port.parse::<u16>().is_ok());
    if !is_port {
        "***".to_owned()
    } else if port.is_empty() || is_surely_a_host(name) || matches!(before, "http://" | "https://") {
        text.to_owned()
    } else {
        format!("{name}:***{behind}")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_address_is_shown_without_its_secrets_wherever_its_login_stands() {
        for (text, shown) in [
            ("s3+http://k:hunter2@h:9000/b", "s3+http://***@h:9000/b"),
            ("k:hunter2@h:9000", "***@h:9000"),
            ("me@example.org:hunter2@h", "***@h"),
            ("k:hunter2@s3+http://h", "***@s3+http://h"),
            ("s3+http://k:hunter2", "s3+http://***"),
            // Digits alone may be a secret, too: a port is no greater, and stands behind a host.
            ("s3+http://k:123456/b", "s3+http://***"),
            ("s3+http://k:1234/b?x#y", "s3+http://k:***/b?x#y"),
            ("swift+https://me.example:1234", "swift+https://me.example:***"),
            ("rados://bench:6789/pool", "rados://bench:***/pool"),
            ("swift+http://h/auth?container=c&token=hunter2", "swift+http://h/auth?container=c&token=***"),
        ] {
            assert!(is_address(text), "{text}");
            assert_eq!(without_login(text), shown, "{text}");
        }
        for text in [
            "http://h:9000/b",
            "[::1]:9000",
            "rados://[::1]:6789/pool",
            "s3+http://127.0.0.1:9000/b",
            "s3+https://localhost:9000",
            "s3+http://minio/b",
            "s3+http://minio:/b",
        ] {
            assert_eq!(without_login(text), text);
        }
        assert_eq!((without_login("k:1234/b"), without_login("k:99999")), ("k:***/b".into(), "***".into()));
        for text in ["w.yaml", "a@b.yaml", "archive/w3", "h:9000", "10:30"] {
            assert!(!is_address(text), "{text}");
        }
    }
}
