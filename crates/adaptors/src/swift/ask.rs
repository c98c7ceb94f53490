//! Requests as they stand, with the session's token.

use cosmark_adaptor_api::{Ask, Asker, BytesSource, Marks, OpFuture, Protocol, Reply, Result, Secret, Whom};

use super::request::Link;
use crate::http::{Body, Request, Take, header, header_number, push_query_escaped};

/// One connection for them.
pub(super) struct SwiftAsker {
    link: Link,
}

impl SwiftAsker {
    pub(super) fn new(link: Link) -> Self {
        Self { link }
    }

    async fn exchange(&mut self, ask: &Ask<'_>) -> Result<Reply> {
        let mut other;
        let link = if ask.whom == Whom::Session && ask.announce_bytes.is_none() {
            &mut self.link
        } else {
            let wrong = Secret::new("AUTH_tk00000000000000000000000000000000");
            other = match ask.whom {
                // Tokens stand for no moment, and are in no links.
                Whom::Session
                | Whom::AnHourAgo
                | Whom::Link
                | Whom::OldLink
                | Whom::LinkToOther
                | Whom::StretchedLink => self.link.another(),
                Whom::WrongSecret | Whom::Unknown => Link::new(self.link.connection.endpoint(), &wrong),
                Whom::Nobody => Link::without_token(self.link.connection.endpoint()),
            };
            &mut other
        };
        let mut query = Vec::new();
        for (at, (name, value)) in ask.query.iter().enumerate() {
            query.push(if at == 0 { b'?' } else { b'&' });
            push_query_escaped(&mut query, name);
            if let Some(value) = value {
                query.push(b'=');
                push_query_escaped(&mut query, value);
            }
        }
        let names = [ask.container, ask.object];
        let depth = names.iter().take_while(|name| !name.is_empty()).count();
        link.start_path(ask.method, &names[..depth], &query);
        for (name, value) in ask.lines {
            header(&mut link.head, name, value);
        }
        let takes_body = matches!(ask.method, "PUT" | "POST");
        if let Some(length) = ask.announce_bytes.or_else(|| takes_body.then_some(ask.body.len() as u64)) {
            header_number(&mut link.head, "Content-Length", length);
        }
        link.head.extend_from_slice(b"\r\n");
        let source = BytesSource(ask.body);
        let body = if ask.body.is_empty() { Body::None } else { Body::Sized(&source) };
        let request =
            Request { head: &link.head, body, is_head: ask.method == "HEAD", expects_continue: false };
        let take = Take::Keep { limit: Reply::MOST_BYTES };
        let answer = link.connection.exchange(request, take, &mut Marks::default()).await?;
        Ok(link.connection.reply(answer))
    }
}

impl Asker for SwiftAsker {
    fn protocol(&self) -> Protocol {
        Protocol::Swift
    }

    fn ask<'a>(&'a mut self, ask: &'a Ask<'a>) -> OpFuture<'a, Reply> {
        Box::pin(self.exchange(ask))
    }
}
