//! A text that must not be shown: it prints as `***` wherever it is formatted; and what takes such texts out of others.

use std::fmt;
use std::ops::Range;

/// A password, key or token. Comparing and cloning are fine; printing gives `***`.
#[derive(Clone, PartialEq, Eq, Default)]
pub struct Secret(String);

impl Secret {
    /// Wraps a value.
    #[must_use]
    pub fn new(value: impl Into<String>) -> Self {
        Self(value.into())
    }

    /// The value itself; for the wire only.
    #[must_use]
    pub fn expose(&self) -> &str {
        &self.0
    }

    /// True for the empty text.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }
}

impl fmt::Debug for Secret {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("***")
    }
}

impl fmt::Display for Secret {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("***")
    }
}

/// Texts shorter than this are not looked for: they would be found in every sentence.
const SHORTEST: usize = 4;
/// A word or a number shorter than this may stand anywhere and mean something else.
const UNMISTAKABLE: usize = 12;
const STARS: &str = "***";
const QUOTES: [char; 7] = ['"', '\'', '`', '\u{2018}', '\u{2019}', '\u{201c}', '\u{201d}'];
/// Escaped, what stands before a value: `:`, `=` and quotes.
const ESCAPED: [&str; 14] = [
    "%3a", "%3d", "%22", "%27", "\\u003a", "\\u003d", "\\u0022", "\\u0027", "&quot;", "&apos;", "&#34;",
    "&#39;", "&#x22;", "&#x27;",
];
/// Bytes of the longest of them.
const LONGEST_ESCAPED: usize = 6;
/// Escaped, what parts a value and what stands before it: spaces and ends of lines.
const PARTING: [&str; 10] = ["\\n", "\\r", "\\t", "%20", "%09", "%0a", "%0A", "%0d", "%0D", "+"];
/// The end of an element of XML, as it is and escaped.
const GREATER: [&str; 7] = [">", "&gt;", "&#62;", "%3e", "%3E", "\\u003e", "\\u003E"];
/// What parts the cells of a table.
const CELLS: [char; 3] = [',', '\t', '|'];
/// So many bytes on each side of a word say whether it is a value, however long the text is.
const REACH: usize = 128;
/// A login before a host is no longer.
const LONGEST_LOGIN: usize = 1024;

/// Puts stars in place of secrets in what is shown.
///
/// * A short word or a number (`test`, `9000`) has stars only where it stands as a value: behind `=`, `:` or the name
///   of a secret, in quotes, or as a cell of a table. In a sentence nobody can tell it from the word that it is, and
///   stars there would be what tells.
/// * The host of an address that everybody may see has no stars: it would be another host, and known ones tell what is
///   missing.
#[derive(Debug, Clone, Default)]
pub struct Stars {
    /// Each in every form in which it is looked for, the longest first.
    forms: Vec<Secret>,
    /// Hosts that may be seen, with their ports and without.
    hosts: Vec<String>,
}

impl Stars {
    /// For these forms of secrets, and for texts with these hosts, `HOST` or `HOST:PORT`.
    #[must_use]
    pub fn new(forms: Vec<String>, hosts: Vec<String>) -> Self {
        let mut all: Vec<String> = hosts;
        let bare: Vec<String> = all.iter().filter_map(|host| without_port(host)).collect();
        all.extend(bare);
        // Whoever parses an address may write it so.
        let lower: Vec<String> = all.iter().map(|host| host.to_lowercase()).collect();
        all.extend(lower);
        all.retain(|host| !host.is_empty());
        all.sort_unstable();
        all.dedup();
        let mut stars = Self { forms: Vec::new(), hosts: all };
        forms.into_iter().for_each(|form| stars.add(form));
        stars
    }

    /// Looks for one more.
    pub fn add(&mut self, form: String) {
        if form.len() < SHORTEST || self.forms.iter().any(|known| known.expose() == form) {
            return;
        }
        let at = self.forms.partition_point(|known| known.expose().len() > form.len());
        self.forms.insert(at, Secret::new(form));
    }

