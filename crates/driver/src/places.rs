//! Where a target would send what it has: the addresses that its auth and its storage name, by whatever key. A secret that is kept
//! for some addresses goes to no other.

use cosmark_adaptor_api::KeyKind;
use cosmark_workload::model::{ConfigValue, TargetSpec};

use crate::catalog::Catalog;

/// What a target may send something to.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Place {
    /// A host.
    Host(Address),
    /// The usual address of a storage or auth type, of which the target names none.
    Usual(String),
    /// What the value of this key means is not certain.
    Unclear(String),
}

/// A host, as far as it is said.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Address {
    /// `http`, `https`, ..; `None` = not said.
    pub scheme: Option<String>,
    /// Name or address, in small letters.
    pub host: String,
    /// `None` = not said.
    pub port: Option<u16>,
}

/// Keys that name a host begin, end or go on so.
const ADDRESS_WORDS: [&str; 6] = ["url", "host", "endpoint", "proxy", "server", "address"];
/// The one secret that says where it is sent: Azure's account, key and address in one text.
const CONNECTION_STRING: &str = "connection_string";
/// Keys from which a type may make its usual host.
const PARTS_OF_HOSTS: [&str; 3] = ["region", "account", "domain_suffix"];

impl Address {
    /// Reads `scheme://host:port/..`, `host:port` or `host`; `None` for anything that two readers could understand differently.
    #[must_use]
    pub fn parse(text: &str) -> Option<Self> {
        let (scheme, rest) = match text.split_once("://") {
            Some((scheme, rest)) => (Some(scheme.to_ascii_lowercase()), rest),
            None => (None, text),
        };
        if scheme
            .as_ref()
            .is_some_and(|scheme| !scheme.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'+'))
        {
            return None;
        }
        let authority = rest.split(['/', '?', '#']).next().unwrap_or_default();
        let plain = |byte: u8| {
            byte.is_ascii_alphanumeric() || matches!(byte, b'.' | b'-' | b'_' | b':' | b'[' | b']')
        };
        if authority.is_empty() || !authority.bytes().all(plain) {
            return None;
        }
        let (host, port) = if let Some(inner) = authority.strip_prefix('[') {
            let (host, rest) = inner.split_once(']')?;
            (host, if rest.is_empty() { None } else { Some(rest.strip_prefix(':')?) })
        } else {
            match authority.split_once(':') {
                Some((host, port)) => (host, Some(port)),
                None => (authority, None),
            }
        };
        let port = match port {
            Some(port) => Some(port.parse::<u16>().ok()?),
            None => None,
        };
        let host = host.trim_end_matches('.').to_ascii_lowercase();
        (!host.is_empty()).then_some(Self { scheme, host, port })
    }

    fn usual_port(&self) -> Option<u16> {
        match self.scheme.as_deref() {
            Some("http") => Some(80),
            Some("https") => Some(443),
            _ => None,
        }
    }

    /// True when what is kept for this address may go to that one: a host alone stands for all its ports, a URL for what it says.
    #[must_use]
    pub fn covers(&self, place: &Self) -> bool {
        if self.host != place.host {
            return false;
        }
        if self.scheme.is_some() && self.scheme != place.scheme {
            return false;
        }
        match self.port.or(self.usual_port()) {
            Some(port) => place.port.or(place.usual_port()) == Some(port),
            None => true,
        }
    }
}

