//! What opens a place and stands in its address: `user:password` before a host, and parameters such as `?token=..`. Most of
//! what is reached takes neither, but people write them.

use std::ops::Range;

/// Where in a text `user:password` stands before the host of a URL. A comma does not end the part in which it is looked for: it may
/// be one of the password's, and the next address of a list begins anew.
#[must_use]
pub fn logins_in(text: &str) -> Vec<Range<usize>> {
    let login = |(at, mark): (usize, &str)| {
        let start = at + mark.len();
        let rest = text.get(start..).unwrap_or_default();
        let end = rest.find(|sign: char| matches!(sign, '/' | '?' | '#') || sign.is_whitespace());
        let authority = rest.get(..end.unwrap_or(rest.len())).unwrap_or_default();
        authority.rfind('@').filter(|length| *length > 0).map(|length| start..start + length)
    };
    text.match_indices("://").filter_map(login).collect()
}

/// A text without the logins in its URLs.
#[must_use]
pub fn without_logins(text: &str) -> String {
    let mut bare = text.to_owned();
    for login in logins_in(text).into_iter().rev() {
        // With the sign between it and the host.
        bare.replace_range(login.start..=login.end, "");
    }
    bare
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn logins_in_urls_are_found_and_nothing_else_is() {
        let found = |text: &str| -> Vec<String> {
            logins_in(text).into_iter().map(|at| text[at].to_owned()).collect()
        };
        assert_eq!(found("http://u:p@h:80/a@b"), ["u:p"]);
        assert_eq!(found("http://u:p%40x@y@h,https://token@[::1]/"), ["u:p%40x@y", "token"]);
        assert_eq!(found("http://u:a,b@h"), ["u:a,b"]);
        assert_eq!(found("http://h/?mail=a@b"), Vec::<String>::new());
        assert_eq!(found("a@b"), Vec::<String>::new());
        assert_eq!(found("http://@h"), Vec::<String>::new());
    }

    #[test]
    fn every_address_of_a_list_is_shown_without_its_login() {
        for (text, bare) in [
            ("http://u:p@a:80,http://v:q@b:80", "http://a:80,http://b:80"),
            ("http://u:p@a:80/x, https://v:q@r@[::1]/y", "http://a:80/x, https://[::1]/y"),
            ("http://a:80,http://v:q@b:80", "http://a:80,http://b:80"),
            ("http://u:p,w@é:80", "http://é:80"),
            ("http://h/@x", "http://h/@x"),
            ("/srv/a@b", "/srv/a@b"),
            ("://", "://"),
        ] {
            assert_eq!(without_logins(text), bare);
        }
    }
}
