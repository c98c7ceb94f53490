//! What opens a place and stands in its address: `user:password` before a host, and parameters such as `?token=..`.
//! Most of what is reached takes neither, but people write them.

use std::ops::Range;

/// What ends the value of a parameter, beside the end of its address.
const ENDS: [char; 9] = ['"', '\'', '`', '<', '>', ',', '}', '#', ';'];
/// Where in the name of a parameter a word stands.
#[derive(Clone, Copy)]
enum Stands {
    Anywhere,
    AtTheEnd,
    Alone,
}

/// What parameters are called that hold a secret, by letters and digits alone: `X-Amz-Signature` is one `signature`. Of a link that
/// is signed beforehand the signature is the secret: Amazon's of both versions, Google's, Azure's `sig`, Swift's `temp_url_sig`.
const SECRETS: [(&str, Stands); 13] = [
    ("token", Stands::Anywhere),
    ("secret", Stands::Anywhere),
    ("password", Stands::Anywhere),
    ("passwd", Stands::Anywhere),
    ("passphrase", Stands::Anywhere),
    ("signature", Stands::Anywhere),
    ("authorization", Stands::Anywhere),
    ("key", Stands::AtTheEnd),
    ("sig", Stands::AtTheEnd),
    ("pwd", Stands::AtTheEnd),
    ("jwt", Stands::AtTheEnd),
    ("pass", Stands::Alone),
    ("auth", Stands::Alone),
];

/// Where in a text `user:password` stands before the host of a URL. A comma does not end the part in which it is looked
/// for: it may be one of the password's, and the next address of a list begins anew.
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

/// The hosts of a text's URLs, with their ports, behind the logins.
#[must_use]
pub fn hosts_in(text: &str) -> Vec<String> {
    let logins = logins_in(text);
    let host = |(at, mark): (usize, &str)| {
        let start = at + mark.len();
        let login = logins.iter().find(|login| login.start == start);
        // Behind the sign between them.
        let rest = text.get(login.map_or(start, |login| login.end + 1)..).unwrap_or_default();
        let is_end = |sign: char| matches!(sign, '/' | '?') || sign.is_whitespace() || ENDS.contains(&sign);
        rest.split(is_end).next().unwrap_or_default().to_owned()
    };
    text.match_indices("://").map(host).filter(|host| !host.is_empty()).collect()
}

/// Where in a text values of parameters of URLs stand that are called as secrets are: `?token=..`, `&api_key=..`, also behind a
/// `#`, and as XML writes them: `&amp;token=..`.
#[must_use]
pub fn tokens_in(text: &str) -> Vec<Range<usize>> {
    let mut found: Vec<Range<usize>> = Vec::new();
    let mut begin = 0;
    for word in text.split_inclusive(char::is_whitespace) {
        let start = begin;
        begin += word.len();
        let Some(scheme) = word.find("://") else { continue };
        for (at, _) in word.match_indices(['?', '&', '#']).filter(|(at, _)| *at > scheme) {
            // An address within a value is a part of it.
            if found.last().is_some_and(|last| start + at < last.end) {
                continue;
            }
            let rest = word.get(at + 1..).unwrap_or_default();
            let name = rest.split(['=', '&', '?']).next().unwrap_or_default();
            let value = rest.get(name.len()..).and_then(|rest| rest.strip_prefix('='));
            let Some(value) = value.filter(|_| is_secret(name)) else { continue };
            let is_end = |sign: char| sign == '&' || sign.is_whitespace() || ENDS.contains(&sign);
            let length = value.find(is_end).unwrap_or(value.len());
            let from = start + at + 1 + name.len() + 1;
            if length > 0 {
                found.push(from..from + length);
            }
        }
    }
    found
}

fn is_secret(name: &str) -> bool {
    let name = name.strip_prefix("amp;").unwrap_or(name);
    let name: String = name.chars().filter(char::is_ascii_alphanumeric).collect();
    let name = name.to_ascii_lowercase();
    SECRETS.iter().any(|(word, stands)| match stands {
        Stands::Anywhere => name.contains(word),
        Stands::AtTheEnd => name.ends_with(word),
        Stands::Alone => name == *word,
    })
}

/// A text without the logins in its URLs, and with stars in place of tokens in their parameters.
#[must_use]
pub fn without_logins(text: &str) -> String {
    let mut bare = text.to_owned();
    for token in tokens_in(text).into_iter().rev() {
        bare.replace_range(token, "***");
    }
    for login in logins_in(&bare).into_iter().rev() {
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
    fn the_host_of_an_address_is_what_stands_behind_its_login() {
        for (text, hosts) in [
            ("http://u:p@a:80/x,https://v@[::1]:9?y, http://c", &["a:80", "[::1]:9", "c"][..]),
            ("{url: 'http://u:a,b@h', x: file:///srv}", &["h"]),
            ("http://@h ://", &["@h"]),
            ("a:80", &[]),
        ] {
            assert_eq!(hosts_in(text), hosts, "{text}");
        }
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

    #[test]
    fn tokens_in_parameters_are_found_by_their_names_and_nothing_else_is() {
        let found = |text: &str| -> Vec<String> {
            tokens_in(text).into_iter().map(|at| text[at].to_owned()).collect()
        };
        assert_eq!(found("http://h/metrics?a=b&token=abc&x=1"), ["abc"]);
        assert_eq!(found("http://h?authKey=a,http://i?X-Amz-Signature=b&sig=c#d"), ["a", "b", "c"]);
        assert_eq!(found("{url: 'http://h?api_key=é', x: 1}"), ["é"]);
        assert_eq!(found("http://h?match[]={instance=\"a\"}&access_token=b"), ["b"]);
        assert_eq!(found("http://h?token=http://i?token=abc"), ["http://i?token=abc"]);
        // Links that are signed beforehand, of each kind, an address of another site's sign-in, and one in XML.
        for (text, secret) in [
            ("https://h/v1/a/c/o?temp_url_sig=da39&temp_url_expires=9", "da39"),
            ("https://h/b/k?X-Amz-Credential=id&X-Amz-Signature=5d67&X-Amz-Expires=9", "5d67"),
            ("https://h/b/k?X-Goog-Credential=id&x-goog-signature=247a", "247a"),
            ("https://h/b?AWSAccessKeyId=id&Signature=vjby%3D&Expires=9", "vjby%3D"),
            ("https://h/b?GoogleAccessId=id&Expires=9&Signature=GMF%2B", "GMF%2B"),
            ("https://h/c/o?sv=2024-11-04&sp=r&sig=Rcp%2Bz", "Rcp%2Bz"),
            ("http://h/#access_token=a1&state=b", "a1"),
            ("http://h?a=b&amp;sig=c1&amp;auth=", "c1"),
            ("http://h?user=u&pass=c2", "c2"),
        ] {
            assert_eq!(found(text), [secret], "{text}");
        }
        for text in [
            "http://h?token=",
            "http://h?keyring=f&a=token",
            "?token=a",
            "http://h/token=a",
            "x ://",
            "http://h?author=a&bypass=b&design=c&significant=1&authority=d#key",
        ] {
            assert_eq!(found(text), Vec::<String>::new(), "{text}");
        }
        assert_eq!(without_logins("http://u:p@h/m?token=a&b=c"), "http://h/m?token=***&b=c");
    }
}