/// Everything that a target names. `hidden` are keys whose values came from secrets: an address is none.
#[must_use]
pub fn places_of(
    catalog: &Catalog,
    auth: &TargetSpec,
    storage: &TargetSpec,
    hidden: &[String],
) -> Vec<Place> {
    let mut places = Vec::new();
    for spec in [auth, storage] {
        for entry in &spec.config.entries {
            let key = entry.key.trim();
            let ConfigValue::Text(text) = &entry.value else { continue };
            let row = catalog.keys_of(&spec.kind).find(|row| row.answers_to(key));
            let name = row.map_or(key, |row| row.name).to_ascii_lowercase();
            let kind = row.map(|row| row.kind);
            let names_a_host = kind == Some(KeyKind::Url)
                || matches!(kind, None | Some(KeyKind::Text | KeyKind::Host | KeyKind::List))
                    && ADDRESS_WORDS.iter().any(|word| name.contains(word));
            let is_secret = row.is_some_and(|row| row.secret);
            if is_secret && name == CONNECTION_STRING {
                places.extend(host_of_connection_string(key, text));
                continue;
            }
            if is_secret || name == "source_address" || !(names_a_host || text.contains("://")) {
                let odd = |c: char| !c.is_ascii_alphanumeric() && !matches!(c, '.' | '-' | '_');
                if PARTS_OF_HOSTS.iter().any(|part| name.contains(part)) && !is_secret && text.contains(odd) {
                    places.push(Place::Unclear(key.to_owned()));
                }
                continue;
            }
            if hidden.iter().any(|hidden| hidden == key) {
                places.push(Place::Unclear(key.to_owned()));
                continue;
            }
            places.extend(hosts_in(key, text));
        }
    }
    if !places.iter().any(|place| matches!(place, Place::Host(_))) {
        places.extend(usual_places(catalog, [auth, storage]));
    }
    places
}

fn hosts_in(key: &str, text: &str) -> Vec<Place> {
    let parts = text.split([',', ';', '|']).flat_map(str::split_whitespace);
    parts
        .map(|part| Address::parse(part).map_or_else(|| Place::Unclear(key.to_owned()), Place::Host))
        .collect()
}

/// Where a connection string leads, put together as the adaptor does it, whoever wrote it: beside a secret of another key it may
/// name a host of anybody's. `None` for the usual host of an account, and where it names no account.
fn host_of_connection_string(key: &str, text: &str) -> Option<Place> {
    let (mut account, mut endpoint) = ("", String::new());
    let (mut scheme, mut suffix) = ("https", "core.windows.net");
    for entry in text.split(';').map(str::trim).filter(|entry| !entry.is_empty()) {
        // The adaptor refuses it.
        let Some((name, value)) = entry.split_once('=') else { return Some(Place::Unclear(key.to_owned())) };
        match name.to_ascii_lowercase().as_str() {
            "accountname" => account = value,
            "blobendpoint" => value.clone_into(&mut endpoint),
            "defaultendpointsprotocol" => scheme = value,
            "endpointsuffix" => suffix = value,
            _ => {}
        }
    }
    if endpoint.is_empty() {
        let is_plain = account.bytes().all(|byte| byte.is_ascii_lowercase() || byte.is_ascii_digit());
        if account.is_empty() || is_plain && scheme == "https" && suffix == "core.windows.net" {
            return None;
        }
        endpoint = format!("{scheme}://{account}.blob.{suffix}");
    }
    Some(Address::parse(&endpoint).map_or_else(|| Place::Unclear(key.to_owned()), Place::Host))
}

/// Where types go of which the target says nothing: the defaults of their keys, or whatever they make of their other keys.
fn usual_places(catalog: &Catalog, specs: [&TargetSpec; 2]) -> Vec<Place> {
    let mut places = Vec::new();
    for spec in specs.into_iter().filter(|spec| spec.kind != "none") {
        let defaults =
            catalog.keys_of(&spec.kind).filter(|row| row.kind == KeyKind::Url || row.name == "endpoint");
        let hosts: Vec<Place> = defaults
            .filter_map(|row| Some((row.name, row.default?)))
            .flat_map(|(key, text)| hosts_in(key, text))
            .collect();
        match hosts.as_slice() {
            [] => places.push(Place::Usual(spec.kind.to_ascii_lowercase())),
            _ => places.extend(hosts),
        }
    }
    places
}

/// The first place to which something that is kept for `bound` must not go, in words; `None` = it may go to all.
#[must_use]
pub fn first_foreign(bound: &[String], places: &[Place]) -> Option<String> {
    let addresses: Vec<Address> = bound.iter().filter_map(|text| Address::parse(text)).collect();
    let is_foreign = |place: &&Place| match place {
        Place::Host(host) => !addresses.iter().any(|address| address.covers(host)),
        Place::Usual(kind) => !bound.iter().any(|text| text.eq_ignore_ascii_case(kind)),
        Place::Unclear(_) => true,
    };
    places.iter().find(is_foreign).map(|place| match place {
        Place::Host(Address { scheme, host, port }) => {
            let scheme = scheme.as_ref().map(|scheme| format!("{scheme}://")).unwrap_or_default();
            format!("{scheme}{host}{}", port.map(|port| format!(":{port}")).unwrap_or_default())
        }
        Place::Usual(kind) => format!("the usual address of {kind} (store it for `{kind}` if that is meant)"),
        Place::Unclear(key) => {
            format!("an address that is not plainly one (`{key}`: write scheme://host:port)")
        }
    })
}

