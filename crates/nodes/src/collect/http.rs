//! Asking over HTTP, again and again. Each request has its own thread for as long as it takes: a silent server holds nothing up
//! but itself.

use std::ops::Range;
use std::sync::Arc;
use std::time::Duration;

use cosmark_adaptor_api::{Secret, Stars};
use cosmark_workload::logins::{hosts_in, logins_in, tokens_in, without_logins};
use cosmark_workload::units::shown;
use data_encoding::BASE64;
use serde_json::Value;
use tokio::sync::mpsc::Sender;
use ureq::Agent;
use ureq::tls::{Certificate, PemItem, RootCerts, TlsConfig};

use super::News;

/// A server that is asked, and how it knows us.
#[derive(Debug)]
pub struct HttpSource {
    agent: Agent,
    authorization: Option<Secret>,
    /// What it is known by, in every form in which it is sent: no word of an answer may repeat it.
    hidden: Stars,
}

/// How a server is to know us.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Login<'a> {
    /// Bearer token.
    pub token: Option<&'a str>,
    /// Name of Basic access authentication (RFC 7617), as the web configuration of Prometheus' own programs wants it.
    pub username: Option<&'a str>,
    /// Its password.
    pub password: Option<&'a str>,
    /// File of the certificates that the server's own is signed with.
    pub ca: Option<&'a str>,
}

impl Login<'_> {
    fn authorization(self) -> Result<Option<String>, String> {
        match (self.token, self.username) {
            (Some(_), Some(_)) => Err("give `token` or `username`, not both".to_owned()),
            (Some(token), None) => Ok(Some(format!("Bearer {token}"))),
            (None, Some(name)) if name.contains(':') => Err("username: a name has no colon".to_owned()),
            (None, Some(name)) => {
                let pair = format!("{name}:{}", self.password.unwrap_or_default());
                Ok(Some(format!("Basic {}", BASE64.encode(pair.as_bytes()))))
            }
            (None, None) if self.password.is_some() => Err("password: give its `username` too".to_owned()),
            (None, None) => Ok(None),
        }
    }
}

/// One answer takes no longer.
const PATIENCE: Duration = Duration::from_secs(10);
/// Exporters of large clusters answer with some megabytes.
const MOST_BYTES: u64 = 64 << 20;
/// Values of an answer in JSON.
const MOST_VALUES: usize = 8 << 20;
/// What the words of the TLS library mean to whoever set the server up.
const TLS_HINTS: &[(&str, &str)] = &[
    ("UnknownIssuer", "; give the file of its certificate, or of who signed that, as `ca`"),
    ("BadSignature", "; another authority of that name signed it: give the file of the right one as `ca`"),
    (
        "CaUsedAsEndEntity",
        "; it is the certificate of an authority: make the server's own with basicConstraints=CA:FALSE",
    ),
    ("NotValidForName", "; the certificate is for another name: ask by a name that stands in it"),
    ("InvalidContentType", "; it speaks no TLS: ask by http://"),
];
/// So much of an answer that is no good is shown.
const SHOWN: usize = 120;

impl HttpSource {
    /// For URLs that begin like this one.
    ///
    /// # Errors
    /// For a login that is none, and a file that cannot be read or has no certificate.
    pub fn new(url: &str, login: Login<'_>) -> Result<Self, String> {
        let ca = login.ca;
        let authorization = login.authorization()?;
        let hidden = Stars::new(secrets_of(url, login, authorization.as_deref()), hosts_in(url));
        let authorization = authorization.map(Secret::new);
        let mut config = Agent::config_builder()
            .timeout_global(Some(PATIENCE))
            // A token goes where the user said, and nowhere else.
            .proxy(None)
            .max_redirects(0)
            .max_redirects_will_error(false)
            .http_status_as_error(false);
        if url.starts_with("https://") {
            let found = rustls_native_certs::load_native_certs();
            let mut roots: Vec<Certificate<'static>> =
                found.certs.iter().map(|der| Certificate::from_der(der).to_owned()).collect();
            roots.extend(ca.map(certificates).transpose()?.into_iter().flatten());
            let provider = Arc::new(rustls::crypto::aws_lc_rs::default_provider());
            let tls = TlsConfig::builder()
                .unversioned_rustls_crypto_provider(provider)
                .root_certs(RootCerts::new_with_certs(&roots));
            config = config.tls_config(tls.build());
        } else if let Some(ca) = ca {
            certificates(ca)?;
        }
        Ok(Self { agent: config.build().into(), authorization, hidden })
    }

