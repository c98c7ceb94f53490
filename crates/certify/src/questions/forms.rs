//! Forms by which a browser writes an object, without a login and as somebody with one has signed that it may, which a
//! store need not have. Source: S3 API, PostObject, "Creating a POST policy"; Swift's document of the middleware
//! `formpost`.

use std::time::Duration;

use cosmark_adaptor_api::{Reply, Whom};
use data_encoding::BASE64;
use serde_json::json;

use super::access::refusal;
use super::middleware::{offered, with_key, without_key};
use super::resources::said;
use super::{Group, Question, S3, SWIFT, by, difference, pattern, row, stated};
use crate::request::{Finding, Found, Request, shut_out, status_of};
use crate::room::Room;

const ERROR: (Group, super::Of) = (Group::Errors, S3);
const POLICY: &str = "S3 API, PostObject, Creating a POST policy";

pub(super) const ROWS: &[Question] = &[
    row(
        "s3.form.write",
        ERROR,
        (
            "Does a form with a signed policy write the object, without a login?",
            "204, and the bytes of its file, its Content-Type and metadata",
            "S3 API, PostObject",
        ),
        by!(write),
    ),
    row(
        "s3.form.policy",
        ERROR,
        (
            "Is a form refused whose policy nobody signed as it is, or whose time is over?",
            "403 for another policy, another signature, an hour later, and none of both; nothing is written",
            POLICY,
        ),
        by!(policy),
    ),
    row(
        "s3.form.conditions",
        ERROR,
        (
            "Is a form refused that does not meet a condition of its policy?",
            "403, or 400 InvalidPolicyDocument: another prefix, other metadata, a field that it does not name; 400 \
             EntityTooLarge and EntityTooSmall; nothing is written",
            POLICY,
        ),
        by!(conditions),
    ),
    row(
        "swift.form",
        (Group::Errors, SWIFT),
        (
            "Does a form that the key of its container has signed write its file, and no other one?",
            "201 and the bytes; 401 for another length or signature than was signed and an hour later, 400 for a file \
             that is too large; nothing is written",
            "Swift, FormPost middleware",
        ),
        by!(by_key),
    ),
];

/// What is between the fields, with the certification's own word behind it.
const BOUNDARY: &str = "cosmark-certify-form-";
/// What the file is called.
const FILE: &str = "form.txt";
/// Least and most bytes of the file.
const LEAST: usize = 10;
const MOST: usize = 5000;
/// Another look at a key that a proxy may know a moment later, and how many.
const PAUSE: Duration = Duration::from_millis(700);
const LOOKS: usize = 3;
/// How long a form is good for, s; an old one was so for as long before.
const GOOD_S: i64 = 600;

/// A form in the making.
struct Form {
    /// The object that it is to write.
    object: String,
    /// Where it is sent to: S3's to the bucket, Swift's to what names begin with.
    target: String,
    fields: Vec<(&'static str, String)>,
    file: Vec<u8>,
}

impl Form {
    /// One that is signed for names below a prefix, for a text with these metadata, and of a length.
    fn signed(room: &Room, key: &str, ends_in_s: i64) -> Result<Self, Finding> {
        let conditions = [
            json!({"bucket": room.container}),
            json!(["starts-with", "$key", room.key("form/")]),
            json!(["starts-with", "$Content-Type", "text/"]),
            json!({"x-amz-meta-form": "one"}),
            json!(["content-length-range", LEAST, MOST]),
        ]
        .map(|condition| condition.to_string());
        let mut fields = vec![
            ("key", key.to_owned()),
            ("Content-Type", "text/cosmark".to_owned()),
            ("x-amz-meta-form", "one".to_owned()),
        ];
        fields.extend(room.form(&conditions.join(","), ends_in_s)?);
        Ok(Self { object: key.to_owned(), target: String::new(), fields, file: pattern(1200, 331) })
    }