#[cfg(test)]
mod tests {
    use cosmark_workload::model::{Config, ConfigEntry};

    use super::*;
    use crate::catalog::tests::STORES;

    fn spec(kind: &str, entries: &[(&str, &str)]) -> TargetSpec {
        let entries = entries.iter().map(|(key, value)| ConfigEntry {
            key: (*key).to_owned(),
            value: ConfigValue::Text((*value).to_owned()),
            span: cosmark_workload::Span::default(),
        });
        TargetSpec {
            kind: kind.to_owned(),
            config: Config { entries: entries.collect() },
            span: cosmark_workload::Span::default(),
        }
    }

    #[test]
    fn a_connection_string_names_the_host_that_it_leads_to_whatever_stands_beside_it() {
        let decoy = ("note", "https://acct.blob.core.windows.net");
        for (text, host) in [
            ("BlobEndpoint=https://evil.test/;SharedAccessSignature=x", Some("https://evil.test")),
            ("AccountName=acct;AccountKey=a=;EndpointSuffix=evil.test", Some("https://acct.blob.evil.test")),
            ("AccountName=evil.test/", Some("https://evil.test")),
            ("defaultendpointsprotocol=http;accountname=acct", Some("http://acct.blob.core.windows.net")),
            ("AccountName=acct;BlobEndpoint=http://u@evil.test", None),
            ("AccountName", None),
        ] {
            for kind in ["azure", "AzBlob"] {
                let storage = spec(kind, &[decoy, ("Connection_String", text), ("sas", "sv=1")]);
                let places = places_of(&STORES, &spec("none", &[]), &storage, &["sas".to_owned()]);
                assert_eq!(places.len(), 2, "{places:?}");
                let expected = host
                    .and_then(Address::parse)
                    .map_or(Place::Unclear("Connection_String".to_owned()), Place::Host);
                assert!(places.contains(&expected), "{text}: {places:?}");
                assert!(first_foreign(&[decoy.1.to_owned()], &places).is_some(), "{text}");
            }
        }
        for text in ["AccountName=acct;AccountKey=a=", "SharedAccessSignature=sv=1", ""] {
            let storage = spec("azure", &[(CONNECTION_STRING, text)]);
            let places = places_of(&STORES, &spec("none", &[]), &storage, &[CONNECTION_STRING.to_owned()]);
            assert_eq!(places, [Place::Usual("azure".to_owned())], "{text}");
        }
    }

    fn may_go(bound: &str, to: &str) -> bool {
        let place = Address::parse(to).map_or_else(|| Place::Unclear("endpoint".into()), Place::Host);
        first_foreign(&[bound.to_owned()], &[place]).is_none()
    }

    #[test]
    fn what_is_kept_for_an_address_goes_to_no_other() {
        for (bound, to, may) in [
            ("http://prod:9000", "http://prod:9000/bucket", true),
            ("http://prod:9000", "http://PROD.:9000", true),
            ("prod", "https://prod:8443/x", true),
            ("https://prod", "https://prod:443", true),
            ("https://[::1]:8080", "https://[::1]:8080/", true),
            ("https://prod", "http://prod", false),
            ("https://prod", "https://prod:8443", false),
            ("http://prod:9000", "http://prod:9001", false),
            ("http://prod:9000", "prod:9000", false),
            ("prod", "http://prod.evil.test", false),
            ("prod", "http://evil.test/prod", false),
            ("prod", "http://prod@evil.test", false),
            ("prod", "http://evil.test\\@prod", false),
            ("prod", "http://evil.test#@prod", false),
            ("prod", "http://prod:80@evil.test", false),
            ("prod", "http://{prod,evil.test}", false),
            ("prod", "http:///prod", false),
            ("prod", "", false),
            ("*", "http://prod", false),
        ] {
            assert_eq!(may_go(bound, to), may, "{bound} to {to}");
        }
    }
}
