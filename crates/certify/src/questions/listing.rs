//! Listings and their parameters. Source: S3 API, ListObjectsV2 and ListObjects.

use super::operations::names_differ;
use super::{Group, Question, S3, by, row};
use crate::request::{Finding, Found, Request, refused, status_of};
use crate::room::Room;
use crate::xml;

const LISTING: (Group, super::Of) = (Group::Listings, S3);
const V2: &str = "S3 API, ListObjectsV2";

pub(super) const ROWS: &[Question] = &[
    row(
        "s3.list.delimiter",
        LISTING,
        ("Does a delimiter fold names into prefixes?", "each prefix once, the other names beside them", V2),
        by!(delimiter),
    ),
    row(
        "s3.list.delimiter-pages",
        LISTING,
        ("Are prefixes given once over pages of two?", "each prefix and name once", V2),
        by!(delimiter_pages),
    ),
    row(
        "s3.list.delimiters",
        LISTING,
        (
            "Do delimiters of other signs and lengths fold names, and a slash at the end of a prefix what is below it?",
            "of 4 pairs of prefix and delimiter: up to the first whole delimiter behind the prefix, and no others",
            V2,
        ),
        by!(delimiters),
    ),
    row(
        "s3.list.max-keys",
        LISTING,
        (
            "Is max-keys honoured, and IsTruncated and KeyCount right?",
            "3 of 5 keys, IsTruncated true, a token for the rest",
            V2,
        ),
        by!(max_keys),
    ),
    row(
        "s3.list.max-keys-0",
        LISTING,
        ("Does max-keys=0 give no names and no more pages?", "no Contents, IsTruncated false", V2),
        by!(max_keys_0),
    ),
    row(
        "s3.list.max-keys-negative",
        LISTING,
        ("Is max-keys=-1 refused?", "400 InvalidArgument", V2),
        by!(max_keys_negative),
    ),
    row(
        "s3.list.start-after",
        LISTING,
        ("Does start-after begin behind a name?", "only names behind it", V2),
        by!(start_after),
    ),
    row(
        "s3.list.start-after-pages",
        LISTING,
        (
            "Does a token count before a start-after that is sent with every page, as SDKs do?",
            "each name behind it once",
            V2,
        ),
        by!(start_after_pages),
    ),
    row(
        "s3.list.bad-token",
        LISTING,
        ("Is a made-up token refused?", "400 InvalidArgument", V2),
        by!(bad_token),
    ),
    row(
        "s3.list.encoding",
        LISTING,
        (
            "Does encoding-type=url encode names and prefixes, so that decoding gives what they are?",
            "%XX for what is not plain, in Key, Prefix and CommonPrefixes, and EncodingType url",
            V2,
        ),
        by!(encoding),
    ),
    row("s3.list.order", LISTING, ("Are names in the order of their UTF-8 bytes?", "yes", V2), by!(order)),
    row(
        "s3.list.empty-prefix",
        LISTING,
        ("Is a listing of a prefix that no name has empty, and no mistake?", "200, KeyCount 0", V2),
        by!(nothing),
    ),
    row(
        "s3.list.version-1",
        LISTING,
        ("Does the old listing page by marker?", "each name once", "S3 API, ListObjects"),
        by!(version_1),
    ),
    row(
        "s3.list.version-1-delimiter",
        LISTING,
        (
            "Does the old listing page by NextMarker over folded prefixes?",
            "each prefix and name once over pages of one",
            "S3 API, ListObjects",
        ),
        by!(version_1_folded),
    ),
    row(
        "s3.list.prefix-signs",
        LISTING,
        (
            "Does a prefix with signs of URLs and XML list what begins so, and nothing else?",
            "of five names that differ in one sign the one that is asked for",
            V2,
        ),
        by!(prefix_signs),
    ),
    row(
        "s3.list.many",
        LISTING,
        ("Are at most 1000 names on a page, also if more are asked for?", "1000, and a token", V2),
        by!(many),
    )
    .slow(),
];

fn list(prefix: impl Into<String>) -> Request {
    Request::get("").query("list-type", "2").query("prefix", prefix)
}

async fn write_all(room: &mut Room, labels: &[&str]) -> Result<Vec<String>, Finding> {
    let mut all = Vec::new();
    for label in labels {
        let key = room.key(label);
        room.write(&key, b"x").await?;
        all.push(key);
    }
    Ok(all)
}

