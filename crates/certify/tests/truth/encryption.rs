//! A store that encrypts by keys of those who ask, honest and not: keys are looked at here, before a store that has no
//! encryption.

use std::collections::BTreeMap;
use std::pin::Pin;
use std::sync::{Arc, Mutex};

use cosmark_adaptor_api::{Ask, Asker, Protocol, Reply, Result, Session};
use cosmark_certify::{Answer, Certificate};
use cosmark_embedded::{EmbeddedStore, Options};
use data_encoding::BASE64;
use md5::{Digest as _, Md5};

use super::{before, certified_by, not_right, speaking_s3};

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Lie {
    SaysNothing,
    /// Keys are overlooked, and nothing says that they are not: no promise is broken.
    Overlooks,
    /// A read without a key is one with the right one.
    ReadsWithoutKey,
    /// The same of HEAD alone.
    HeadsWithoutKey,
    /// Any key is the right one.
    ReadsWithOtherKey,
    /// Keys of a write are not looked at.
    TakesAnyKey,
    /// Keys of a part are not looked at.
    TakesAnyPart,
    /// Keys of a copy's source are not looked at.
    CopiesWithoutKey,
    /// The same, and the copy needs the key: nothing is open by it.
    CopiesAsItIs,
    /// Answers have the key.
    ShowsKey,
}

const ALGORITHM: &str = "x-amz-server-side-encryption-customer-algorithm";
const KEY: &str = "x-amz-server-side-encryption-customer-key";

#[derive(Default)]
struct Memory {
    /// Keys of objects, and of writes in parts, by name.
    objects: BTreeMap<String, String>,
    uploads: BTreeMap<String, String>,
}

struct Cipher {
    inner: Box<dyn Asker>,
    lie: Lie,
    memory: Arc<Mutex<Memory>>,
}

fn has(ask: &Ask<'_>, name: &str) -> bool {
    ask.query.iter().any(|(own, _)| *own == name)
}

fn line<'a>(ask: &Ask<'a>, name: &str) -> Option<&'a str> {
    ask.lines.iter().find(|line| line.0 == name).map(|line| line.1)
}

fn refusal(status: u16, code: &str) -> Reply {
    let body = format!("<Error><Code>{code}</Code></Error>").into_bytes();
    Reply { status, body, ..Reply::default() }
}

/// The key of a request, where it is one.
fn key_of(ask: &Ask<'_>) -> Option<String> {
    let key = line(ask, KEY).filter(|_| line(ask, ALGORITHM) == Some("AES256"))?;
    let bytes = BASE64.decode(key.as_bytes()).ok().filter(|bytes| bytes.len() == 32)?;
    let sum = BASE64.encode(&Md5::digest(&bytes));
    (line(ask, &format!("{KEY}-md5")) == Some(sum.as_str())).then(|| key.to_owned())
}

impl Cipher {
    /// What is refused for its key.
    fn refused(&self, ask: &Ask<'_>) -> Option<Reply> {
        let memory = self.memory.lock().unwrap();
        let has_key = line(ask, ALGORITHM).is_some();
        let key = key_of(ask);
        if has_key && key.is_none() && self.lie != Lie::TakesAnyKey {
            return Some(refusal(400, "InvalidArgument"));
        }
        if let Some(source) = line(ask, "x-amz-copy-source") {
            let name = source.trim_start_matches('/').split_once('/').map_or("", |(_, name)| name);
            let own = memory.objects.get(name);
            let given = line(ask, "x-amz-copy-source-server-side-encryption-customer-key");
            let is_wrong = own.is_some_and(|own| Some(own.as_str()) != given);
            let is_taken = matches!(self.lie, Lie::CopiesWithoutKey | Lie::CopiesAsItIs);
            return (is_wrong && !is_taken).then(|| refusal(400, "InvalidRequest"));
        }
        if has(ask, "partNumber") {
            let own = memory.uploads.get(ask.object);
            return (own != key.as_ref() && self.lie != Lie::TakesAnyPart)
                .then(|| refusal(400, "InvalidRequest"));
        }
        let own = memory.objects.get(ask.object).filter(|_| matches!(ask.method, "GET" | "HEAD"))?;
        match key {
            None if self.lie == Lie::ReadsWithoutKey => None,
            None if self.lie == Lie::HeadsWithoutKey && ask.method == "HEAD" => None,
            None => Some(refusal(400, "InvalidRequest")),
            Some(key) if key != *own && self.lie != Lie::ReadsWithOtherKey => {
                Some(refusal(403, "AccessDenied"))
            }
            Some(_) => None,
        }
    }