    /// The body of an answer with status 200. With a form it is a POST, which changes nothing at the servers that are asked here,
    /// but has room for a long question.
    ///
    /// # Errors
    /// One sentence that names the URL and the remedy.
    pub fn ask(&self, url: &str, accept: &str, form: Option<&[(&str, &str)]>) -> Result<String, String> {
        self.ask_dated(url, accept, form).map(|(body, _)| body)
    }

    /// The same, and what the server's clock showed, seconds since 1970, where it says so.
    ///
    /// # Errors
    /// As [`Self::ask`].
    pub fn ask_dated(
        &self,
        url: &str,
        accept: &str,
        form: Option<&[(&str, &str)]>,
    ) -> Result<(String, Option<i64>), String> {
        self.answer(url, accept, form).map_err(|why| {
            // What comes of it is shown, and stands in the archive of the run.
            let place = without_logins(url);
            self.without_secrets(&format!("{place}{}", why.replace(url, &place)))
        })
    }

    /// A text without what the server knows us by.
    #[must_use]
    pub fn without_secrets(&self, text: &str) -> String {
        self.hidden.hide(text)
    }

    /// So much of what a server says as is shown; nothing of it is a secret that is only cut.
    #[must_use]
    pub fn words(&self, said: &str) -> String {
        let said = self.without_secrets(said);
        said.trim().chars().filter(|sign| !sign.is_control()).take(SHOWN).collect()
    }

    /// What a server says of why it answers as it does.
    fn reason(&self, said: &str) -> String {
        // Prometheus puts it into JSON.
        let answer = json_of(said);
        let reason = answer.as_ref().and_then(|answer| answer.get("error")?.as_str());
        let said = self.words(reason.unwrap_or(said));
        if said.is_empty() { said } else { format!(": {said}") }
    }

    /// The same; an error is what stands behind the URL.
    fn answer(
        &self,
        url: &str,
        accept: &str,
        form: Option<&[(&str, &str)]>,
    ) -> Result<(String, Option<i64>), String> {
        let known = |name: &'static str| self.authorization.as_ref().map(|value| (name, value.expose()));
        let answer = match form {
            None => {
                let mut request = self.agent.get(url).header("accept", accept);
                if let Some((name, value)) = known("authorization") {
                    request = request.header(name, value);
                }
                request.call()
            }
            Some(form) => {
                let mut request = self.agent.post(url).header("accept", accept);
                if let Some((name, value)) = known("authorization") {
                    request = request.header(name, value);
                }
                request.send_form(form.iter().copied())
            }
        };
        let mut answer = answer.map_err(|cause| {
            let cause = cause.to_string();
            let hint = TLS_HINTS.iter().find(|(sign, _)| cause.contains(sign)).map_or("", |(_, hint)| hint);
            format!(": {cause}{hint}")
        })?;
        let status = answer.status().as_u16();
        let headers = answer.headers();
        let header = |name: &str| headers.get(name).and_then(|value| value.to_str().ok()).unwrap_or_default();
        let (date_s, encoding, location, ends_with_it) = (
            date_s(header("date")),
            shown(header("content-encoding")),
            self.words(&without_logins(header("location"))),
            header("content-length").is_empty() && !headers.contains_key("transfer-encoding"),
        );
        let body = answer.body_mut().with_config().limit(MOST_BYTES).lossy_utf8(true).read_to_string();
        if status == 200 {
            let body = body.map_err(|cause| format!(": {cause}"))?;
            if !["", "identity"].contains(&encoding.as_str()) {
                return Err(format!(" answers in {encoding}, which nobody asked for: leave it off there"));
            }
            // A number without its last digits is another number.
            if ends_with_it && accept.starts_with("text/") && !body.ends_with('\n') {
                return Err(": the answer is cut off: its last line has no end".to_owned());
            }
            return Ok((body, date_s));
        }
        let hint = match status {
            401 | 403 => "; give its `token`, or `username` and `password`".to_owned(),
            301..=308 if location.is_empty() => "; give the URL that it leads to".to_owned(),
            301..=308 => format!("; give the URL that it leads to: {location}"),
            _ => self.reason(&body.unwrap_or_default()),
        };
        Err(format!(" answers {status}{hint}"))
    }
}