/// A listing that has to succeed.
async fn page(room: &mut Room, request: Request) -> Result<Vec<u8>, Finding> {
    let reply = room.send(request).await?;
    if reply.status == 200 { Ok(reply.body) } else { Err(Finding::no(status_of(&reply))) }
}

fn prefixes(body: &[u8]) -> Vec<String> {
    xml::parts(body, "CommonPrefixes").iter().flat_map(|part| xml::texts(part, "Prefix")).collect()
}

async fn delimiter(room: &mut Room) -> Found {
    write_all(room, &["a/1", "a/2", "b", "c/1/2", "d"]).await?;
    let body = page(room, list(room.key("")).query("delimiter", "/")).await?;
    let names = xml::texts(&body, "Key");
    let seen: Vec<String> = prefixes(&body).iter().chain(&names).map(|name| room.short(name)).collect();
    let wanted = ["a/", "c/", "b", "d"].map(|label| room.short(&room.key(label)));
    Ok(Finding::holds(seen == wanted, seen.join(", ")))
}

/// Names, and what a prefix and a delimiter make of them: folded prefixes, and the other names.
const LABELS: [&str; 5] = ["x--w", "x--y--z", "x-v", "x/1", "x/2/3"];
type Folding = (&'static str, &'static str, &'static [&'static str], &'static [&'static str]);
const FOLDINGS: [Folding; 4] = [
    ("x/", "/", &["x/2/"], &["x/1"]),
    ("x", "--", &["x--"], &["x-v", "x/1", "x/2/3"]),
    ("x", "/2/", &["x/2/"], &["x--w", "x--y--z", "x-v", "x/1"]),
    ("x-", "-", &["x--"], &["x-v"]),
];

async fn delimiters(room: &mut Room) -> Found {
    write_all(room, &LABELS).await?;
    let mut others = Vec::new();
    for (prefix, delimiter, folded, names) in FOLDINGS {
        let what = format!("prefix {prefix:?}, delimiter {delimiter:?}");
        let reply = room.send(list(room.key(prefix)).query("delimiter", delimiter)).await?;
        match reply.status {
            200 => {}
            400..=499 | 501 => {
                others.push(format!("{what}: refused by {}", status_of(&reply)));
                continue;
            }
            _ => return Ok(Finding::no(format!("{what}: {}", status_of(&reply)))),
        }
        let keys = |labels: &[&str]| labels.iter().map(|label| room.key(label)).collect::<Vec<_>>();
        let (seen_folded, seen_names) = (prefixes(&reply.body), xml::texts(&reply.body, "Key"));
        let below: Vec<&str> = LABELS.into_iter().filter(|label| label.starts_with(prefix)).collect();
        if seen_folded.is_empty() && seen_names == keys(&below) {
            others.push(format!("{what}: nothing is folded"));
            continue;
        }
        let short = |name: &str| room.short(name);
        let wrong = names_differ(&keys(folded), &seen_folded, short);
        if let Some(wrong) = wrong.or_else(|| names_differ(&keys(names), &seen_names, short)) {
            return Ok(Finding::no(format!("{what}: {wrong}")));
        }
    }
    Ok(if others.is_empty() { Finding::yes("each of 4") } else { Finding::differs(others.join("; ")) })
}

/// All pages of a listing, at most 30: prefixes and names.
async fn pages(room: &mut Room, request: impl Fn() -> Request) -> Result<Vec<String>, Finding> {
    let (mut all, mut token) = (Vec::new(), None::<String>);
    for _ in 0..30 {
        let asked = match token.take() {
            Some(token) => request().query("continuation-token", token),
            None => request(),
        };
        let body = page(room, asked).await?;
        all.extend(prefixes(&body));
        all.extend(xml::texts(&body, "Key"));
        if xml::text(&body, "IsTruncated").as_deref() != Some("true") {
            return Ok(all);
        }
        token = xml::text(&body, "NextContinuationToken");
        if token.is_none() {
            return Err(Finding::no("IsTruncated is true, and there is no NextContinuationToken"));
        }
    }
    Err(Finding::no("the listing has not ended after 30 pages"))
}

async fn delimiter_pages(room: &mut Room) -> Found {
    write_all(room, &["a/1", "a/2", "b", "c/1/2", "c/2", "d", "e/1"]).await?;
    let prefix = room.key("");
    let seen = pages(room, || list(&prefix).query("delimiter", "/").query("max-keys", "2")).await?;
    let wanted = ["a/", "b", "c/", "d", "e/"].map(|label| room.key(label));
    let wrong = names_differ(&wanted, &seen, |name| room.short(name));
    Ok(wrong.map_or_else(|| Finding::yes("5 on 3 pages"), Finding::no))
}

