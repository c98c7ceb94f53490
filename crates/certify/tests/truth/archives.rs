//! A Swift that makes objects of archives, honest and not: they are taken apart here, before a store that cannot.

use std::pin::Pin;

use cosmark_adaptor_api::{Ask, Asker, Protocol, Reply, Result, Settings};
use cosmark_adaptors::auth::swauth;
use cosmark_certify::{Answer, Certificate};
use cosmark_simstore::{Behaviour, Handle, SimStore};

use super::{before, certified_by, not_right, opened};

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Lie {
    SaysNothing,
    /// It says that it can, and refuses: no promise is broken.
    Refuses,
    /// The last file of an archive is counted and not written.
    LosesTheLast,
    /// A file has the bytes of its whole blocks.
    FillsBlocks,
    /// What is no archive is one without files.
    TakesAnything,
    /// What is no archive is an object.
    WritesAnything,
}

struct Unpacker {
    inner: Box<dyn Asker>,
    lie: Lie,
}

fn answer(status: &str) -> Reply {
    let body = format!("{{\"Number Files Created\": 0, \"Response Status\": \"{status}\", \"Errors\": []}}");
    Reply { status: 200, body: body.into_bytes(), ..Reply::default() }
}

/// Names and bytes of the files in an archive; `None`: it is none.
fn files_in(body: &[u8]) -> Option<Vec<(String, Vec<u8>)>> {
    let (mut files, mut at) = (Vec::new(), 0);
    while let Some(header) = body.get(at..at + 512).filter(|header| header[0] != 0) {
        if &header[257..262] != b"ustar" {
            return None;
        }
        let text = |from: usize, to: usize| {
            String::from_utf8_lossy(&header[from..to]).trim_end_matches('\0').to_owned()
        };
        let length = usize::from_str_radix(&text(124, 136), 8).ok()?;
        files.push((text(0, 100), body.get(at + 512..at + 512 + length)?.to_vec()));
        at += 512 + length.next_multiple_of(512);
    }
    Some(files)
}

impl Unpacker {
    async fn exchange(&mut self, ask: &Ask<'_>) -> Result<Reply> {
        if ask.container.is_empty() && ask.object == "info" {
            let body = b"{\"swift\": {}, \"bulk_upload\": {}}".to_vec();
            return Ok(Reply { status: 200, body, ..Reply::default() });
        }
        if !ask.query.iter().any(|(name, _)| *name == "extract-archive") {
            return self.inner.ask(ask).await;
        }
        if self.lie == Lie::Refuses {
            return Ok(answer("413 Request Entity Too Large"));
        }
        let Some(mut files) = files_in(ask.body) else {
            if self.lie == Lie::WritesAnything {
                self.inner.ask(&Ask { query: &[], lines: &[], ..*ask }).await?;
            }
            let is_taken = matches!(self.lie, Lie::TakesAnything | Lie::WritesAnything);
            return Ok(answer(if is_taken { "201 Created" } else { "400 Bad Request" }));
        };
        if self.lie == Lie::LosesTheLast {
            files.pop();
        }
        for (name, mut body) in files {
            if self.lie == Lie::FillsBlocks {
                body.resize(body.len().next_multiple_of(512), 0);
            }
            let object = format!("{}/{name}", ask.object);
            self.inner.ask(&Ask { body: &body, ..Ask::new("PUT", ask.container, &object) }).await?;
        }
        Ok(answer("201 Created"))
    }
}

impl Asker for Unpacker {
    fn protocol(&self) -> Protocol {
        self.inner.protocol()
    }

    fn ask<'a>(&'a mut self, ask: &'a Ask<'a>) -> Pin<Box<dyn Future<Output = Result<Reply>> + 'a>> {
        Box::pin(self.exchange(ask))
    }
}

async fn asked(store: &Handle, lie: Lie) -> Certificate {
    let url = format!("{}/auth/v1.0", store.url());
    let entries = [("auth_url", url.as_str()), ("username", "test:tester"), ("password", "testing")];
    let (settings, problems) = Settings::parse(swauth::DEF.keys, entries);
    assert!(problems.is_empty(), "{problems:?}");
    let session = (swauth::DEF.open)(&settings).unwrap().login().await.unwrap();
    let unpacker = before(
        opened(&cosmark_adaptors::swift::DEF, &[]),
        |client| client,
        move |inner, _| Box::new(Unpacker { inner, lie }),
    );
    certified_by(unpacker, session, &["swift.bulk-upload"]).await.unwrap()
}

#[tokio::test]
async fn archives_that_do_not_become_what_is_in_them_are_found() {
    let store = SimStore::start(Behaviour::from_yaml("etag: md5").unwrap(), "127.0.0.1:0").unwrap();
    for (lie, wanted) in [
        (Lie::SaysNothing, Answer::Yes),
        (Lie::Refuses, Answer::Differs),
        (Lie::LosesTheLast, Answer::No),
        (Lie::FillsBlocks, Answer::No),
        (Lie::TakesAnything, Answer::No),
        (Lie::WritesAnything, Answer::No),
    ] {
        let certificate = asked(&store, lie).await;
        assert_eq!(not_right(&certificate, wanted).len(), 1, "{lie:?}: {certificate:#?}");
        assert_eq!(certificate.left_behind, Vec::<String>::new(), "{lie:?}");
    }
    assert_eq!(store.counters().unwrap().objects, 0);
    drop(store);
}