/// The JSON of an answer; `None` for what is none, and for more values than any server has to say: each takes many
/// times the memory of the byte or two that it takes on its way.
pub fn json_of(text: &str) -> Option<Value> {
    let begins_a_value = |byte: &u8| matches!(*byte, b',' | b':' | b'[' | b'{');
    let values = text.bytes().filter(begins_a_value).count();
    if values > MOST_VALUES { None } else { serde_json::from_str(text).ok() }
}

/// `Fri, 27 Nov 2026 16:45:09 GMT` (RFC 9110, section 5.6.7), seconds since 1970.
fn date_s(text: &str) -> Option<i64> {
    const MONTHS: [&str; 12] =
        ["Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"];
    let number = |text: &str| text.parse::<i64>().ok().filter(|number| (0..=9999).contains(number));
    let mut words = text.split_ascii_whitespace().skip(1);
    let (day, month, year, time) = (words.next()?, words.next()?, words.next()?, words.next()?);
    if words.next() != Some("GMT") {
        return None;
    }
    let (month, _) = (1_i64..).zip(MONTHS).find(|(_, name)| *name == month)?;
    let (day, year) = (number(day)?, number(year)?);
    let parts: Vec<i64> = time.split(':').map(number).collect::<Option<_>>()?;
    let [hours, minutes, seconds] = parts.as_slice() else { return None };
    // Years begin in March, so that a leap day is the last one.
    let (year, month) = if month > 2 { (year, month - 3) } else { (year - 1, month + 9) };
    let days = year * 365 + year / 4 - year / 100 + year / 400 + (153 * month + 2) / 5 + day - 719_469;
    Some(((days * 24 + hours) * 60 + minutes) * 60 + seconds)
}

/// Everything secret that a login and an address have.
fn secrets_of(url: &str, login: Login<'_>, authorization: Option<&str>) -> Vec<String> {
    let encoded = authorization.and_then(|value| value.split_once(' ')).map(|(_, value)| value);
    let part = |at: Range<usize>| url.get(at);
    let logins: Vec<&str> = logins_in(url).into_iter().filter_map(part).collect();
    let passwords = logins.iter().filter_map(|login| Some(login.split_once(':')?.1));
    let given = [login.token, login.password, encoded].into_iter().flatten();
    let tokens = tokens_in(url).into_iter().filter_map(part);
    let as_written = given.chain(logins.iter().copied()).chain(passwords).chain(tokens).map(str::to_owned);
    // So a login of an address goes out.
    let as_sent = logins.iter().map(|login| BASE64.encode(login.as_bytes()));
    as_written.chain(as_sent).collect()
}

/// Asks every interval on a thread of its own until nobody listens. What goes wrong is said once; who is asked may come back.
pub async fn poll<T, F>(interval: Duration, to: Sender<News>, asked: Arc<T>, ask: F)
where
    T: Send + Sync + 'static,
    F: Fn(&T) -> Result<Vec<News>, String> + Copy + Send + 'static,
{
    poll_with(interval, to, move || {
        let own = Arc::clone(&asked);
        async move {
            let answer = tokio::task::spawn_blocking(move || ask(&own)).await;
            answer.unwrap_or_else(|cause| Err(cause.to_string()))
        }
    })
    .await;
}

/// The same of what waits for nobody on its thread.
pub async fn poll_with<F>(interval: Duration, to: Sender<News>, mut ask: impl FnMut() -> F)
where
    F: Future<Output = Result<Vec<News>, String>>,
{
    let mut due = tokio::time::interval(interval);
    due.set_missed_tick_behavior(tokio::time::MissedTickBehavior::Delay);
    let mut last_trouble = None;
    loop {
        due.tick().await;
        let news = match ask().await {
            Ok(news) => {
                last_trouble = None;
                news
            }
            Err(trouble) if last_trouble.as_ref() == Some(&trouble) => Vec::new(),
            Err(trouble) => {
                last_trouble = Some(trouble.clone());
                vec![News::Lost(trouble)]
            }
        };
        for one in news {
            if to.send(one).await.is_err() {
                return;
            }
        }
        if to.is_closed() {
            return;
        }
    }
}

