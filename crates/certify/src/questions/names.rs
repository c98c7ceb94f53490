//! Names of objects: written, read, listed and deleted as they are. Source: S3 user guide, "Naming Amazon S3 objects": any UTF-8
//! of at most 1024 bytes; XML 1.0 for what a listing cannot say plainly.

use super::operations::names_differ;
use super::{Group, Question, S3, by, row};
use crate::request::{Finding, Found, Request, refused, status_of};
use crate::room::Room;
use crate::xml;

const NAME: (Group, super::Of) = (Group::Names, S3);
const GUIDE: &str = "S3 user guide, Naming Amazon S3 objects";
const RIGHT: &str = "written, read, listed as it is, deleted";

/// A row for a name.
macro_rules! named {
    ($id:expr, $asks:expr, $label:expr) => {
        row($id, NAME, ($asks, RIGHT, GUIDE), |room| Box::pin(comes_back(room, $label.to_owned())))
    };
}

pub(super) const ROWS: &[Question] = &[
    named!("s3.name.blank", "Is a name with blanks taken as it is?", "a b  c "),
    named!("s3.name.plus", "Is a name with + and % taken as it is?", "a+b%20c%2Fd%"),
    named!(
        "s3.name.reserved",
        "Are the reserved signs of URLs taken as they are?",
        "a?b#c&d=e;f:g@h,i$j!k*l'm(n)o[p]"
    ),
    named!("s3.name.xml", "Are the signs of XML taken as they are?", "<a>&amp;\"b'</a>"),
    named!(
        "s3.name.unicode",
        "Are letters of other scripts taken as they are?",
        "\u{e9}\u{df}\u{416}\u{65e5}\u{672c}"
    ),
    named!("s3.name.emoji", "Are signs beyond 16 bits taken as they are?", "\u{1f600}\u{10348}"),
    named!("s3.name.backslash", "Is a backslash taken as it is?", "a\\b\\..\\c"),
    named!("s3.name.end-slash", "Is a name that ends with a slash an object with content?", "folder/"),
    named!("s3.name.two-slashes", "Are two slashes in a row two slashes?", "a//b///c"),
    named!("s3.name.dots", "Is a name with dots and no path taken as it is?", "...a..b..."),
    row(
        "s3.name.dot-segments",
        NAME,
        (
            "Is `..` in a name a part of the name?",
            "the name as it is, or a refusal; never another name",
            GUIDE,
        ),
        by!(dot_segments),
    ),
    row(
        "s3.name.single-dot",
        NAME,
        (
            "Is `.` between slashes in a name a part of the name?",
            "the name as it is, or a refusal; never another name",
            GUIDE,
        ),
        by!(single_dot),
    ),
    row(
        "s3.name.first-slash",
        NAME,
        (
            "Are a name and the same with a slash before it different names?",
            "two objects, the one with the slash listed and deleted as it is; or a refusal",
            GUIDE,
        ),
        by!(first_slash),
    ),
    row(
        "s3.name.end-blank",
        NAME,
        (
            "Are a name and the same with a blank behind it different names?",
            "two objects, both listed",
            GUIDE,
        ),
        |room| Box::pin(stay_apart(room, ("a", "a "))),
    ),
    row(
        "s3.name.long-segments",
        NAME,
        (
            "Are two names different that are 300 bytes without a slash and differ in the last?",
            "two objects, both listed",
            GUIDE,
        ),
        by!(long_segments),
    ),
    row(
        "s3.name.control",
        NAME,
        ("Does a name with a line end come back from a listing?", "as it is with encoding-type=url", GUIDE),
        by!(control),
    ),
    row(
        "s3.name.case",
        NAME,
        ("Are capital and small letters different?", "two objects, both listed", GUIDE),
        |room| Box::pin(stay_apart(room, ("Name", "name"))),
    ),
    row(
        "s3.name.normal-forms",
        NAME,
        ("Are two Unicode forms of one letter different names?", "two objects, both listed", GUIDE),
        |room| Box::pin(stay_apart(room, ("\u{e9}", "e\u{301}"))),
    ),
    row(
        "s3.name.file-and-folder",
        NAME,
        ("Can both `a` and `a/b` be objects?", "two objects, both listed", GUIDE),
        |room| Box::pin(stay_apart(room, ("a", "a/b"))),
    ),
    row("s3.name.1024", (Group::Limits, S3), ("Is a name of 1024 bytes taken?", RIGHT, GUIDE), by!(longest)),
    row(
        "s3.name.1025",
        (Group::Limits, S3),
        ("Is a name of 1025 bytes refused?", "400 KeyTooLongError", GUIDE),
        by!(too_long),
    ),
];