    /// One that this key of the container signs for names below a prefix.
    fn of_key(room: &Room, key: &str, label: &str, ends_in_s: i64) -> Result<Self, Finding> {
        let target = room.key(&format!("form/{label}/"));
        let fields = room.form_by_key(key, &target, MOST as u64, ends_in_s)?;
        Ok(Self { object: format!("{target}{FILE}"), target, fields, file: pattern(1100, 334) })
    }

    /// Puts another value into a field.
    fn set(&mut self, name: &str, value: impl Fn(&str) -> String) {
        self.fields.iter_mut().filter(|field| field.0 == name).for_each(|field| field.1 = value(&field.1));
    }

    async fn send(&self, room: &mut Room) -> Result<Reply, Finding> {
        // The listing might not show it.
        room.written.push(self.object.clone());
        let boundary = format!("{BOUNDARY}{}", room.word);
        let mut body = Vec::new();
        for (name, value) in &self.fields {
            let field =
                format!("--{boundary}\r\nContent-Disposition: form-data; name=\"{name}\"\r\n\r\n{value}\r\n");
            body.extend_from_slice(field.as_bytes());
        }
        let file = format!(
            "--{boundary}\r\nContent-Disposition: form-data; name=\"file\"; filename=\"{FILE}\"\r\n\
             Content-Type: text/cosmark\r\n\r\n"
        );
        body.extend_from_slice(file.as_bytes());
        body.extend_from_slice(&self.file);
        body.extend_from_slice(format!("\r\n--{boundary}--\r\n").as_bytes());
        let kind = format!("multipart/form-data; boundary={boundary}");
        room.send(Request::post(&self.target, &body).line("content-type", kind).by(Whom::Nobody)).await
    }
}

async fn write(room: &mut Room) -> Found {
    let key = room.key("form/a");
    let form = Form::signed(room, &key, GOOD_S)?;
    let reply = form.send(room).await?;
    if let Some(finding) = refusal("a form", &reply) {
        return Ok(finding);
    }
    let read = room.send(Request::get(&key)).await?;
    if read.status != 200 {
        return Ok(Finding::no(format!("{}, and its read gave {}", status_of(&reply), status_of(&read))));
    }
    if let Some(wrong) = difference(&form.file, &read.body) {
        return Ok(Finding::no(wrong));
    }
    let seen = (read.line("content-type"), read.line("x-amz-meta-form"));
    let text = format!("Content-Type {}, x-amz-meta-form {}", stated(seen.0), stated(seen.1));
    Ok(match (reply.status, seen) {
        (204, (Some("text/cosmark"), Some("one"))) => Finding::yes(text),
        (status, (Some("text/cosmark"), Some("one"))) => Finding::differs(format!("{status}; {text}")),
        _ => Finding::no(text),
    })
}

/// Ends the question of who has no such forms: what is refused then says nothing.
async fn taken(room: &mut Room) -> Result<(), Finding> {
    let form = Form::signed(room, &room.key("form/good"), GOOD_S)?;
    let reply = form.send(room).await?;
    if reply.is_success() {
        return Ok(());
    }
    Err(Finding::not_asked(format!("a good form gave {}", status_of(&reply))))
}

/// Sends forms that have to be refused, and looks whether one was taken all the same.
async fn refuses(room: &mut Room, all: Vec<(&str, Form)>, statuses: &[u16], right: &str) -> Found {
    let mut others = Vec::new();
    for (what, form) in all {
        let reply = form.send(room).await?;
        others.extend(shut_out(&reply, what, statuses)?);
        if room.content(&form.object).await?.is_some() {
            return Ok(Finding::no(format!("{what}: {}, and it was written", status_of(&reply))));
        }
    }
    Ok(said(&others, right))
}

/// A signature that is none any more, of the same length.
fn bent_text(signature: &str) -> String {
    let last = if signature.ends_with('0') { "1" } else { "0" };
    format!("{}{last}", signature.get(1..).unwrap_or_default())
}

async fn policy(room: &mut Room) -> Found {
    taken(room).await?;
    let names = ["changed", "bent", "over", "unsigned"].map(|label| room.key(&format!("form/{label}")));
    let mut changed = Form::signed(room, &names[0], GOOD_S)?;
    changed.set("policy", |policy| {
        let text = BASE64.decode(policy.as_bytes()).unwrap_or_default();
        let text = String::from_utf8_lossy(&text).replace(&format!(",{MOST}]"), &format!(",1{MOST}]"));
        BASE64.encode(text.as_bytes())
    });
    let mut bent = Form::signed(room, &names[1], GOOD_S)?;
    bent.set("x-amz-signature", bent_text);
    let over = Form::signed(room, &names[2], -3600)?;
    let mut unsigned = Form::signed(room, &names[3], GOOD_S)?;
    unsigned.fields.truncate(3);
    let all = vec![
        ("a policy that was changed", changed),
        ("another signature", bent),
        ("an hour behind its end", over),
        ("without a policy and a signature", unsigned),
    ];
    refuses(room, all, &[400, 403], "refused, and nothing is written").await
}

async fn conditions(room: &mut Room) -> Found {
    taken(room).await?;
    let names = ["form/meta", "form/field", "form/large", "form/small"].map(|label| room.key(label));
    let beside = Form::signed(room, &room.key("beside"), GOOD_S)?;
    let mut meta = Form::signed(room, &names[0], GOOD_S)?;
    meta.set("x-amz-meta-form", |_| "other".to_owned());
    let mut field = Form::signed(room, &names[1], GOOD_S)?;
    field.fields.insert(1, ("x-amz-meta-other", "one".to_owned()));
    let (mut large, mut small) =
        (Form::signed(room, &names[2], GOOD_S)?, Form::signed(room, &names[3], GOOD_S)?);
    large.file = pattern(MOST + 1, 332);
    small.file = pattern(LEAST - 1, 333);
    let all = vec![
        ("a name that it does not allow", beside),
        ("other metadata", meta),
        ("a field that it does not name", field),
        ("a file that is too large", large),
        ("a file that is too small", small),
    ];
    refuses(room, all, &[400, 403], "5 are refused, and nothing is written").await
}

async fn by_key(room: &mut Room) -> Found {
    offered(room, "formpost").await?;
    let key = with_key(room).await?;
    let found = of_container(room, &key).await;
    without_key(room, found).await
}

async fn of_container(room: &mut Room, key: &str) -> Found {
    let good = Form::of_key(room, key, "good", GOOD_S)?;
    let mut reply = good.send(room).await?;
    for _ in 0..LOOKS {
        if reply.status != 401 {
            break;
        }
        tokio::time::sleep(PAUSE).await;
        reply = good.send(room).await?;
    }
    match reply.status {
        200..=299 => {}
        // Some know no keys of containers, others no digest of this kind.
        400..=499 | 501 => {
            return Ok(Finding::differs(format!("a good form is refused by {}", status_of(&reply))));
        }
        _ => return Ok(Finding::no(format!("a good form gave {}", status_of(&reply)))),
    }
    let now = room.content(&good.object).await?.unwrap_or_default();
    if let Some(wrong) = difference(&good.file, &now) {
        return Ok(Finding::no(format!("a good form: {wrong}")));
    }
    let mut longer = Form::of_key(room, key, "longer", GOOD_S)?;
    longer.set("max_file_size", |bytes| format!("1{bytes}"));
    let mut bent = Form::of_key(room, key, "bent", GOOD_S)?;
    bent.set("signature", bent_text);
    let over = Form::of_key(room, key, "over", -3600)?;
    let mut large = Form::of_key(room, key, "large", GOOD_S)?;
    large.file = pattern(MOST + 1, 335);
    let all = vec![
        ("another length", longer),
        ("another signature", bent),
        ("an hour behind its end", over),
        ("a file that is too large", large),
    ];
    refuses(room, all, &[400, 401, 413], "4 others are refused, and nothing is written").await
}
