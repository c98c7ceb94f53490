//! Object lock, which a store need not have: versions that nobody deletes before their time. It is asked in a container
//! of its own, and each lock is as short as it can be: of seconds, by the store's clock. Source: S3 API,
//! PutObjectRetention, PutObjectLegalHold; user guide, "Locking objects with Object Lock".

use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use cosmark_adaptor_api::Reply;

use super::access::refusal;
use super::integrity::md5_base64;
use super::resources::said;
use super::versions::{self, id_of, is_said, may_be_there, switching};
use super::{Group, Question, S3, by, pattern, row, stated};
use crate::certificate::Answer;
use crate::moment;
use crate::request::{Finding, Found, Request, code_of, refused, status_of};
use crate::room::Room;
use crate::xml;

const LOCKS: (Group, super::Of) = (Group::Locks, S3);
const GUIDE: &str = "S3 user guide, Locking objects with Object Lock";
const NAMESPACE: &str = "http://s3.amazonaws.com/doc/2006-03-01/";

pub(super) const ROWS: &[Question] = &[
    row(
        "s3.lock.on",
        LOCKS,
        (
            "Can a bucket be made with Object Lock, and has it versions that cannot be switched off?",
            "ObjectLockEnabled Enabled, and versions, too; 409 InvalidBucketState when they are to be suspended",
            "S3 API, CreateBucket and GetObjectLockConfiguration; user guide, Object Lock considerations",
        ),
        by!(on),
    ),
    row(
        "s3.lock.retention",
        LOCKS,
        (
            "Is a version under retention (GOVERNANCE) deleted by nobody, neither alone nor among many?",
            "403 AccessDenied; its bytes by its id, under a marker and a later version, too; HEAD says until when",
            "S3 API, PutObjectRetention and DeleteObject",
        ),
        by!(retention),
    ),
    row(
        "s3.lock.shorter",
        LOCKS,
        (
            "Is a retention (GOVERNANCE) made longer, and neither shorter nor taken away, but by who may bypass it?",
            "403 AccessDenied, and the date as it was; 200 for a later one; with the bypass the version is deleted",
            "S3 API, PutObjectRetention and DeleteObject",
        ),
        by!(shorter),
    ),
    row(
        "s3.lock.compliance",
        LOCKS,
        (
            "Is a retention of COMPLIANCE bypassed by nobody, and over when its time is?",
            "403 AccessDenied for its delete and for another mode, with the bypass, too; then it is deleted",
            GUIDE,
        ),
        by!(compliance),
    )
    .slow(),
    row(
        "s3.lock.hold",
        LOCKS,
        (
            "Is a version under legal hold deleted by nobody until the hold is taken off?",
            "Status ON; 403 AccessDenied, with the bypass, too; deleted when it is OFF",
            "S3 API, PutObjectLegalHold and GetObjectLegalHold",
        ),
        by!(hold),
    ),
    row(
        "s3.lock.document",
        LOCKS,
        (
            "Are unknown modes, unknown holds and an end in the past refused?",
            "400 each, and the version can be deleted",
            "S3 API, PutObjectRetention and PutObjectLegalHold",
        ),
        by!(document),
    ),
    row(
        "s3.lock.without",
        LOCKS,
        (
            "Are retention and legal hold refused in a bucket that was made without Object Lock?",
            "400 InvalidRequest: who was answered 200 would rely on a lock that is none",
            "S3 API, PutObjectRetention and PutObjectLegalHold",
        ),
        by!(without),
    ),
];

/// How long versions are locked, s: under GOVERNANCE, made longer, made shorter, and under COMPLIANCE.
const GOVERNED_S: u64 = 30;
const LONGER_S: u64 = 40;
const SHORTER_S: u64 = 20;
const COMPLIANCE_S: u64 = 8;
/// Dates have whole seconds, and the servers of a store may be a little apart.
const MARGIN: Duration = Duration::from_secs(2);
/// A lock that is over may stay so long, one pause after the other.
const ENDS: [Duration; 3] = [Duration::ZERO, Duration::from_secs(2), Duration::from_secs(4)];