async fn max_keys(room: &mut Room) -> Found {
    write_all(room, &["1", "2", "3", "4", "5"]).await?;
    let body = page(room, list(room.key("")).query("max-keys", "3")).await?;
    let names = xml::texts(&body, "Key").len();
    let text = |name| xml::text(&body, name).unwrap_or_else(|| "none".to_owned());
    let seen = format!("{names} keys, IsTruncated {}, KeyCount {}", text("IsTruncated"), text("KeyCount"));
    let has_token = xml::text(&body, "NextContinuationToken").is_some();
    Ok(match (names, text("IsTruncated").as_str(), has_token) {
        (3, "true", true) if text("KeyCount") == "3" => Finding::yes(seen),
        (3, "true", true) => Finding::differs(seen),
        _ => Finding::no(seen),
    })
}

async fn max_keys_0(room: &mut Room) -> Found {
    write_all(room, &["1", "2"]).await?;
    let reply = room.send(list(room.key("")).query("max-keys", "0")).await?;
    if reply.status != 200 {
        return Ok(Finding::differs(status_of(&reply)));
    }
    let names = xml::texts(&reply.body, "Key").len();
    let truncated = xml::text(&reply.body, "IsTruncated").unwrap_or_default();
    let seen = format!("{names} keys, IsTruncated {truncated}");
    Ok(match (names, truncated.as_str()) {
        (0, "false") => Finding::yes(seen),
        // Who goes on by the token never ends.
        (0, _) => Finding::no(seen),
        _ => Finding::differs(seen),
    })
}

async fn max_keys_negative(room: &mut Room) -> Found {
    let reply = room.send(list(room.key("")).query("max-keys", "-1")).await?;
    Ok(match refused(&reply, 400, &["InvalidArgument"]) {
        finding if reply.is_success() => Finding::differs(finding.saw),
        finding => finding,
    })
}

async fn start_after(room: &mut Room) -> Found {
    let all = write_all(room, &["1", "2", "3"]).await?;
    let body = page(room, list(room.key("")).query("start-after", &all[1])).await?;
    let seen = xml::texts(&body, "Key");
    Ok(Finding::holds(seen == all[2..], format!("{} names", seen.len())))
}

async fn start_after_pages(room: &mut Room) -> Found {
    let all = write_all(room, &["1", "2", "3", "4", "5", "6"]).await?;
    let prefix = room.key("");
    let request = || list(&prefix).query("start-after", &all[0]).query("max-keys", "2");
    let seen = pages(room, request).await?;
    let wrong = names_differ(&all[1..], &seen, |name| room.short(name));
    Ok(wrong.map_or_else(|| Finding::yes("5 on 3 pages"), Finding::no))
}

async fn bad_token(room: &mut Room) -> Found {
    let reply = room.send(list(room.key("")).query("continuation-token", "cosmark made this up")).await?;
    Ok(match refused(&reply, 400, &["InvalidArgument"]) {
        finding if reply.is_success() => Finding::differs(finding.saw),
        finding => finding,
    })
}

/// What a text of a URL means; a blank may have become a plus.
fn decoded(text: &str, is_plus_blank: bool) -> Option<String> {
    let (mut out, mut bytes) = (Vec::new(), text.bytes());
    while let Some(byte) = bytes.next() {
        out.push(match byte {
            b'%' => {
                let digits = [bytes.next()?, bytes.next()?];
                if !digits.iter().all(u8::is_ascii_hexdigit) {
                    return None;
                }
                u8::from_str_radix(std::str::from_utf8(&digits).ok()?, 16).ok()?
            }
            b'+' if is_plus_blank => b' ',
            byte => byte,
        });
    }
    String::from_utf8(out).ok()
}

/// Whether a client that decodes it in either way has this name.
fn means(said: &str, name: &str) -> bool {
    [false, true].iter().any(|is_plus_blank| decoded(said, *is_plus_blank).as_deref() == Some(name))
}

