//! HTTP/1.1 on the server side (RFC 9112), no more of it than object storage clients use: request heads,
//! bodies by length or in chunks, answers that can be harmed on purpose.

pub(crate) mod answer;
pub(crate) mod body;
pub(crate) mod chunked;
pub(crate) mod head;
pub(crate) mod input;
pub(crate) mod sock;
pub(crate) mod text;