    /// The text without them.
    #[must_use]
    pub fn hide(&self, text: &str) -> String {
        let mut places: Vec<(Range<usize>, bool)> = Vec::new();
        for form in &self.forms {
            let (form, is_plain) = (form.expose(), is_plain(form.expose()));
            places.extend(text.match_indices(form).map(|(at, _)| (at..at + form.len(), is_plain)));
        }
        if places.is_empty() {
            return text.to_owned();
        }
        let hosts = self.hosts_in(text);
        places.retain(|(place, is_plain)| !hosts.cover(place) && (!is_plain || is_value(text, place)));
        places.sort_unstable_by_key(|(place, _)| place.start);
        let mut shown = String::with_capacity(text.len());
        let mut end = 0;
        for (place, _) in places {
            // What lies over another or within it is one.
            if place.start >= end {
                shown.push_str(text.get(end..place.start).unwrap_or_default());
                shown.push_str(STARS);
            }
            end = end.max(place.end);
        }
        shown.push_str(text.get(end..).unwrap_or_default());
        shown
    }

    fn hosts_in(&self, text: &str) -> HostPlaces {
        let is_of_name = |sign: char| sign.is_alphanumeric() || matches!(sign, '-' | '_');
        let (mut in_urls, mut all) = (Vec::new(), Vec::new());
        for host in &self.hosts {
            for (at, _) in text.match_indices(host.as_str()) {
                let place = at..at + host.len();
                let (before, behind) = around(text, &place);
                // Before a host stands a login, which may look like another one.
                let is_login = behind.starts_with('@');
                if is_login || before.ends_with(is_of_name) || behind.starts_with(is_of_name) {
                    continue;
                }
                if is_behind_scheme(before) {
                    in_urls.push(place.clone());
                }
                all.push(place);
            }
        }
        HostPlaces { in_urls: Ends::of(in_urls), all: Ends::of(all) }
    }
}

/// Where hosts stand in a text.
struct HostPlaces {
    /// Those behind `://`, be there a login between them or not.
    in_urls: Ends,
    all: Ends,
}

impl HostPlaces {
    /// Whether what stands at this place is of a host and no secret. A secret that is the whole host is one where it
    /// stands alone.
    fn cover(&self, place: &Range<usize>) -> bool {
        self.in_urls.before(place.start + 1) >= place.end
            || self.all.before(place.start) >= place.end
            || self.all.before(place.start + 1) > place.end
    }
}

/// Where places begin, in order, and the furthest end of each and those before it: a text may have many, and each is
/// looked for many times.
struct Ends(Vec<(usize, usize)>);

impl Ends {
    fn of(mut places: Vec<Range<usize>>) -> Self {
        places.sort_unstable_by_key(|place| place.start);
        let mut end = 0;
        let furthest = places.into_iter().map(|place| {
            end = end.max(place.end);
            (place.start, end)
        });
        Self(furthest.collect())
    }

    /// The furthest end of those that begin before this; 0: there is none.
    fn before(&self, start: usize) -> usize {
        let count = self.0.partition_point(|(begin, _)| *begin < start);
        count.checked_sub(1).and_then(|at| self.0.get(at)).map_or(0, |(_, end)| *end)
    }
}

fn without_port(host: &str) -> Option<String> {
    let (name, port) = host.rsplit_once(':')?;
    let is_port = !port.is_empty() && port.bytes().all(|byte| byte.is_ascii_digit());
    (is_port && (!name.contains(':') || name.ends_with(']'))).then(|| name.to_owned())
}

fn is_behind_scheme(before: &str) -> bool {
    let login = before.strip_suffix('@').map(|before| last_of(before, LONGEST_LOGIN));
    let ends = |sign: char| matches!(sign, '/' | '?' | '#') || sign.is_whitespace();
    before.ends_with("://")
        || login.is_some_and(|login| login.trim_end_matches(|sign: char| !ends(sign)).ends_with("://"))
}

fn around<'a>(text: &'a str, place: &Range<usize>) -> (&'a str, &'a str) {
    (text.get(..place.start).unwrap_or_default(), text.get(place.end..).unwrap_or_default())
}