/// How one name and one folded prefix of a listing are said that was asked to encode them.
fn encoded(body: &[u8], (key, folded, prefix): (&str, &str, &str)) -> Finding {
    let (key_said, folded_said) = (xml::text(body, "Key"), prefixes(body).into_iter().next());
    // The prefix that was asked for stands beside those that were folded.
    let asked_said = xml::texts(body, "Prefix").into_iter().find(|text| Some(text) != folded_said.as_ref());
    let (Some(key_said), Some(folded_said)) = (key_said, folded_said) else {
        return Finding::no("a name and a folded prefix are there, and not both are listed");
    };
    let is_said = xml::text(body, "EncodingType").as_deref() == Some("url");
    if key_said == key && folded_said == folded {
        let seen = "names are as they are";
        return if is_said {
            Finding::no(format!("{seen}, and EncodingType says that they are encoded"))
        } else {
            Finding::differs(format!("{seen}: it is not looked at"))
        };
    }
    let all = [
        ("Key", Some(key_said), key),
        ("CommonPrefixes", Some(folded_said), folded),
        ("Prefix", asked_said, prefix),
    ];
    for (what, said, name) in &all {
        if let Some(said) = said.as_ref().filter(|said| !means(said, name)) {
            return Finding::no(format!("{what} is {said:?}, which is not {name:?} when it is decoded"));
        }
    }
    if is_said {
        Finding::yes("all of them")
    } else {
        Finding::differs("encoded, and no EncodingType says so")
    }
}

async fn encoding(room: &mut Room) -> Found {
    let labels = ["p q r", "p q&\u{e9}+%/1"];
    let all = write_all(room, &labels).await?;
    let prefix = room.key("p q");
    let body = page(room, list(&prefix).query("delimiter", "/").query("encoding-type", "url")).await?;
    let folded = all[1].trim_end_matches('1');
    let finding = encoded(&body, (&all[0], folded, &prefix));
    Ok(Finding::new(finding.answer, finding.saw.replace(&room.prefix, "")))
}

async fn order(room: &mut Room) -> Found {
    // No name is the folder of another: whether a store has both is a question of its own.
    let labels = ["B", "A", "Z", "_", "\u{e9}", "\u{ff5e}", "\u{1f600}", "a/b", "a-b", "a b"];
    let mut all = write_all(room, &labels).await?;
    all.sort_unstable();
    let body = page(room, list(room.key(""))).await?;
    let seen = xml::texts(&body, "Key");
    if let Some(wrong) = names_differ(&all, &seen, |name| room.short(name)) {
        return Ok(Finding::no(wrong));
    }
    let shown: Vec<String> = seen.iter().map(|name| room.short(name)).collect();
    Ok(if seen == all { Finding::yes("10 names") } else { Finding::differs(shown.join(" < ")) })
}

async fn nothing(room: &mut Room) -> Found {
    let body = page(room, list(room.key("nothing begins so"))).await?;
    let names = xml::texts(&body, "Key").len();
    let count = xml::text(&body, "KeyCount").unwrap_or_else(|| "none".to_owned());
    Ok(match (names, count.as_str()) {
        (0, "0") => Finding::yes("200, KeyCount 0"),
        (0, _) => Finding::differs(format!("KeyCount {count}")),
        _ => Finding::no(format!("{names} names")),
    })
}

async fn version_1(room: &mut Room) -> Found {
    let all = write_all(room, &["1", "2", "3", "4", "5"]).await?;
    let (mut seen, mut marker) = (Vec::new(), String::new());
    for _ in 0..10 {
        let request = Request::get("").query("prefix", room.key("")).query("max-keys", "2");
        let request = if marker.is_empty() { request } else { request.query("marker", &marker) };
        let body = page(room, request).await?;
        seen.extend(xml::texts(&body, "Key"));
        if xml::text(&body, "IsTruncated").as_deref() != Some("true") {
            break;
        }
        // Without a delimiter the marker is the last name.
        marker = seen.last().cloned().unwrap_or_default();
    }
    let wrong = names_differ(&all, &seen, |name| room.short(name));
    Ok(wrong.map_or_else(|| Finding::yes("5 names on 3 pages"), Finding::no))
}

async fn version_1_folded(room: &mut Room) -> Found {
    write_all(room, &["a/1", "a/2", "b", "c/1/2", "c/2", "d"]).await?;
    let wanted = ["a/", "b", "c/", "d"].map(|label| room.key(label));
    let (mut seen, mut marker) = (Vec::new(), None::<String>);
    for number in 1..=10 {
        let request =
            Request::get("").query("prefix", room.key("")).query("delimiter", "/").query("max-keys", "1");
        let request = match marker.take() {
            Some(marker) => request.query("marker", marker),
            None => request,
        };
        let body = page(room, request).await?;
        let mut names = prefixes(&body);
        names.extend(xml::texts(&body, "Key"));
        let last = names.iter().max().cloned();
        seen.extend(names);
        if xml::text(&body, "IsTruncated").as_deref() != Some("true") {
            let wrong = names_differ(&wanted, &seen, |name| room.short(name));
            return Ok(wrong.map_or_else(|| Finding::yes(format!("4 on {number} pages")), Finding::no));
        }
        // Who names none goes on behind the last.
        marker = xml::text(&body, "NextMarker").or(last);
        if marker.is_none() {
            return Ok(Finding::no("IsTruncated is true on an empty page, and there is no NextMarker"));
        }
    }
    Ok(Finding::no("the listing has not ended after 10 pages"))
}

