//! Rules by which a store deletes objects by itself, which it need not have. What they delete takes days; asked is
//! whether the rules are those that were set. Source: S3 API, PutBucketLifecycleConfiguration.

use std::time::Duration;

use super::access::refusal;
use super::integrity::md5_base64;
use super::resources::{another_bucket, said};
use super::{Group, Question, S3, by, pattern, row};
use crate::request::{Finding, Found, Request, shut_out, status_of};
use crate::room::Room;
use crate::xml;

pub(super) const ROWS: &[Question] = &[row(
    "s3.lifecycle",
    (Group::Operations, S3),
    (
        "Does a lifecycle rule come back as it was set, until it is deleted, and are rules refused that are none?",
        "ID, prefix and days; 404 when it is deleted; 400 for 0 days and for two rules of one ID, and the rule stays",
        "S3 API, PutBucketLifecycleConfiguration and GetBucketLifecycleConfiguration",
    ),
    by!(rules),
)];

/// Rules may take a moment to be known, and to be gone.
const LOOKS: [Duration; 5] = [
    Duration::ZERO,
    Duration::from_millis(500),
    Duration::from_secs(1),
    Duration::from_secs(3),
    Duration::from_secs(5),
];
/// The rule that is set.
const RULE: (&str, &str, u32) = ("cosmark-one", "old/", 30);

fn rule((id, prefix, days): (&str, &str, u32)) -> String {
    format!(
        "<Rule><ID>{id}</ID><Filter><Prefix>{prefix}</Prefix></Filter><Status>Enabled</Status>\
         <Expiration><Days>{days}</Days></Expiration></Rule>"
    )
}

fn setting(bucket: &str, rules: &str) -> Request {
    let namespace = "http://s3.amazonaws.com/doc/2006-03-01/";
    let body = format!("<LifecycleConfiguration xmlns=\"{namespace}\">{rules}</LifecycleConfiguration>");
    let sum = md5_base64(body.as_bytes());
    Request::put("", body.as_bytes()).of(bucket).flag("lifecycle").line("content-md5", sum)
}

/// Each rule as two texts: its ID, and what it deletes and when.
type Rules = Vec<(String, String)>;

/// The rules that are there.
async fn seen(room: &mut Room, bucket: &str) -> Result<Rules, Finding> {
    let reply = room.send(Request::get("").of(bucket).flag("lifecycle")).await?;
    match reply.status {
        200..=299 => {}
        404 => return Ok(Vec::new()),
        _ => return Err(Finding::no(format!("reading the rules gave {}", status_of(&reply)))),
    }
    let texts = |rule: &Vec<u8>| {
        let [id, prefix, days] =
            ["ID", "Prefix", "Days"].map(|name| xml::text(rule, name).unwrap_or_default());
        (id, format!("{prefix} after {days} days"))
    };
    Ok(xml::parts(&reply.body, "Rule").iter().map(texts).collect())
}

/// Ends the question where the rules do not come to be these; their IDs may be others.
async fn come_to_be(room: &mut Room, bucket: &str, right: &[&str], when: &str) -> Result<Rules, Finding> {
    let mut now: Vec<String> = Vec::new();
    for pause in LOOKS {
        tokio::time::sleep(pause).await;
        let rules = seen(room, bucket).await?;
        now = rules.iter().map(|(_, text)| text.clone()).collect();
        if now == right {
            return Ok(rules);
        }
    }
    Err(Finding::no(format!("{when}: the rules are {now:?} where {right:?} is right")))
}

async fn rules(room: &mut Room) -> Found {
    let (bucket, _) = another_bucket(room, "rules", &pattern(600, 361)).await?;
    let reply = room.send(setting(&bucket, &rule(RULE))).await?;
    if let Some(finding) = refusal("a rule", &reply) {
        return Ok(finding);
    }
    let text = format!("{} after {} days", RULE.1, RULE.2);
    let right = [text.as_str()];
    let now = come_to_be(room, &bucket, &right, "set").await?;
    let twice = [rule(("cosmark-two", "a/", 10)), rule(("cosmark-two", "b/", 20))].concat();
    let mut others: Vec<String> = Vec::new();
    // Some make up IDs of their own: the rule does the same by another name.
    let of_others = now.iter().filter(|(id, _)| id != RULE.0);
    others.extend(of_others.map(|(id, _)| format!("its ID is {id:?} where {} was set", RULE.0)));
    let zero = rule(("cosmark-none", "a/", 0));
    for (what, rules, is_harmless) in [("0 days", zero, false), ("two rules of one ID", twice, true)] {
        let reply = room.send(setting(&bucket, &rules)).await?;
        if is_harmless && reply.is_success() {
            // Whose rules have no names has no two of one name.
            others.push(format!("{what}: {}", status_of(&reply)));
            room.prepare(setting(&bucket, &rule(RULE))).await?;
        } else {
            others.extend(shut_out(&reply, what, &[400])?);
        }
        come_to_be(room, &bucket, &right, &format!("behind {what}")).await?;
    }
    let reply = room.send(Request::delete("").of(&bucket).flag("lifecycle")).await?;
    if !reply.is_success() {
        return Ok(Finding::no(format!("it cannot be deleted: {}", status_of(&reply))));
    }
    come_to_be(room, &bucket, &[], "deleted").await?;
    Ok(said(&others, "as it was set, and gone when it was deleted"))
}