/// A name of so many bytes in segments that file systems take, too.
fn of_length(room: &Room, bytes: usize) -> String {
    let mut name = room.key("");
    while name.len() < bytes {
        name.push(if name.len() % 100 == 99 && name.len() + 1 < bytes { '/' } else { 'n' });
    }
    name
}

async fn longest(room: &mut Room) -> Found {
    let key = of_length(room, 1024);
    life_of(room, key).await
}

async fn too_long(room: &mut Room) -> Found {
    let key = of_length(room, 1025);
    let reply = room.send(Request::put(&key, b"x")).await?;
    let finding = refused(&reply, 400, &["KeyTooLongError"]);
    if !reply.is_success() {
        return Ok(finding);
    }
    let is_there = room.content(&key).await?.as_deref() == Some(b"x");
    Ok(if is_there { Finding::differs("it takes longer names than S3") } else { finding })
}

async fn comes_back(room: &mut Room, label: String) -> Found {
    let key = room.key(&label);
    life_of(room, key).await
}

/// Written, read, listed, deleted.
async fn life_of(room: &mut Room, key: String) -> Found {
    let content = key.as_bytes().to_vec();
    let reply = room.send(Request::put(&key, &content)).await?;
    if !reply.is_success() {
        let refusal = format!("the write gave {}", status_of(&reply));
        return Ok(if reply.status < 500 { Finding::differs(refusal) } else { Finding::no(refusal) });
    }
    if room.content(&key).await?.as_ref() != Some(&content) {
        return Ok(Finding::no("it was written, and the read gives something else"));
    }
    let prefix = room.key("");
    let reply = room.given(Request::get("").query("list-type", "2").query("prefix", &prefix)).await?;
    let listed = xml::texts(&reply.body, "Key");
    if listed != [key.as_str()] {
        let shown: Vec<String> = listed.iter().take(3).map(|name| room.short(name)).collect();
        return Ok(Finding::no(format!("it is listed as {shown:?}")));
    }
    let reply = room.send(Request::delete(&key)).await?;
    if !reply.is_success() {
        return Ok(Finding::no(format!("the delete gave {}", status_of(&reply))));
    }
    let is_gone = room.content(&key).await?.is_none();
    Ok(Finding::holds(is_gone, if is_gone { "as it is" } else { "it is still there after its delete" }))
}

/// A server that resolves the path must not write another object: its name would be one that nobody else has.
async fn dot_segments(room: &mut Room) -> Found {
    let end = format!("{:03}-beside", room.number);
    let (key, beside) = (room.key(&format!("sub/../{end}")), room.key(&format!("sub/{end}")));
    let resolved = room.key(&end);
    let reply = room.send(Request::put(&key, b"dots")).await?;
    room.written.extend([beside.clone(), resolved.clone()]);
    for other in [&beside, &resolved] {
        if room.content(other).await?.is_some() {
            return Ok(Finding::no(format!("{} was written instead", room.short(other))));
        }
    }
    if !reply.is_success() {
        return Ok(Finding::differs(format!("refused by {}", status_of(&reply))));
    }
    let is_there = room.content(&key).await?.as_deref() == Some(b"dots");
    Ok(Finding::holds(is_there, if is_there { "as it is" } else { "it was taken and cannot be read" }))
}

/// File systems end a segment at 255 bytes.
async fn long_segments(room: &mut Room) -> Found {
    let (first, second) = ("n".repeat(300), format!("{}m", "n".repeat(299)));
    stay_apart(room, (&first, &second)).await
}