fn certificates(path: &str) -> Result<Vec<Certificate<'static>>, String> {
    let pem = std::fs::read(path).map_err(|cause| format!("ca: cannot read {path}: {cause}"))?;
    let items = ureq::tls::parse_pem(&pem).filter_map(Result::ok);
    let found: Vec<_> = items
        .filter_map(|item| match item {
            PemItem::Certificate(certificate) => Some(certificate.to_owned()),
            _ => None,
        })
        .collect();
    if found.is_empty() { Err(format!("ca: there is no certificate in {path}")) } else { Ok(found) }
}

#[cfg(test)]
#[allow(clippy::unwrap_used, reason = "a test may stop at the first surprise")]
pub(crate) mod tests {
    use std::io::{Read, Write};
    use std::net::{Shutdown, TcpListener, TcpStream};
    use std::thread::JoinHandle;

    #[test]
    fn a_login_is_one_of_two_and_whole() {
        let login =
            |token, username, password| super::Login { token, username, password, ca: None }.authorization();
        assert_eq!(login(None, None, None), Ok(None));
        assert_eq!(login(Some("t"), None, None), Ok(Some("Bearer t".to_owned())));
        assert_eq!(
            login(None, Some("Aladdin"), Some("open sesame")),
            Ok(Some("Basic QWxhZGRpbjpvcGVuIHNlc2FtZQ==".to_owned()))
        );
        assert!(login(Some("t"), Some("u"), None).is_err() && login(None, None, Some("p")).is_err());
        assert!(login(None, Some("a:b"), None).is_err());
    }

    #[test]
    fn json_of_more_values_than_any_server_has_to_say_is_not_read() {
        assert_eq!(super::json_of("[1, {\"a\": 2}]"), Some(serde_json::json!([1, {"a": 2}])));
        assert_eq!(super::json_of("[1,"), None);
        for value in ["0", "[]", "{\"\":0}"] {
            let bomb = format!("[{}0]", format!("{value},").repeat(super::MOST_VALUES + 1));
            assert_eq!(super::json_of(&bomb), None);
        }
    }

    #[test]
    fn a_date_of_http_is_seconds_since_1970() {
        for (text, seconds) in [
            ("Sun, 06 Nov 1994 08:49:37 GMT", Some(784_111_777)),
            ("Thu, 01 Jan 1970 00:00:00 GMT", Some(0)),
            ("Thu, 29 Feb 2024 23:59:59 GMT", Some(1_709_251_199)),
            ("Fri, 01 Mar 2024 00:00:00 GMT", Some(1_709_251_200)),
            ("Sunday, 06-Nov-94 08:49:37 GMT", None),
            ("Sun, 06 Nov 1994 08:49 GMT", None),
            ("Sun, 06 Nov 99999 08:49:37 GMT", None),
            ("", None),
        ] {
            assert_eq!(super::date_s(text), seconds, "{text}");
        }
    }

    #[test]
    fn a_password_in_a_url_is_not_shown() {
        for (url, shown) in [
            ("http://u:pw@h:9100/metrics?a=b@c", "http://h:9100/metrics?a=b@c"),
            ("https://u:p@w@[::1]:9100", "https://[::1]:9100"),
            ("http://h/@x", "http://h/@x"),
            ("h:9100", "h:9100"),
        ] {
            assert_eq!(super::without_logins(url), shown);
        }
        let source = super::HttpSource::new("http://x", super::Login::default()).unwrap();
        // Nobody listens there, and what follows is no URL at all.
        for url in ["http://u:5ecret@127.0.0.1:1/metrics", "http://u:5ecret@127.0.0.1:port/x"] {
            let said = source.ask(url, "text/plain", None).unwrap_err();
            assert!(said.starts_with("http://127.0.0.1:") && !said.contains("5ecret"), "{said}");
        }
        let (url, _) = server(vec!["HTTP/1.1 404 no\r\nconnection: close\r\n\r\nno such page".to_owned()]);
        let said = source.ask(&url.replace("http://", "http://u:5ecret@"), "text/plain", None).unwrap_err();
        assert_eq!(said, format!("{url} answers 404: no such page"));
    }