/// Makes the container with locks; `Err`: the answer of a store that has none.
async fn made(room: &mut Room) -> Result<String, Finding> {
    if !room.owns_container {
        return Err(Finding::not_asked("it needs a container of its own, and one was given"));
    }
    let container = format!("cosmark-certify-{}-lock", room.word);
    let place = room.send(Request::get("").flag("location")).await.ok();
    let body = place.filter(Reply::is_success).and_then(|reply| region_in(&reply.body)).map_or_else(
        String::new,
        |region| {
            format!(
                "<CreateBucketConfiguration xmlns=\"{NAMESPACE}\"><LocationConstraint>{}</LocationConstraint>\
                 </CreateBucketConfiguration>",
                xml::escaped(&region)
            )
        },
    );
    // A question that ran out of time may have made it before.
    let is_again = room.locks_in.replace(container.clone()).is_some();
    let request = Request::put("", body.as_bytes()).of(&container);
    let reply = room.send(request.line("x-amz-bucket-object-lock-enabled", "true")).await?;
    let is_there = is_again && code_of(&reply).as_deref() == Some("BucketAlreadyOwnedByYou");
    if !is_there && let Some(finding) = refusal("a bucket with it", &reply) {
        if !is_again && !may_be_there(Some(reply.status)) {
            room.locks_in = None;
        }
        return Err(finding);
    }
    let reply = room.send(Request::get("").of(&container).flag("object-lock")).await?;
    if let Some(finding) = refusal("the bucket was made, and GET ?object-lock", &reply) {
        return Err(finding);
    }
    let enabled = xml::text(&reply.body, "ObjectLockEnabled");
    if enabled.as_deref() != Some("Enabled") {
        return Err(Finding::differs(format!("not offered: ObjectLockEnabled is {}", stated(enabled))));
    }
    if is_said(room, &container, "Enabled").await? {
        return Ok(container);
    }
    Err(without_versions(room, container).await?)
}

/// What is to be said of locks where there are no versions, as before a file system: nothing is lost where what is
/// locked is neither written over nor deleted.
async fn without_versions(room: &mut Room, container: String) -> Found {
    let lock = Lock::inside(room, container, "no-versions", (307, SHORTER_S)).await?;
    holds(room, SHORTER_S);
    let until = lock.until(SHORTER_S);
    let lines =
        [("x-amz-object-lock-mode", "GOVERNANCE"), ("x-amz-object-lock-retain-until-date", until.as_str())];
    if let Some(finding) = refusal("a write with a lock", &room.send(lock.writing(&lines)).await?) {
        return Ok(finding);
    }
    let other = Request::put(&lock.key, b"other").line("content-md5", md5_base64(b"other"));
    for (what, request) in [("an overwrite", other), ("a delete", Request::delete(&lock.key))] {
        let reply = room.send(request.of(&lock.container)).await?;
        let place = (lock.container.as_str(), lock.key.as_str(), None);
        if let Some(wrong) = versions::wrong(room, place, Some(&lock.content)).await? {
            let seen = format!("it has locks, and no versions; {what} gave {}; {wrong}", status_of(&reply));
            return Ok(if lock.is_over() { too_slow() } else { Finding::no(seen) });
        }
    }
    Ok(Finding::differs("it has no versions: what is locked can be neither written over nor deleted"))
}

/// The region of a bucket, where that is not the one which nobody names.
fn region_in(body: &[u8]) -> Option<String> {
    let text = String::from_utf8_lossy(body);
    let (attributes, rest) = text.split_once("<LocationConstraint")?.1.split_once('>')?;
    let region = rest.split_once("</")?.0.trim();
    let is_named = !attributes.ends_with('/') && !region.is_empty() && region != "us-east-1";
    is_named.then(|| region.to_owned())
}

async fn on(room: &mut Room) -> Found {
    let made = made(room).await;
    room.lockable = Some(made.clone().map_err(|finding| finding.saw));
    let container = made?;
    let reply = room.send(switching(&container, "Suspended")).await?;
    if reply.is_success() {
        // The other questions are about locks, and not about this.
        room.prepare(switching(&container, "Enabled")).await?;
    }
    Ok(refused(&reply, 409, &["InvalidBucketState"]))
}