/// The last bytes of a text, no more than so many, from the begin of a sign.
fn last_of(text: &str, bytes: usize) -> &str {
    let from = text.len().saturating_sub(bytes);
    (from..=text.len()).find_map(|at| text.get(at..)).unwrap_or_default()
}

/// The first bytes of a text, no more than so many, to the end of a sign.
fn first_of(text: &str, bytes: usize) -> &str {
    (0..=bytes.min(text.len())).rev().find_map(|at| text.get(..at)).unwrap_or_default()
}

/// A word as others are, or a number.
fn is_plain(form: &str) -> bool {
    let all = |is_one: fn(&u8) -> bool| form.as_bytes().iter().all(is_one);
    form.len() < UNMISTAKABLE && (all(u8::is_ascii_alphabetic) || all(u8::is_ascii_digit))
}

/// Whether a word stands in a text as the value of something, and is no part of a longer one.
fn is_value(text: &str, place: &Range<usize>) -> bool {
    let (before, behind) = around(text, place);
    let (before, behind) = (last_of(before, REACH), first_of(behind, REACH));
    if is_joined(before.chars().rev()) && !ends_with_escape(before) || is_joined(behind.chars()) {
        return false;
    }
    let is_login = before.ends_with("://") && behind.starts_with('@');
    let is_number =
        text.get(place.clone()).is_some_and(|word| word.starts_with(|sign: char| sign.is_ascii_digit()));
    if is_login || is_behind_escaped(before) || (!is_number && is_cell(before, behind)) {
        return true;
    }
    let open = without_parting(before);
    let skipped = before.get(open.len()..).unwrap_or_default();
    let rest = behind.trim_start_matches(is_skipped);
    let is_quoted = (skipped.ends_with(QUOTES) && behind.trim_start_matches('\\').starts_with(QUOTES))
        || (before.ends_with('[') && behind.starts_with(']'));
    // `"read": 5`, `main: read: 5`; but `cannot parse "test": ..` names no `test`.
    let begins_name = open.is_empty() || open.ends_with(['{', ',', '-']) || skipped.contains('\n');
    let begins_name = begins_name || skipped.contains("\\n");
    let is_name = rest.starts_with(':') && !skipped.is_empty() && (!is_quoted || begins_name);
    // Nothing else near it, or nothing else at all.
    let is_alone = open.is_empty() && (rest.is_empty() || place.start > REACH);
    let is_behind_sign =
        open.ends_with([':', '=']) || is_behind_escaped(open) || is_behind_mark(open, skipped);
    is_alone || (!is_name && (is_quoted || is_behind_sign)) || is_behind_name(open)
}

fn is_skipped(sign: char) -> bool {
    sign.is_whitespace() || sign == '\\' || QUOTES.contains(&sign)
}

/// What stands before a value, without spaces, quotes and ends of lines at its end, escaped or not.
fn without_parting(mut text: &str) -> &str {
    loop {
        let rest = text.trim_end_matches(is_skipped);
        let rest = PARTING.iter().find_map(|sign| rest.strip_suffix(*sign)).unwrap_or(rest);
        if rest.len() == text.len() {
            return text;
        }
        text = rest;
    }
}

fn is_behind_escaped(before: &str) -> bool {
    let end = last_of(before, LONGEST_ESCAPED).to_ascii_lowercase();
    ESCAPED.iter().any(|sign| end.ends_with(*sign))
}

/// `alice,test,5`: no sentence has signs between its words and no space.
fn is_cell(before: &str, behind: &str) -> bool {
    let is_end = |sign: char| CELLS.contains(&sign) || matches!(sign, '\r' | '\n');
    before.ends_with(CELLS) && (behind.is_empty() || behind.starts_with(is_end))
}

/// What goes on in a word at this end of it.
fn is_joined(mut signs: impl Iterator<Item = char>) -> bool {
    match signs.next() {
        Some('_' | '-' | '.') => signs.next().is_some_and(char::is_alphanumeric),
        sign => sign.is_some_and(char::is_alphanumeric),
    }
}

