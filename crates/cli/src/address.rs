//! Addresses of stores as people give them, also in the place of something else, and how they are repeated: without a secret, as
//! logs keep what a program says.

use cosmark_workload::logins::tokens_in;

/// An address of a store, also one that says no protocol before its login.
#[must_use]
pub fn is_address(text: &str) -> bool {
    text.contains("://") || text.rsplit_once('@').is_some_and(|(login, _)| login.contains(':'))
}

/// The address as it may be shown: without its login, without the tokens in its parameters, and without what stands in the place of
/// a port and is none, which may be a secret whose @ and host are missing.
#[must_use]
pub fn without_login(text: &str) -> String {
    let start = text.find("://").map_or(0, |at| at + "://".len());
    let (before, rest) = text.split_at(start);
    let mut shown = match text.rfind('@') {
        Some(at) if at >= start => format!("{before}***{}", &text[at..]),
        Some(at) => format!("***{}", &text[at..]),
        None if begins_with_a_host(rest) => text.to_owned(),
        None => format!("{before}***"),
    };
    for token in tokens_in(&shown).into_iter().rev() {
        shown.replace_range(token, "***");
    }
    shown
}

/// With a port or without.
fn begins_with_a_host(text: &str) -> bool {
    let host = text.split(['/', '?', '#']).next().unwrap_or_default();
    let is_port = |port: &str| port.bytes().all(|byte| byte.is_ascii_digit());
    host.starts_with('[') || host.split_once(':').is_none_or(|(_, port)| is_port(port))
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
            ("swift+http://h/auth?container=c&token=hunter2", "swift+http://h/auth?container=c&token=***"),
        ] {
            assert!(is_address(text), "{text}");
            assert_eq!(without_login(text), shown, "{text}");
        }
        for text in ["http://h:9000/b", "[::1]:9000", "rados://[::1]:6789/pool"] {
            assert_eq!(without_login(text), text);
        }
        for text in ["w.yaml", "a@b.yaml", "archive/w3", "h:9000", "10:30"] {
            assert!(!is_address(text), "{text}");
        }
    }
}
