//! `cosmark quick`: one store by its URL, without a workload file. It writes the workload and runs it like any other.

use std::fmt::Write;
use std::path::Path;
use std::time::Duration;

use percent_encoding::percent_decode_str;
use url::Url;

use crate::address::{is_surely_a_host, without_login};
use crate::args::QuickArgs;
use crate::cmd::run::{execute_and_tidy_up, report};
use crate::exit::{Exit, Outcome, Problem};
use crate::load::load_text;
use crate::out::verbatim;
use crate::registry::CATALOG;
use cosmark_controller::Settle;
use cosmark_metrics::results::Statistic;
use cosmark_workload::threshold::Threshold;
use cosmark_workload::units::{has_no_unit, parse_duration};

/// Runs the subcommand.
pub fn run(args: &QuickArgs) -> Outcome {
    if args.search.is_empty() && (args.from.is_some() || args.to.is_some()) {
        return Err(Problem::usage(
            "--from and --to need --search THRESHOLD, such as --search \"p95 <= 50 ms\"",
        ));
    }
    let store = Store::parse(&args.url, args.insecure).map_err(Problem::usage)?;
    let text = workload(args, &store).map_err(Problem::usage)?;
    if args.print {
        verbatim(format_args!("{}", store.hide(&text)));
        return Ok(Exit::Done);
    }
    let loaded = load_text(&CATALOG, text, "quick", "quick.yaml", None, &[])?;
    // Who says how long wants that; trials of a search decide by themselves.
    let settle = (args.runtime.is_none() && args.search.is_empty()).then(Settle::default);
    let ended = execute_and_tidy_up(loaded, settle, &args.options)?;
    report(&ended, &args.options)
}

/// A store that a URL names, as a target file would.
pub struct OfUrl {
    /// `auth:` and `storage:`, secrets included.
    pub yaml: String,
    /// Host and port, for people.
    pub host: String,
    /// A container that it names.
    pub container: Option<String>,
}

/// Reads a URL as `cosmark quick` does.
///
/// # Errors
/// One sentence without the password.
pub fn target_of_url(text: &str, insecure: bool) -> Result<OfUrl, String> {
    let store = Store::parse(text, insecure)?;
    let (first, others) = hosts_apart(text);
    let url = Url::parse(&first).ok();
    let host = url.as_ref().and_then(Url::host_str).unwrap_or("local");
    let port = url.as_ref().and_then(Url::port).map(|port| format!(":{port}")).unwrap_or_default();
    let first = format!("{host}{port}");
    let host = std::iter::once(first.as_str()).chain(others).collect::<Vec<_>>().join(",");
    let yaml = element("auth", &store.auth) + &element("storage", &store.storage);
    Ok(OfUrl { yaml, host, container: store.container })
}

/// User and password of a URL, decoded.
struct Login {
    user: String,
    password: String,
}

impl Login {
    fn of(url: &Url) -> Self {
        Self { user: decode(url.username()), password: url.password().map(decode).unwrap_or_default() }
    }

    /// What the URL leaves out, from these variables of the environment.
    fn or_env(self, user: &str, password: &str) -> Self {
        let or = |given: String, name: &str| {
            if given.is_empty() { std::env::var(name).unwrap_or_default() } else { given }
        };
        Self { user: or(self.user, user), password: or(self.password, password) }
    }
}

fn decode(part: &str) -> String {
    percent_decode_str(part).decode_utf8_lossy().into_owned()
}

/// A variable of the environment that says something.
fn variable(name: &str) -> Option<String> {
    std::env::var(name).ok().filter(|value| !value.is_empty())
}

const NO_KEY: &str = "no access key: put KEY:SECRET@ before the host, set AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY, or name a \
                      profile in AWS_PROFILE";

/// The same where a user and a secret of digits would look like what is there.
const NO_KEY_BUT_A_PORT: &str = "no access key: what stands behind : is a port here, for a login ends with an @ before the host: \
                                 s3+http://KEY:SECRET@host:9000; or set AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY, or name \
                                 a profile in AWS_PROFILE";

/// Whether there is a login that Amazon's tools would find, other than keys of the environment.
fn has_amazons_login() -> bool {
    let names = ["AWS_PROFILE", "AWS_SHARED_CREDENTIALS_FILE", "AWS_WEB_IDENTITY_TOKEN_FILE"];
    let usual = || variable("HOME").is_some_and(|home| Path::new(&home).join(".aws/credentials").is_file());
    names.into_iter().any(|name| variable(name).is_some()) || usual()
}