/// `%20`, `\n` and `\u000a` end with signs that are none.
fn ends_with_escape(text: &str) -> bool {
    let tail = |length: usize, begin: &str| {
        let rest = text.len().checked_sub(length).and_then(|at| text.get(at..))?.strip_prefix(begin)?;
        Some(rest.bytes().all(|byte| byte.is_ascii_hexdigit()))
    };
    let is_short = ["\\n", "\\r", "\\t"].iter().any(|end| text.ends_with(end));
    is_short || tail(3, "%") == Some(true) || tail(6, "\\u") == Some(true)
}

/// The end of an element of XML, a block or an anchor of YAML.
fn is_behind_mark(open: &str, skipped: &str) -> bool {
    let element = GREATER.iter().find_map(|sign| open.strip_suffix(*sign));
    // An arrow is none.
    let is_element = skipped.is_empty() && element.is_some_and(|element| !element.ends_with(['-', '=']));
    let is_block = skipped.contains('\n') && open.trim_end_matches(['-', '+']).ends_with(['|', '>']);
    let last = open.rsplit(char::is_whitespace).next().unwrap_or_default();
    let is_anchor = !skipped.is_empty() && last.len() > 1 && last.starts_with(['&', '!']);
    is_element || open.ends_with("[CDATA[") || is_block || is_anchor
}

/// `password test`, `the token is test`, `Bearer test`
fn is_behind_name(open: &str) -> bool {
    let words = open.rsplit(|sign: char| !sign.is_alphanumeric()).filter(|word| !word.is_empty());
    let mut words = words.map(str::to_ascii_lowercase);
    let name = words.find(|word| !["is", "was", "the", "a"].contains(&word.as_str()));
    name.is_some_and(|word| {
        ["token", "secret", "passw", "passphrase", "credential", "signature"]
            .iter()
            .any(|part| word.contains(part))
            || ["key", "pass", "pwd", "bearer", "basic"].iter().any(|end| word.ends_with(end))
            || ["authorization", "sig"].contains(&word.as_str())
    })
}

#[cfg(test)]
mod tests {
    use super::{Secret, Stars};

    fn stars(forms: &[&str], hosts: &[&str]) -> Stars {
        let owned = |all: &[&str]| all.iter().map(|one| (*one).to_owned()).collect();
        Stars::new(owned(forms), owned(hosts))
    }

    #[test]
    fn a_secret_that_is_a_word_has_stars_where_it_is_a_value_and_no_sentence_shows_that_it_is_one() {
        let stars = stars(&["test", "9000", "read"], &[]);
        for text in [
            "a test of 9000 objects, 19000 in all",
            "stage test-1 of pretest, test_2 and test.yaml: 9000.5 ms",
            "main: read: 404 for 12 of 9000",
            "{\"read\": 7, \"x\": 90001}",
            "read -> test, 1 test",
            "it was read by nobody; 9000 ms",
            "1,9000,3 of 5;9000",
            "{\n  \"read\": 7,\n  'read': 8}",
            "- 'read': 9",
            "read -&gt;read, a -\\u003eread",
            "[9000, 1] and [read, test]",
        ] {
            assert_eq!(stars.hide(text), text);
        }
        for (text, shown) in [
            ("password=test&x=1", "password=***&x=1"),
            ("password: test, x", "password: ***, x"),
            ("{\"password\": \"test\"}", "{\"password\": \"***\"}"),
            ("{\\\"password\\\": \\\"test\\\"}", "{\\\"password\\\": \\\"***\\\"}"),
            ("no such user: 'test'", "no such user: '***'"),
            ("wrong password test", "wrong password ***"),
            ("the token (test) is wrong", "the token (***) is wrong"),
            ("the secret key was 9000.", "the secret key was ***."),
            ("Authorization: Bearer test", "Authorization: Bearer ***"),
            ("http://u:test@h/", "http://u:***@h/"),
            ("http://test@h/", "http://***@h/"),
            ("?a%3Dtest%20", "?a%3D***%20"),
            ("<password>test</password>", "<password>***</password>"),
            ("key: |\n    test\n", "key: |\n    ***\n"),
            ("note: &p test\nsecretkey: *p", "note: &p ***\nsecretkey: *p"),
            ("token:\\ntest", "token:\\n***"),
            ("password:\\r\\n\\t test", "password:\\r\\n\\t ***"),
            ("Authorization%3A%20Bearer%20test", "Authorization%3A%20Bearer%20***"),
            ("a=b%26password%3A%20test", "a=b%26password%3A%20***"),
            ("password%3A+test", "password%3A+***"),
            ("&lt;password&gt;test&lt;", "&lt;password&gt;***&lt;"),
            ("\\u003cpassword\\u003etest\\u003c", "\\u003cpassword\\u003e***\\u003c"),
            ("<password><![CDATA[test]]>", "<password><![CDATA[***]]>"),
            ("cannot parse \"9000\": no digit", "cannot parse \"***\": no digit"),
            ("no user [test] here", "no user [***] here"),
            ("no user \u{2018}test\u{2019}", "no user \u{2018}***\u{2019}"),
            ("user,pass,n\nalice,test,5\nbob,test", "user,pass,n\nalice,***,5\nbob,***"),
            ("a wrong passphrase test", "a wrong passphrase ***"),
            ("{\"é\":\"é\",\"a\":\"test\"}", "{\"é\":\"é\",\"a\":\"***\"}"),
            (" test\n", " ***\n"),
        ] {
            assert_eq!(stars.hide(text), shown);
        }
    }