/// The same for a segment that a path does not need.
async fn single_dot(room: &mut Room) -> Found {
    let end = format!("{:03}-beside", room.number);
    let (key, resolved) = (room.key(&format!("sub/./{end}")), room.key(&format!("sub/{end}")));
    let reply = room.send(Request::put(&key, b"dot")).await?;
    room.written.push(resolved.clone());
    if room.content(&resolved).await?.is_some() {
        return Ok(Finding::no(format!("{} was written instead", room.short(&resolved))));
    }
    if !reply.is_success() {
        return Ok(Finding::differs(format!("refused by {}", status_of(&reply))));
    }
    let is_there = room.content(&key).await?.as_deref() == Some(b"dot");
    Ok(Finding::holds(is_there, if is_there { "as it is" } else { "it was taken and cannot be read" }))
}

/// The name with the slash is below no prefix, so it is only asked for in a container of the certification's own.
async fn first_slash(room: &mut Room) -> Found {
    if !room.owns_container {
        return Ok(Finding::not_asked("the container is not the certification's own"));
    }
    let plain = room.key("slash");
    let key = format!("/{plain}");
    room.write(&plain, b"without").await?;
    let reply = room.send(Request::put(&key, b"with")).await?;
    if room.content(&plain).await?.as_deref() != Some(b"without") {
        return Ok(Finding::no("the object without the slash was written instead"));
    }
    if !reply.is_success() {
        return Ok(Finding::differs(format!("refused by {}", status_of(&reply))));
    }
    if room.content(&key).await?.as_deref() != Some(b"with") {
        return Ok(Finding::no("it was taken and cannot be read"));
    }
    let listing = room.given(Request::get("").query("list-type", "2").query("prefix", &key)).await?;
    let listed = xml::texts(&listing.body, "Key");
    let gone = room.send(Request::delete(&key)).await?;
    if room.content(&plain).await?.as_deref() != Some(b"without") {
        return Ok(Finding::no("the delete took the object without the slash"));
    }
    if listed.is_empty() {
        return Ok(Finding::differs("it is not listed, or not yet"));
    }
    if listed != [key.as_str()] {
        return Ok(Finding::no(format!("it is listed as {listed:?}")));
    }
    let is_gone = gone.is_success() && room.content(&key).await?.is_none();
    Ok(Finding::holds(is_gone, if is_gone { "as it is" } else { "it is still there after its delete" }))
}

async fn control(room: &mut Room) -> Found {
    let key = room.key("a\nb");
    let reply = room.send(Request::put(&key, b"x")).await?;
    if !reply.is_success() {
        return Ok(Finding::differs(format!("refused by {}", status_of(&reply))));
    }
    let request = Request::get("").query("list-type", "2").query("prefix", room.key("a"));
    let reply = room.send(request.query("encoding-type", "url")).await?;
    let listed = xml::text(&reply.body, "Key").unwrap_or_default();
    let is_right = listed.to_ascii_uppercase().ends_with("A%0AB");
    Ok(if is_right {
        Finding::yes("%0A")
    } else {
        Finding::no(format!("listed as {:?}", room.short(&listed)))
    })
}

/// Two names that a careless store takes for one, or cannot have both.
async fn stay_apart(room: &mut Room, (first, second): (&str, &str)) -> Found {
    let keys = [room.key(first), room.key(second)];
    for (key, content) in keys.iter().zip([b"first", b"other"]) {
        let reply = room.send(Request::put(key, content)).await?;
        if !reply.is_success() {
            return Ok(Finding::differs(format!(
                "the write of {} gave {}",
                room.short(key),
                status_of(&reply)
            )));
        }
    }
    for (key, content) in keys.iter().zip([b"first", b"other"]) {
        if room.content(key).await?.as_deref() != Some(content) {
            return Ok(Finding::no(format!("{} is not what was written", room.short(key))));
        }
    }
    let prefix = room.key("");
    let reply = room.send(Request::get("").query("list-type", "2").query("prefix", &prefix)).await?;
    if reply.status != 200 {
        return Ok(Finding::no(format!("the listing gave {}", status_of(&reply))));
    }
    let wrong = names_differ(&keys, &xml::texts(&reply.body, "Key"), |name| room.short(name));
    Ok(wrong.map_or_else(|| Finding::yes("two objects"), Finding::no))
}