    /// Who is asked may be anybody, or a server on the way that says what it was sent.
    #[test]
    fn a_server_that_repeats_what_it_was_sent_gives_no_secret_away() {
        let refused = |body: &str| format!("HTTP/1.1 400 no\r\nconnection: close\r\n\r\n{body}");
        let basic = "QWxhZGRpbjpvcGVuIHNlc2FtZQ==";
        let long = format!("{}Bearer my-token", "x".repeat(super::SHOWN - 10));
        for (token, password, said, words) in [
            (Some("my-token"), None, "what is Bearer my-token?".to_owned(), "what is Bearer ***?"),
            (None, Some("open sesame"), format!("Basic {basic} is wrong"), "Basic *** is wrong"),
            (None, Some("open sesame"), "open sesame, Aladdin".to_owned(), "***, Aladdin"),
            (Some("my-token"), None, "{\"error\": \"no my-token\"}".to_owned(), "no ***"),
            // Where it is cut no beginning of it stands, either.
            (Some("my-token"), None, long, "Bearer ***"),
        ] {
            let (url, _) = server(vec![refused(&said)]);
            let login = super::Login { token, username: password.map(|_| "Aladdin"), password, ca: None };
            let source = super::HttpSource::new(&url, login).unwrap();
            let why = source.ask(&url, "text/plain", None).unwrap_err();
            assert!(why.ends_with(words), "{why}");
            let seen = format!("{source:?}");
            assert!(
                !seen.contains("my-token") && !seen.contains(basic) && !seen.contains("sesame"),
                "{seen}"
            );
        }
        let (url, _) = server(vec![refused("no 5ecret, no t0ken and no dTo1ZWNyZXQ=")]);
        let url = format!("{}?token=t0ken&a=b", url.replace("http://", "http://u:5ecret@"));
        let source = super::HttpSource::new(&url, super::Login::default()).unwrap();
        let why = source.ask(&url, "text/plain", None).unwrap_err();
        assert!(why.ends_with("/metrics?token=***&a=b answers 400: no ***, no *** and no ***"), "{why}");
    }

    #[test]
    fn a_password_that_is_a_word_or_a_number_spoils_no_address_and_no_sentence() {
        let source = |url: &str| super::HttpSource::new(url, super::Login::default()).unwrap();
        let url = "http://u:test@test.example:9100/metrics?token=9100";
        let said = source(url)
            .without_secrets("http://test.example:9100/metrics: a test failed at 9100, token 9100");
        assert_eq!(said, "http://test.example:9100/metrics: a test failed at 9100, token ***");
        let said = source(url).without_secrets("no user u:test, wrong password \"test\"");
        assert_eq!(said, "no user ***, wrong password \"***\"");
    }

    #[test]
    fn a_server_without_tls_is_named_with_what_to_do() {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let url = format!("https://{}/metrics", listener.local_addr().unwrap());
        let answers = std::thread::spawn(move || {
            let (mut stream, _) = listener.accept().unwrap();
            let asked = stream.read(&mut [0; 8192]).unwrap_or(0);
            let _ = stream.write_all(b"HTTP/1.0 400 Bad Request\r\n\r\n");
            asked
        });
        let source = super::HttpSource::new(&url, super::Login::default()).unwrap();
        let said = source.ask(&url, "text/plain", None).unwrap_err();
        assert!(said.starts_with(&url) && said.ends_with("; it speaks no TLS: ask by http://"), "{said}");
        assert!(answers.join().unwrap() > 0);
    }

    /// A server that gives these answers one after the other, then no more; gives its URL, and in the end what it was asked.
    pub fn server(answers: Vec<String>) -> (String, JoinHandle<Vec<String>>) {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let url = format!("http://{}/metrics", listener.local_addr().unwrap());
        let asked = std::thread::spawn(move || {
            let one = |answer: String| {
                let (mut stream, _) = listener.accept().unwrap();
                let request = request(&mut stream);
                let _ = stream.write_all(answer.as_bytes());
                let _ = stream.shutdown(Shutdown::Write);
                request
            };
            answers.into_iter().map(one).collect()
        });
        (url, asked)
    }

    /// Head and body of one request.
    fn request(stream: &mut TcpStream) -> String {
        let mut text = String::new();
        let mut part = [0; 4096];
        while let Ok(read @ 1..) = stream.read(&mut part) {
            text.push_str(&String::from_utf8_lossy(&part[..read]));
            let Some((head, body)) = text.split_once("\r\n\r\n") else { continue };
            let length = head.to_ascii_lowercase();
            let length =
                length.split("content-length: ").nth(1).and_then(|rest| rest.lines().next()?.parse().ok());
            if body.len() >= length.unwrap_or(0) {
                break;
            }
        }
        text
    }
}