/// The container with locks; where there is none, nothing further is asked.
async fn locked(room: &mut Room) -> Result<String, Finding> {
    if room.lockable.is_none() {
        room.lockable = Some(made(room).await.map_err(|finding| finding.saw));
    }
    match &room.lockable {
        Some(Ok(container)) => Ok(container.clone()),
        Some(Err(why)) => Err(Finding::not_asked(format!("there are no locks: {why}"))),
        None => Err(Finding::not_asked("there are no locks")),
    }
}

/// A version that is locked.
struct Lock {
    container: String,
    key: String,
    id: String,
    content: Vec<u8>,
    /// What the store's clock said at first, s since 1970.
    now_s: u64,
    began: Instant,
    lasts: Duration,
}

impl Lock {
    /// What is to be locked for so long from now on.
    async fn begin(room: &mut Room, label: &str, of: (u64, u64)) -> Result<Self, Finding> {
        let container = locked(room).await?;
        Self::inside(room, container, label, of).await
    }

    /// The same in this container.
    async fn inside(
        room: &mut Room,
        container: String,
        label: &str,
        (seed, seconds): (u64, u64),
    ) -> Result<Self, Finding> {
        let (key, began) = (room.key(label), Instant::now());
        let reply = room.send(Request::head("").of(&container)).await?;
        let own = SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |since| since.as_secs());
        let now_s = reply.line("date").and_then(moment::of_http).unwrap_or(own);
        let (lasts, content) = (Duration::from_secs(seconds), pattern(2400, seed));
        Ok(Self { container, key, id: String::new(), content, now_s, began, lasts })
    }

    /// Its date, so many seconds behind its beginning.
    fn until(&self, seconds: u64) -> String {
        moment::rfc3339(self.now_s + seconds)
    }

    /// Whether it may be over, so that nothing is held against who takes it for that.
    fn is_over(&self) -> bool {
        self.began.elapsed() + MARGIN >= self.lasts
    }

    /// Its write, with these lines about its lock, too.
    fn writing(&self, lines: &[(&'static str, &str)]) -> Request {
        let sum = md5_base64(&self.content);
        let request = Request::put(&self.key, &self.content).of(&self.container).line("content-md5", sum);
        lines.iter().fold(request, |request, (name, value)| request.line(name, *value))
    }

    async fn write(&mut self, room: &mut Room, lines: &[(&'static str, &str)]) -> Result<(), Finding> {
        let reply = room.send(self.writing(lines)).await?;
        if let Some(finding) = refusal("a write", &reply) {
            // An end that has come before the write has is none.
            return Err(if self.is_over() { too_slow() } else { finding });
        }
        self.id = id_of(&reply).ok_or_else(|| Finding::no("a write has no x-amz-version-id"))?;
        Ok(())
    }

    fn place(&self) -> (&str, &str, Option<&str>) {
        (&self.container, &self.key, Some(&self.id))
    }

    fn of_version(&self, request: Request) -> Request {
        request.of(&self.container).query("versionId", self.id.as_str())
    }

    fn delete(&self) -> Request {
        self.of_version(Request::delete(&self.key))
    }

    /// Sets what belongs to it.
    fn put(&self, (name, document): (&str, String)) -> Request {
        let sum = md5_base64(document.as_bytes());
        let request = Request::put(&self.key, document.as_bytes()).flag(name);
        self.of_version(request.line("content-md5", sum))
    }
}

/// The document of a retention, and what it is put to.
fn retaining(mode: &str, until: &str) -> (&'static str, String) {
    let document = format!(
        "<Retention xmlns=\"{NAMESPACE}\"><Mode>{mode}</Mode><RetainUntilDate>{until}</RetainUntilDate></Retention>"
    );
    ("retention", document)
}

pub(super) fn holding(status: &str) -> (&'static str, String) {
    ("legal-hold", format!("<LegalHold xmlns=\"{NAMESPACE}\"><Status>{status}</Status></LegalHold>"))
}

pub(super) fn bypassing(request: Request) -> Request {
    request.line("x-amz-bypass-governance-retention", "true")
}

/// Notes that something may be locked for so long from now on.
fn holds(room: &mut Room, seconds: u64) {
    let until = Instant::now() + Duration::from_secs(seconds) + MARGIN;
    room.locked_until = room.locked_until.max(Some(until));
}

/// A version that GOVERNANCE locks.
async fn governed(room: &mut Room, label: &str, seed: u64) -> Result<Lock, Finding> {
    let mut lock = Lock::begin(room, label, (seed, GOVERNED_S)).await?;
    lock.write(room, &[]).await?;
    holds(room, GOVERNED_S);
    let reply = room.send(lock.put(retaining("GOVERNANCE", &lock.until(GOVERNED_S)))).await?;
    refusal("a retention of GOVERNANCE", &reply).map_or(Ok(lock), Err)
}

fn too_slow() -> Finding {
    Finding::not_asked("the store took longer than the lock was to last")
}

/// Sends what a lock has to stand against. `Err`: it did not; `Some`: it was refused otherwise than it should be.
async fn denied(
    room: &mut Room,
    lock: &Lock,
    what: &str,
    request: Request,
) -> Result<Option<String>, Finding> {
    let reply = room.send(request).await?;
    if reply.is_success() && lock.is_over() {
        return Err(too_slow());
    }
    let finding = refused(&reply, 403, &["AccessDenied"]);
    let seen = format!("{what}: {}", finding.saw);
    match finding.answer {
        Answer::Yes => Ok(None),
        Answer::No => Err(Finding::no(seen)),
        _ => Ok(Some(seen)),
    }
}

/// Ends the question where the version is not as it was.
async fn stays(room: &mut Room, lock: &Lock, when: &str) -> Result<(), Finding> {
    match versions::wrong(room, lock.place(), Some(&lock.content)).await? {
        Some(_) if lock.is_over() => Err(too_slow()),
        Some(wrong) => Err(Finding::no(format!("{when}; {wrong}"))),
        None => Ok(()),
    }
}

/// Ends the question where the version is still there.
async fn goes(room: &mut Room, lock: &Lock, when: &str) -> Result<(), Finding> {
    let wrong = versions::wrong(room, lock.place(), None).await?;
    wrong.map_or(Ok(()), |wrong| Err(Finding::no(format!("{when}; {wrong}"))))
}

/// Whether two dates are the same second: some have parts of it.
fn is_same(one: &str, other: &str) -> bool {
    one.get(..19).is_some_and(|second| other.get(..19) == Some(second))
}

/// What HEAD does not say of a retention.
async fn unsaid(room: &mut Room, lock: &Lock) -> Result<Option<String>, Finding> {
    let reply = room.given(lock.of_version(Request::head(&lock.key))).await?;
    let mode = reply.line("x-amz-object-lock-mode");
    let until = reply.line("x-amz-object-lock-retain-until-date");
    let is_right =
        mode == Some("GOVERNANCE") && until.is_some_and(|until| is_same(until, &lock.until(GOVERNED_S)));
    Ok((!is_right).then(|| format!("HEAD says mode {}, until {}", stated(mode), stated(until))))
}

async fn retention(room: &mut Room) -> Found {
    let lock = governed(room, "retention", 301).await?;
    let mut others = Vec::new();
    others.extend(unsaid(room, &lock).await?);
    others.extend(denied(room, &lock, "its delete", lock.delete()).await?);
    stays(room, &lock, "refused").await?;
    let body = format!(
        "<Delete xmlns=\"{NAMESPACE}\"><Object><Key>{}</Key><VersionId>{}</VersionId></Object></Delete>",
        xml::escaped(&lock.key),
        xml::escaped(&lock.id)
    );
    let many = Request::post("", body.as_bytes()).of(&lock.container).flag("delete");
    let reply = room.send(many.line("content-md5", md5_base64(body.as_bytes()))).await?;
    stays(room, &lock, &format!("a delete of many gave {}", status_of(&reply))).await?;
    let reply = room.send(Request::delete(&lock.key).of(&lock.container)).await?;
    if !reply.is_success() {
        others.push(format!("a delete without an id: {}", status_of(&reply)));
    }
    stays(room, &lock, "a delete without an id").await?;
    let over = Request::put(&lock.key, b"over it").of(&lock.container);
    let reply = room.send(over.line("content-md5", md5_base64(b"over it"))).await?;
    if !reply.is_success() {
        others.push(format!("a write over it: {}", status_of(&reply)));
    }
    stays(room, &lock, "a write over it").await?;
    Ok(said(&others, "refused alone and among many, and there under a marker and a later version"))
}

/// Ends the question where a retention does not end then.
async fn ends(room: &mut Room, lock: &Lock, seconds: u64, when: &str) -> Result<(), Finding> {
    let reply = room.send(lock.of_version(Request::get(&lock.key).flag("retention"))).await?;
    // 404: there is none any more.
    if reply.status != 404
        && let Some(finding) = refusal("GET ?retention", &reply)
    {
        return Err(finding);
    }
    let (until, right) = (xml::text(&reply.body, "RetainUntilDate"), lock.until(seconds));
    if until.as_deref().is_some_and(|until| is_same(until, &right)) {
        return Ok(());
    }
    Err(Finding::no(format!("{when}: RetainUntilDate is {} where {right} is right", stated(until))))
}

async fn shorter(room: &mut Room) -> Found {
    let lock = governed(room, "shorter", 302).await?;
    let mut others = Vec::new();
    let none = ("retention", format!("<Retention xmlns=\"{NAMESPACE}\"/>"));
    let refusals =
        [("a shorter one", retaining("GOVERNANCE", &lock.until(SHORTER_S))), ("none in its place", none)];
    for (what, document) in refusals {
        others.extend(denied(room, &lock, what, lock.put(document)).await?);
        ends(room, &lock, GOVERNED_S, what).await?;
    }
    holds(room, LONGER_S);
    let reply = room.send(lock.put(retaining("GOVERNANCE", &lock.until(LONGER_S)))).await?;
    if reply.is_success() {
        ends(room, &lock, LONGER_S, "a longer one").await?;
    } else {
        others.push(format!("a longer one: {}", status_of(&reply)));
    }
    others.extend(denied(room, &lock, "its delete", lock.delete()).await?);
    let reply = room.send(bypassing(lock.delete())).await?;
    if reply.is_success() {
        goes(room, &lock, "deleted with the bypass").await?;
    } else {
        // The login may not do it, or there is none.
        others.push(format!("with the bypass: {}", status_of(&reply)));
    }
    Ok(said(&others, "only longer; deleted with the bypass alone"))
}

async fn compliance(room: &mut Room) -> Found {
    let mut lock = Lock::begin(room, "compliance", (303, COMPLIANCE_S)).await?;
    holds(room, COMPLIANCE_S);
    let until = lock.until(COMPLIANCE_S);
    let lines =
        [("x-amz-object-lock-mode", "COMPLIANCE"), ("x-amz-object-lock-retain-until-date", until.as_str())];
    lock.write(room, &lines).await?;
    let mut others = Vec::new();
    let attempts =
        [("its delete", lock.delete()), ("another mode", lock.put(retaining("GOVERNANCE", &until)))];
    for (what, request) in attempts {
        others.extend(denied(room, &lock, what, bypassing(request)).await?);
    }
    stays(room, &lock, "refused").await?;
    tokio::time::sleep((lock.lasts + MARGIN).saturating_sub(lock.began.elapsed())).await;
    let mut seen = String::new();
    for pause in ENDS {
        tokio::time::sleep(pause).await;
        let reply = room.send(lock.delete()).await?;
        if reply.is_success() {
            goes(room, &lock, "deleted behind its end").await?;
            return Ok(said(&others, "refused until its end, then deleted"));
        }
        seen = status_of(&reply);
    }
    let behind = lock.began.elapsed().saturating_sub(lock.lasts).as_secs();
    Ok(Finding::no(format!("{behind} s behind its end it is not deleted: {seen}")))
}

async fn hold(room: &mut Room) -> Found {
    let mut lock = Lock::begin(room, "hold", (304, 0)).await?;
    // It has no end.
    lock.lasts = Duration::MAX;
    lock.write(room, &[("x-amz-object-lock-legal-hold", "ON")]).await?;
    let reply = room.send(lock.of_version(Request::get(&lock.key).flag("legal-hold"))).await?;
    if let Some(finding) = refusal("GET ?legal-hold", &reply) {
        return Ok(finding);
    }
    let status = xml::text(&reply.body, "Status");
    if status.as_deref() != Some("ON") {
        return Ok(Finding::no(format!("it was written with a hold, and the hold is {}", stated(status))));
    }
    let mut others = Vec::new();
    others.extend(denied(room, &lock, "its delete", bypassing(lock.delete())).await?);
    stays(room, &lock, "refused").await?;
    let reply = room.send(lock.put(holding("OFF"))).await?;
    if !reply.is_success() {
        return Ok(Finding::no(format!("the hold cannot be taken off: {}", status_of(&reply))));
    }
    let reply = room.send(lock.delete()).await?;
    if !reply.is_success() {
        return Ok(Finding::no(format!("the hold is off, and the delete gave {}", status_of(&reply))));
    }
    goes(room, &lock, "the hold is off, and it was deleted").await?;
    Ok(said(&others, "ON and not deleted, OFF and deleted"))
}

/// Sends documents that have to be refused by 400.
async fn misfits(room: &mut Room, all: Vec<(&str, Request)>, codes: &[&str]) -> Found {
    let mut others = Vec::new();
    let right = format!("400 for {}", all.len());
    for (what, request) in all {
        let finding = refused(&room.send(request).await?, 400, codes);
        let seen = format!("{what}: {}", finding.saw);
        match finding.answer {
            Answer::Yes => {}
            Answer::No => return Ok(Finding::no(seen)),
            _ => others.push(seen),
        }
    }
    Ok(said(&others, &right))
}

async fn document(room: &mut Room) -> Found {
    let mut lock = Lock::begin(room, "document", (305, GOVERNED_S)).await?;
    lock.write(room, &[]).await?;
    // Who takes a mode that does not exist may lock by it.
    holds(room, GOVERNED_S);
    let (past, until) = (moment::rfc3339(lock.now_s.saturating_sub(3600)), lock.until(GOVERNED_S));
    let all = vec![
        ("a mode that does not exist", lock.put(retaining("COSMARK", &until))),
        ("an end in the past", lock.put(retaining("GOVERNANCE", &past))),
        ("a hold that is MAYBE", lock.put(holding("MAYBE"))),
    ];
    let finding = misfits(room, all, &[]).await?;
    let reply = room.send(lock.delete()).await?;
    Ok(if reply.is_success() {
        finding
    } else {
        Finding::no(format!("{}, and its delete gave {}", finding.saw, status_of(&reply)))
    })
}

async fn without(room: &mut Room) -> Found {
    let lock = Lock::begin(room, "without", (306, GOVERNED_S)).await?;
    // In the container of the other questions.
    room.write(&lock.key, &lock.content).await?;
    let until = lock.until(GOVERNED_S);
    let plain = |(name, document): (&str, String)| {
        let sum = md5_base64(document.as_bytes());
        Request::put(&lock.key, document.as_bytes()).flag(name).line("content-md5", sum)
    };
    let all = vec![("a retention", plain(retaining("GOVERNANCE", &until))), ("a hold", plain(holding("ON")))];
    let found = misfits(room, all, &["InvalidRequest"]).await;
    let (Ok(finding) | Err(finding)) = &found;
    if finding.answer == Answer::No {
        // Who took a lock may look at it: the object is to go.
        for request in [plain(holding("OFF")), bypassing(Request::delete(&lock.key))] {
            drop(room.send(request).await);
        }
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_region_is_read_with_attributes_and_without() {
        for (body, region) in [
            ("<LocationConstraint>eu-central-1</LocationConstraint>", Some("eu-central-1")),
            (
                "<?xml?>\n<LocationConstraint xmlns=\"http://x/\">eu-west-1</LocationConstraint>",
                Some("eu-west-1"),
            ),
            ("<LocationConstraint xmlns=\"http://x/\"></LocationConstraint>", None),
            ("<LocationConstraint xmlns=\"http://x/\"/><a></a>", None),
            ("<LocationConstraint>us-east-1</LocationConstraint>", None),
            ("<Error>", None),
            ("<LocationConstraint", None),
        ] {
            assert_eq!(region_in(body.as_bytes()).as_deref(), region, "{body}");
        }
    }

    #[test]
    fn dates_are_the_same_to_the_second() {
        assert!(is_same("2026-11-27T01:52:16.000Z", "2026-11-27T01:52:16Z"));
        assert!(!is_same("2026-11-27T01:52:17Z", "2026-11-27T01:52:16Z"));
        assert!(!is_same("soon", "soon"));
    }
}