/// A URL, taken apart.
#[derive(Default)]
struct Store {
    auth: Vec<(&'static str, String)>,
    storage: Vec<(&'static str, String)>,
    /// The user's own container, which is neither created nor deleted.
    container: Option<String>,
    /// What is not to be shown.
    secrets: Vec<String>,
}

/// How a URL has to begin, by how this one does.
fn with_a_scheme(text: &str) -> String {
    match text.split_once("://").map(|(scheme, _)| scheme) {
        Some(scheme @ ("http" | "https")) => {
            let with_tls = if scheme == "http" { "; with TLS s3+https:// and so on" } else { "" };
            format!("say what it speaks: s3+{scheme}://, swift+{scheme}:// or dav+{scheme}://{with_tls}")
        }
        Some(kind @ ("s3" | "swift" | "dav" | "webdav")) => {
            format!("say with or without TLS: {kind}+https:// or {kind}+http://")
        }
        None if text.ends_with(".yaml") || text.ends_with(".xml") => {
            "it is no URL; a workload is run by `cosmark run FILE`, which takes a target by --target FILE"
                .to_owned()
        }
        _ => {
            "begin with s3+http://, s3+https://, swift+http://, dav+http://, rados:// or file:///".to_owned()
        }
    }
}

/// How signs are written that end a host.
const ESCAPES: &str = "a / in a key or secret is written %2F, a ? %3F, a # %23, and an @ %40";

/// What an address is answered whose port is none, such as one without a host behind its login.
const NO_PORT: &str =
    "what stands behind : is no port; a login ends with an @: s3+http://KEY:SECRET@host:9000";

/// A URL ends its host at the first of these signs, and takes what stands before it for a port.
fn is_cut(text: &str) -> bool {
    let rest = text.split_once("://").map_or("", |(_, rest)| rest);
    rest.split_once(['/', '?', '#']).is_some_and(|(host, after)| !host.contains('@') && after.contains('@'))
}

/// The address with the first of its hosts alone, and the others: gateways of one store, separated by commas.
fn hosts_apart(text: &str) -> (String, Vec<&str>) {
    let from = text.find("://").map_or(0, |at| at + "://".len());
    let end = text[from..].find(['/', '?', '#']).map_or(text.len(), |at| from + at);
    let from = text[from..end].rfind('@').map_or(from, |at| from + at + 1);
    let mut hosts = text[from..end].split(',');
    let first = hosts.next().unwrap_or_default();
    let others: Vec<&str> = hosts.collect();
    // What is cut may be a secret.
    if others.is_empty() || is_cut(text) {
        return (text.to_owned(), Vec::new());
    }
    (format!("{}{first}{}", &text[..from], &text[end..]), others)
}

/// The hosts beside that of `url`, each as `host` or `host:port`.
fn beside(url: &Url, others: &[&str]) -> Result<Vec<String>, String> {
    if !(others.is_empty() || url.scheme().starts_with("s3+") || url.scheme() == "rados") {
        return Err("only s3 and rados take several hosts".to_owned());
    }
    others.iter().map(|other| host_beside(url, other)).collect()
}

fn host_beside(url: &Url, other: &str) -> Result<String, String> {
    let other = Url::parse(&format!("{}://{other}", url.scheme())).map_err(|cause| {
        if cause == url::ParseError::InvalidPort { NO_PORT.to_owned() } else { cause.to_string() }
    })?;
    let Some(host) = other.host_str().filter(|host| !host.is_empty()) else {
        return Err("nothing stands beside a comma".to_owned());
    };
    // A port behind the last host may be meant for all; monitors of Ceph are found without one.
    if url.scheme() != "rados" && other.port().is_some() != url.port().is_some() {
        return Err("several hosts have a port each, or none".to_owned());
    }
    Ok(format!("{}{}", decode(host), other.port().map(|port| format!(":{port}")).unwrap_or_default()))
}

/// A part of the address that nobody reads was meant for something: another directory, another store.
fn nothing_is_passed_over(kind: &str, url: &Url) -> Result<(), String> {
    if let Some(host) = url.host_str().filter(|host| kind == "file" && !host.is_empty()) {
        return Err(format!("write three slashes before a directory: file:///{host}{}", url.path()));
    }
    let known: &[&str] = match kind {
        "swift" => &["container"],
        "rados" => return if url.fragment().is_some() { Err(ESCAPES.to_owned()) } else { Ok(()) },
        _ => &[],
    };
    let strange = url.query_pairs().find(|(key, _)| !known.contains(&key.as_ref()));
    if url.fragment().is_none() && strange.is_none() {
        return Ok(());
    }
    let may = if known.is_empty() { "nothing".to_owned() } else { format!("only {}=", known.join("=, ")) };
    Err(format!("{may} may follow ?, and nothing may follow #; {ESCAPES}"))
}

impl Store {
    fn parse(text: &str, insecure: bool) -> Result<Self, String> {
        let bad = |why: &str| format!("{}: {why}; see `cosmark quick --help`", without_login(text));
        let (first, others) = hosts_apart(text);
        let url = Url::parse(&first).map_err(|cause| {
            if is_cut(text) {
                bad(ESCAPES)
            } else if cause == url::ParseError::InvalidPort {
                bad(NO_PORT)
            } else if text.contains("://") {
                bad(&cause.to_string())
            } else {
                bad(&with_a_scheme(text))
            }
        })?;
        let (kind, transport) = url.scheme().split_once('+').unwrap_or((url.scheme(), ""));
        nothing_is_passed_over(kind, &url).map_err(|why| bad(&why))?;
        // No bucket has an @ in its name: what stands before it is a login whose secret looked like the end of a port.
        if kind == "s3" && is_cut(text) {
            return Err(bad(ESCAPES));
        }
        let others = beside(&url, &others).map_err(|why| bad(&why))?;
        let login = Login::of(&url);
        let mut store = Self { secrets: vec![login.password.clone()], ..Self::default() };
        if kind == "file" {
            store.storage = vec![("type", "file".into()), ("directory", decode(url.path()))];
            return Ok(store);
        }
        if kind == "rados" && transport.is_empty() {
            store.storage = rados(&url, &others, login).map_err(bad)?;
            return Ok(store);
        }
        if !matches!(transport, "http" | "https") {
            return Err(bad(&with_a_scheme(text)));
        }
        let host = url.host_str().filter(|host| !host.is_empty()).ok_or_else(|| bad("no host"))?;
        let port = url.port().map(|port| format!(":{port}")).unwrap_or_default();
        let base = format!("{transport}://{host}{port}");
        match kind {
            "s3" => {
                let others = others.iter().map(|other| format!("{transport}://{other}"));
                let endpoints: Vec<String> = std::iter::once(base).chain(others).collect();
                store.set_s3(&url, endpoints.join(","), login).map_err(bad)?;
            }
            "swift" => store.set_swift(&url, &base, login),
            "dav" | "webdav" => store.set_webdav(&format!("{base}{}", url.path()), login),
            other => return Err(bad(&format!("`{other}` is not s3, swift, dav, rados or file"))),
        }
        if insecure {
            store.storage.push(("insecure", "true".into()));
            // Of a service elsewhere that makes keys nobody has said so.
            if store.auth.iter().any(|(key, _)| *key == "auth_url") {
                store.auth.push(("insecure", "true".into()));
            }
        }
        Ok(store)
    }

    fn set_s3(&mut self, url: &Url, endpoint: String, login: Login) -> Result<(), &'static str> {
        // A session token belongs to its keys: with those of the address it would be refused, and given away.
        let is_secret_of_environment = login.password.is_empty();
        let Login { user: key, password: secret } =
            login.or_env("AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY");
        self.storage =
            vec![("type", "s3".into()), ("endpoint", endpoint), ("path_style_access", "true".into())];
        if let Some(region) = variable("AWS_REGION").or_else(|| variable("AWS_DEFAULT_REGION")) {
            self.storage.push(("region", region));
        }
        if key.is_empty() && is_secret_of_environment && has_amazons_login() {
            self.auth = vec![("type", "aws".into())];
        } else if key.is_empty() {
            let is_sure = url.port().is_none() || url.host_str().is_some_and(is_surely_a_host);
            return Err(if is_sure || !url.username().is_empty() { NO_KEY } else { NO_KEY_BUT_A_PORT });
        } else {
            self.secrets.push(secret.clone());
            self.storage.extend([("accesskey", key), ("secretkey", secret)]);
            if let Some(token) = variable("AWS_SESSION_TOKEN").filter(|_| is_secret_of_environment) {
                self.secrets.push(token.clone());
                self.storage.push(("session_token", token));
            }
        }
        let bucket = decode(url.path().trim_matches('/'));
        if bucket.contains('/') {
            return Err("only a bucket may follow the host, without a prefix");
        }
        self.container = (!bucket.is_empty()).then_some(bucket);
        Ok(())
    }

    fn set_swift(&mut self, url: &Url, base: &str, login: Login) {
        let Login { user, password: key } = login.or_env("ST_USER", "ST_KEY");
        self.secrets.push(key.clone());
        let path = if url.path().len() > 1 { url.path() } else { "/auth/v1.0" };
        self.auth = vec![
            ("type", "swauth".into()),
            ("auth_url", format!("{base}{path}")),
            ("username", user),
            ("password", key),
        ];
        self.storage = vec![("type", "swift".into())];
        self.container =
            url.query_pairs().find(|(key, _)| key == "container").map(|(_, value)| value.into_owned());
    }

    fn set_webdav(&mut self, endpoint: &str, login: Login) {
        if !login.user.is_empty() {
            self.auth = vec![
                ("type", "httpauth".into()),
                ("auth_url", endpoint.to_owned()),
                ("username", login.user),
                ("password", login.password),
            ];
        }
        self.storage = vec![("type", "webdav".into()), ("endpoint", endpoint.to_owned())];
    }

    fn hide(&self, text: &str) -> String {
        let secrets = self.secrets.iter().filter(|secret| !secret.is_empty());
        secrets.fold(text.to_owned(), |text, secret| text.replace(&quoted(secret), "\"***\""))
    }
}

/// `rados://USER:KEY@MON:PORT/POOL?keyring=FILE&conf=FILE`: a namespace of its own in that pool; `others` are monitors beside
/// the first.
fn rados(url: &Url, others: &[String], login: Login) -> Result<Vec<(&'static str, String)>, &'static str> {
    let Login { user, password: key } = login;
    let pool = decode(url.path().trim_matches('/'));
    if pool.is_empty() {
        return Err("no pool: write rados://USER@MON:PORT/POOL?keyring=FILE");
    }
    let mut storage = vec![("type", "librados".into()), ("pool", pool)];
    if let Some(host) = url.host_str().filter(|host| !host.is_empty()) {
        let port = url.port().map(|port| format!(":{port}")).unwrap_or_default();
        let first = format!("{}{port}", decode(host));
        let monitors: Vec<&str> =
            std::iter::once(first.as_str()).chain(others.iter().map(String::as_str)).collect();
        storage.push(("endpoint", monitors.join(",")));
    }
    storage
        .extend([("accesskey", user), ("secretkey", key)].into_iter().filter(|(_, text)| !text.is_empty()));
    for (key, value) in url.query_pairs() {
        match key.as_ref() {
            "keyring" => storage.push(("keyring", value.into_owned())),
            "conf" => storage.push(("conf", value.into_owned())),
            _ => return Err("only keyring=FILE and conf=FILE may follow ?"),
        }
    }
    Ok(storage)
}

fn quoted(text: &str) -> String {
    let mut out = String::from("\"");
    for c in text.chars() {
        match c {
            '"' => out.push_str("\\\""),
            '\\' => out.push_str("\\\\"),
            c if c.is_control() => {
                let _ = write!(out, "\\u{:04x}", u32::from(c));
            }
            c => out.push(c),
        }
    }
    out.push('"');
    out
}

fn element(name: &str, keys: &[(&str, String)]) -> String {
    if keys.is_empty() {
        return String::new();
    }
    let pairs: Vec<String> = keys.iter().map(|(key, value)| format!("{key}: {}", quoted(value))).collect();
    format!("{name}: {{{}}}\n", pairs.join(", "))
}

fn workload(args: &QuickArgs, store: &Store) -> Result<String, String> {
    let mix = parse_mix(&args.mix)?;
    let setup_workers = workers(args).min(16);
    let mut text = String::from("name: quick\n");
    text += &element("auth", &store.auth);
    text += &element("storage", &store.storage);
    let run = std::process::id();
    // A container of the user's own is neither created nor deleted; the names of objects tell them apart from his.
    let (container, object_prefix) = match &store.container {
        Some(name) => (format!("container_name: {}", quoted(name)), format!("cosmark-quick-{run:08x}-")),
        None => (format!("container_prefix: cosmark-quick-{run:08x}-"), "object-".to_owned()),
    };
    let _ = writeln!(
        text,
        "defaults: {{containers: \"r(1,1)\", {container}, object_prefix: {object_prefix}, sizes: {}}}",
        quoted(&args.size)
    );
    text += "stages:\n";
    if store.container.is_none() {
        text += "  - {name: init, works: [{type: init, workers: 1}]}\n";
    }
    let objects = args.objects;
    let _ = writeln!(
        text,
        "  - {{name: prepare, works: [{{type: prepare, workers: {setup_workers}, objects: \"r(1,{objects})\"}}]}}"
    );
    text += &main_stage(args, &mix);
    let last = objects * 2;
    let _ = writeln!(
        text,
        "  - {{name: cleanup, works: [{{type: cleanup, workers: {setup_workers}, objects: \"r(1,{last})\"}}]}}"
    );
    if store.container.is_none() {
        text += "  - {name: dispose, works: [{type: dispose, workers: 1}]}\n";
    }
    Ok(text)
}

/// Length of a trial and workers of a search, where nothing else is said.
const TRIAL: &str = "10s";
const MOST_WORKERS: u32 = 512;
/// Times of successes alone say nothing about a store that refuses what is too much for it.
const FAILURES: &str = "error_rate <= 1 %";

fn workers(args: &QuickArgs) -> u32 {
    args.workers.unwrap_or(if args.search.is_empty() { 16 } else { MOST_WORKERS })
}

/// The thresholds and the search of the main stage; empty without `--search`.
fn search(args: &QuickArgs) -> String {
    if args.search.is_empty() {
        return String::new();
    }
    let (from, to) = match args.over.as_str() {
        "workers" => ("1".to_owned(), workers(args).to_string()),
        _ => ("50/s".to_owned(), "1000000/s".to_owned()),
    };
    let about_failures = |one: &String| {
        Threshold::parse(one).is_ok_and(|threshold| threshold.metric.statistic == Statistic::Failures)
    };
    let failures = (!args.search.iter().any(about_failures)).then_some(FAILURES);
    let thresholds: Vec<String> =
        args.search.iter().map(String::as_str).chain(failures).map(quoted).collect();
    format!(
        "    thresholds: [{}]\n    search: {{over: {}, from: {}, to: {}}}\n",
        thresholds.join(", "),
        args.over,
        quoted(args.from.as_deref().unwrap_or(&from)),
        quoted(args.to.as_deref().unwrap_or(&to))
    )
}

/// Shorter runs have a point each second, or their charts and what is judged over time would have a few.
const SHORT: Duration = Duration::from_secs(60);

/// Objects 1..n are prepared and read; n+1..2n are written and deleted, so that no read can miss.
fn main_stage(args: &QuickArgs, mix: &[(String, f64)]) -> String {
    let objects = args.objects;
    let mut text = String::from("  - name: main\n");
    text += &search(args);
    text += "    works:\n      - name: main\n";
    let usual = if args.search.is_empty() { args.max.as_str() } else { TRIAL };
    let runtime = args.runtime.as_deref().unwrap_or(usual);
    // A plain number is seconds on a command line; a workload wants the unit.
    let unit = if has_no_unit(runtime) { "s" } else { "" };
    let _ = writeln!(
        text,
        "        workers: {}\n        rampup: 2s\n        runtime: {}",
        workers(args),
        quoted(&format!("{runtime}{unit}"))
    );
    let is_short = args.runtime.is_some() && parse_duration(runtime).is_ok_and(|time| time < SHORT);
    if is_short && args.search.is_empty() {
        text += "        interval: 1s\n";
    }
    if !args.search.is_empty() && args.over == "rate" {
        text += "        rate: {shape: poisson, rate: 1/s}\n";
    }
    if let Some(rate) = &args.rate {
        let _ = writeln!(text, "        rate: {}", quoted(rate));
    }
    text += "        operations:\n";
    for (kind, weight) in mix {
        let range = match kind.as_str() {
            "write" | "delete" => format!("u({},{})", objects + 1, objects * 2),
            _ => format!("u(1,{objects})"),
        };
        let extra = match kind.as_str() {
            "list" => String::new(),
            "read" if args.verify => format!(", objects: \"{range}\", verify: true"),
            _ => format!(", objects: \"{range}\""),
        };
        let _ = writeln!(text, "          - {{type: {kind}, ratio: {weight}{extra}}}");
    }
    text
}

fn parse_mix(text: &str) -> Result<Vec<(String, f64)>, String> {
    const KINDS: [&str; 5] = ["read", "write", "delete", "list", "head"];
    let wrong = |part: &str| format!("--mix {part}: write e.g. read=80,write=20 with {}", KINDS.join(", "));
    text.split(',')
        .map(|part| {
            let (kind, weight) = part.trim().split_once('=').unwrap_or((part.trim(), "100"));
            let weight =
                weight.trim().parse::<f64>().ok().filter(|weight| *weight > 0.0 && weight.is_finite());
            match weight {
                Some(weight) if KINDS.contains(&kind.trim()) => Ok((kind.trim().to_owned(), weight)),
                _ => Err(wrong(part)),
            }
        })
        .collect()
}

#[cfg(test)]
mod tests;