    /// What a request that was done makes of keys.
    fn follow(&self, ask: &Ask<'_>) {
        let mut memory = self.memory.lock().unwrap();
        let (name, key) = (ask.object.to_owned(), key_of(ask));
        match ask.method {
            "PUT" if !has(ask, "partNumber") => {
                memory.objects.remove(&name);
                let is_open = line(ask, "x-amz-copy-source-server-side-encryption-customer-key").is_some();
                if let Some(source) = line(ask, "x-amz-copy-source").filter(|_| !is_open)
                    && self.lie == Lie::CopiesAsItIs
                {
                    let from = source.trim_start_matches('/').split_once('/').map_or("", |(_, name)| name);
                    let own = memory.objects.get(from).cloned();
                    memory.objects.extend(own.map(|key| (name.clone(), key)));
                }
                memory.objects.extend(key.map(|key| (name, key)));
            }
            "POST" if has(ask, "uploads") => memory.uploads.extend(key.map(|key| (name, key))),
            "POST" if has(ask, "uploadId") => {
                let key = memory.uploads.remove(&name);
                memory.objects.extend(key.map(|key| (name, key)));
            }
            _ => {}
        }
    }

    async fn exchange(&mut self, ask: &Ask<'_>) -> Result<Reply> {
        let is_overlooked = self.lie == Lie::Overlooks;
        if let Some(reply) = self.refused(ask).filter(|_| !is_overlooked) {
            return Ok(reply);
        }
        let is_plain = |line: &&(&str, &str)| !line.0.contains("server-side-encryption-customer");
        let lines: Vec<(&str, &str)> = ask.lines.iter().filter(is_plain).copied().collect();
        let mut reply = self.inner.ask(&Ask { lines: &lines, ..*ask }).await?;
        if is_overlooked || !reply.is_success() {
            return Ok(reply);
        }
        self.follow(ask);
        if let Some(algorithm) = line(ask, ALGORITHM) {
            reply.lines.push((ALGORITHM.to_owned(), algorithm.to_owned()));
        }
        if let Some(key) = line(ask, KEY).filter(|_| self.lie == Lie::ShowsKey) {
            reply.lines.push((KEY.to_owned(), key.to_owned()));
        }
        Ok(reply)
    }
}

impl Asker for Cipher {
    fn protocol(&self) -> Protocol {
        self.inner.protocol()
    }

    fn ask<'a>(&'a mut self, ask: &'a Ask<'a>) -> Pin<Box<dyn Future<Output = Result<Reply>> + 'a>> {
        Box::pin(self.exchange(ask))
    }
}

async fn asked(store: &EmbeddedStore, lie: Lie) -> Certificate {
    let memory = Arc::new(Mutex::new(Memory::default()));
    let cipher = before(
        speaking_s3(&store.endpoint(), (store.access_key(), store.secret_key())),
        |client| client,
        move |inner, _| Box::new(Cipher { inner, lie, memory: Arc::clone(&memory) }),
    );
    certified_by(cipher, Session::default(), &["s3.sse-c."]).await.unwrap()
}

#[tokio::test]
async fn lies_about_keys_are_found_by_the_questions_about_them_and_no_key_is_on_a_page() {
    let store = EmbeddedStore::start(Options::default()).unwrap();
    let cases: &[(Lie, usize, &[&str])] = &[
        (Lie::SaysNothing, 5, &[]),
        (Lie::Overlooks, 0, &[]),
        (Lie::ReadsWithoutKey, 3, &["s3.sse-c.multipart", "s3.sse-c.without"]),
        (Lie::HeadsWithoutKey, 4, &["s3.sse-c.without"]),
        (Lie::ReadsWithOtherKey, 4, &["s3.sse-c.without"]),
        (Lie::TakesAnyKey, 4, &["s3.sse-c.wrong-key"]),
        (Lie::TakesAnyPart, 4, &["s3.sse-c.multipart"]),
        (Lie::CopiesWithoutKey, 4, &["s3.sse-c.copy"]),
        (Lie::CopiesAsItIs, 4, &[]),
        (Lie::ShowsKey, 4, &["s3.sse-c.read"]),
    ];
    let mut wrong = Vec::new();
    for (lie, right, wanted) in cases {
        let certificate = asked(&store, *lie).await;
        let no = not_right(&certificate, Answer::No);
        if no.keys().map(String::as_str).collect::<Vec<_>>() != *wanted || certificate.counts.yes != *right {
            wrong.push(format!("{lie:?} should be answered by {wanted:?}, and is by {certificate:#?}"));
        }
        assert_eq!((certificate.left_behind.len(), store.used_bytes()), (0, 0), "{certificate:#?}");
        let text = serde_json::to_string(&certificate).unwrap();
        assert!(text.contains("customer-key: ***"), "{text}");
        if *lie == Lie::Overlooks {
            let differs = not_right(&certificate, Answer::Differs);
            assert!(differs["s3.sse-c.read"].starts_with("not offered: "), "{differs:#?}");
            assert_eq!((differs.len(), certificate.counts.not_asked), (1, 4), "{certificate:#?}");
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}