    #[test]
    fn what_is_no_word_or_a_long_one_has_stars_wherever_it_stands() {
        let stars = stars(&["t0ken", "a b", "abcdefghijkl", "pass", "pass:word", "word:9"], &[]);
        for (text, shown) in [
            ("xt0kenx abcdefghijklm", "x***x ***m"),
            ("a b is too short", "a b is too short"),
            // One within another, and one over the end of another, leave no rest.
            ("pass:word", "***"),
            ("pass:word:9!", "***!"),
        ] {
            assert_eq!(stars.hide(text), shown);
        }
        assert_eq!(format!("{stars:?}").matches("t0ken").count(), 0);
        assert_eq!(Secret::new("t0ken").to_string(), "***");
    }

    #[test]
    fn the_host_of_an_address_is_shown_whatever_the_secret_is() {
        let stars =
            stars(&["prod", "9000", "s3-p1", "u:prod"], &["Prod.example:9000", "s3-p1", "[::1]:9000"]);
        for (text, shown) in [
            ("http://u:prod@prod.example:9000/x", "http://***@prod.example:9000/x"),
            ("prod.example:9000 refused: prod", "prod.example:9000 refused: ***"),
            ("https://bucket.prod.example/prod?token=prod", "https://bucket.prod.example/prod?token=***"),
            ("http://[::1]:9000/ password=9000", "http://[::1]:9000/ password=***"),
            // The whole host is one only in an address.
            ("http://s3-p1/a: no s3-p1 here", "http://s3-p1/a: no *** here"),
            ("http://x@s3-p1/s3-p1", "http://x@s3-p1/***"),
            // Another host that has it in its name says nothing of it.
            ("key=prod.example.org s3-p1x", "key=prod.example.org ***x"),
            // A login that is called as a host is.
            ("http://s3-p1@h/", "http://***@h/"),
        ] {
            assert_eq!(stars.hide(text), shown);
        }
    }

    #[test]
    fn a_long_text_of_many_secrets_is_searched_in_linear_time() {
        let stars = stars(&["test", "prod", "s3-p1"], &["prod", "prod.example:9000", "h"]);
        let began = std::time::Instant::now();
        for (part, shown) in [
            ("[\"test\",", "[\"***\","),
            ("é='test'", "é='***'"),
            ("h@h@prod s3-p1 prod.example:9000 ", "h@h@prod *** prod.example:9000 "),
            ("h@prod@", "h@prod@"),
            ("        ", "        "),
            ("\\n%20a is the test", "\\n%20a is the test"),
        ] {
            let (text, shown) = (part.repeat(30_000), shown.repeat(30_000));
            assert!(stars.hide(&text) == shown, "{part}");
        }
        assert!(began.elapsed() < std::time::Duration::from_secs(60), "{:?}", began.elapsed());
    }
}
