//! A small blocking S3 client: one connection per request, signature V4 in headers (AWS, "Create a signed AWS API
//! request"), the body unsigned.

#![allow(dead_code, reason = "each test binary uses another part")]
#![allow(clippy::unwrap_used, clippy::expect_used, reason = "a test fails by panicking")]

use data_encoding::HEXLOWER;
use std::io::{Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use cosmark_embedded::EmbeddedStore;
use hmac::{Hmac, KeyInit, Mac};
use sha2::{Digest, Sha256};

pub struct Client {
    pub address: SocketAddr,
    pub access: String,
    pub secret: String,
}

pub struct Answer {
    pub status: u16,
    pub head: String,
    pub body: Vec<u8>,
}

impl Answer {
    pub fn text(&self) -> String {
        String::from_utf8_lossy(&self.body).into_owned()
    }

    pub fn header(&self, name: &str) -> Option<&str> {
        let line = self.head.lines().find(|line| {
            line.split_once(':').is_some_and(|(found, _)| found.trim().eq_ignore_ascii_case(name))
        });
        line.and_then(|line| line.split_once(':')).map(|(_, value)| value.trim())
    }

    /// Status and `<Code>`.
    pub fn error(&self) -> (u16, String) {
        (self.status, self.tag("Code").unwrap_or_default())
    }

    /// The text of the first element of this name.
    pub fn tag(&self, name: &str) -> Option<String> {
        self.tags(name).into_iter().next()
    }

    pub fn tags(&self, name: &str) -> Vec<String> {
        let text = self.text();
        let (open, close) = (format!("<{name}>"), format!("</{name}>"));
        let pieces = text.split(open.as_str()).skip(1);
        pieces.map(|piece| piece.split(close.as_str()).next().unwrap_or_default().to_owned()).collect()
    }
}

fn hmac(key: &[u8], text: &str) -> Vec<u8> {
    let mut mac = Hmac::<Sha256>::new_from_slice(key).unwrap();
    mac.update(text.as_bytes());
    mac.finalize().into_bytes().to_vec()
}

/// `YYYYMMDDTHHMMSSZ` of now (civil from days: Howard Hinnant's algorithm).
fn amz_date() -> String {
    let seconds = SystemTime::now().duration_since(UNIX_EPOCH).unwrap().as_secs();
    let (days, rest) = (seconds / 86_400 + 719_468, seconds % 86_400);
    let era = days / 146_097;
    let of_era = days % 146_097;
    let year_of_era = (of_era - of_era / 1460 + of_era / 36_524 - of_era / 146_096) / 365;
    let of_year = of_era - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
    let shifted = (5 * of_year + 2) / 153;
    let day = of_year - (153 * shifted + 2) / 5 + 1;
    let month = if shifted < 10 { shifted + 3 } else { shifted - 9 };
    let year = year_of_era + era * 400 + u64::from(month <= 2);
    format!("{year:04}{month:02}{day:02}T{:02}{:02}{:02}Z", rest / 3600, rest / 60 % 60, rest % 60)
}

impl Client {
    pub fn of(store: &EmbeddedStore) -> Self {
        Self {
            address: store.address(),
            access: store.access_key().to_owned(),
            secret: store.secret_key().to_owned(),
        }
    }

    /// The signed head of a request. `query` must be sorted and escaped, `path` escaped.
    pub fn head(
        &self,
        method: &str,
        path: &str,
        query: &str,
        extra: &[(&str, &str)],
        length: usize,
    ) -> String {
        let (host, date) = (self.address.to_string(), amz_date());
        let day = &date[..8];
        let canonical = format!(
            "{method}\n{path}\n{query}\nhost:{host}\nx-amz-content-sha256:UNSIGNED-PAYLOAD\nx-amz-date:{date}\n\n\
             host;x-amz-content-sha256;x-amz-date\nUNSIGNED-PAYLOAD"
        );
        let scope = format!("{day}/us-east-1/s3/aws4_request");
        let digest = HEXLOWER.encode(Sha256::digest(canonical.as_bytes()).as_ref());
        let to_sign = format!("AWS4-HMAC-SHA256\n{date}\n{scope}\n{digest}");
        let mut key = hmac(format!("AWS4{}", self.secret).as_bytes(), day);
        for part in ["us-east-1", "s3", "aws4_request"] {
            key = hmac(&key, part);
        }
        let signature = HEXLOWER.encode(hmac(&key, &to_sign).as_ref());
        let target = if query.is_empty() { path.to_owned() } else { format!("{path}?{query}") };
        let mut head = format!(
            "{method} {target} HTTP/1.1\r\nHost: {host}\r\nx-amz-date: {date}\r\n\
             x-amz-content-sha256: UNSIGNED-PAYLOAD\r\nContent-Length: {length}\r\nConnection: close\r\n\
             Authorization: AWS4-HMAC-SHA256 Credential={}/{scope}, \
             SignedHeaders=host;x-amz-content-sha256;x-amz-date, Signature={signature}\r\n",
            self.access
        );
        for (name, value) in extra {
            head.push_str(&format!("{name}: {value}\r\n"));
        }
        head + "\r\n"
    }

    pub fn connect(&self) -> TcpStream {
        let stream = TcpStream::connect(self.address).unwrap();
        stream.set_read_timeout(Some(Duration::from_secs(30))).unwrap();
        stream
    }

    pub fn send(&self, method: &str, path: &str, query: &str, extra: &[(&str, &str)], body: &[u8]) -> Answer {
        let mut stream = self.connect();
        stream.write_all(self.head(method, path, query, extra, body.len()).as_bytes()).unwrap();
        stream.write_all(body).unwrap();
        read_answer(&mut stream)
    }

    pub fn put(&self, path: &str, body: &[u8]) -> Answer {
        self.send("PUT", path, "", &[], body)
    }

    pub fn get(&self, path: &str) -> Answer {
        self.send("GET", path, "", &[], b"")
    }

    pub fn delete(&self, path: &str) -> Answer {
        self.send("DELETE", path, "", &[], b"")
    }
}

pub fn read_answer(stream: &mut TcpStream) -> Answer {
    let mut all = Vec::new();
    stream.read_to_end(&mut all).unwrap();
    let end = all.windows(4).position(|four| four == b"\r\n\r\n").expect("a whole head");
    let head = String::from_utf8(all[..end].to_vec()).unwrap();
    let status = head.split(' ').nth(1).and_then(|code| code.parse().ok()).expect("a status");
    Answer { status, head, body: all.split_off(end + 4) }
}

/// Bytes that differ from block to block, made quickly also without optimisation.
pub fn pattern(len: usize) -> Vec<u8> {
    let mut bytes = [7_u8, 31, 59, 101, 149, 199, 251].repeat(len / 7 + 1);
    bytes.truncate(len);
    for (number, block) in bytes.chunks_mut(1024).enumerate() {
        for (byte, digit) in block.iter_mut().zip(number.to_le_bytes()) {
            *byte ^= digit;
        }
    }
    bytes
}