async fn prefix_signs(room: &mut Room) -> Found {
    let labels = ["a+b", "a b", "a%20b", "a&b", "a&amp;b"];
    let all = write_all(room, &labels).await?;
    for (label, key) in labels.iter().zip(&all) {
        let body = page(room, list(key)).await?;
        let seen = xml::texts(&body, "Key");
        if seen != [key.clone()] {
            let seen: Vec<String> = seen.iter().map(|name| room.short(name)).collect();
            return Ok(Finding::no(format!("{label:?} lists {seen:?}")));
        }
    }
    Ok(Finding::yes(format!("each of {}", labels.len())))
}

async fn many(room: &mut Room) -> Found {
    let keys: Vec<String> = (0..1003).map(|at| room.key(&format!("{at:04}"))).collect();
    super::together::write_side_by_side(room, &keys).await?;
    let body = page(room, list(room.key("")).query("max-keys", "5000")).await?;
    let names = xml::texts(&body, "Key").len();
    let has_token = xml::text(&body, "NextContinuationToken").is_some();
    let prefix = room.key("");
    let all = pages(room, || list(&prefix)).await?;
    if let Some(wrong) = names_differ(&keys, &all, |name| room.short(name)) {
        return Ok(Finding::no(wrong));
    }
    Ok(match (names, has_token) {
        (1000, true) => Finding::yes("1000 of 1003, then the others"),
        (1003, _) => Finding::differs("all 1003 on one page"),
        _ => Finding::differs(format!("{names} on the first page")),
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Answer;

    #[test]
    fn names_in_a_listing_that_is_encoded_are_what_they_are_when_they_are_decoded() {
        let of = |kind: &str, prefix: &str, key: &str, folded: &str| {
            let body = format!(
                "<L><Prefix>{prefix}</Prefix>{kind}<Contents><Key>{key}</Key></Contents>\
                 <CommonPrefixes><Prefix>{folded}</Prefix></CommonPrefixes></L>"
            );
            encoded(body.as_bytes(), ("x/p q r", "x/p q&\u{e9}+%/", "x/p q")).answer
        };
        let url = "<EncodingType>url</EncodingType>";
        let (key, folded) = ("x/p%20q%20r", "x/p%20q%26%C3%A9%2B%25/");
        for (kind, prefix, key, folded, answer) in [
            (url, "x/p%20q", key, folded, Answer::Yes),
            (url, "x/p+q", "x%2fp+q+r", "x%2Fp+q%26%c3%a9%2B%25%2F", Answer::Yes),
            // A plus may stay, where a blank is none.
            (url, "x/p%20q", key, "x/p%20q%26%C3%A9+%25/", Answer::Yes),
            (url, "x/p+q", "x/p+q+r", "x/p+q%26%C3%A9+%25/", Answer::No),
            ("", "x/p%20q", key, folded, Answer::Differs),
            ("", "x/p q", "x/p q r", "x/p q&amp;\u{e9}+%/", Answer::Differs),
            (url, "x/p q", "x/p q r", "x/p q&amp;\u{e9}+%/", Answer::No),
            // Twice, or the names alone.
            (url, "x/p%20q", "x/p%2520q%2520r", folded, Answer::No),
            (url, "x/p%20q", key, "x/p q&amp;\u{e9}+%/", Answer::No),
            (url, "x/p%2520q", key, folded, Answer::No),
        ] {
            assert_eq!(of(kind, prefix, key, folded), answer, "{kind} {prefix} {key} {folded}");
        }
        assert_eq!(encoded(b"<L></L>", ("a", "b/", "")).answer, Answer::No);
        for (text, meaning) in [("%C3%A9", Some("\u{e9}")), ("%+1", None), ("%2", None), ("%ff", None)] {
            assert_eq!(decoded(text, false).as_deref(), meaning, "{text}");
        }
    }
}
