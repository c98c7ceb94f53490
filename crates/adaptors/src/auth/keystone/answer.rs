//! What Keystone answers: token, lifetime, service catalogue, of both API versions.

use std::time::Duration;

use cosmark_adaptor_api::{Secret, Settings};
use jiff::Timestamp;
use serde::Deserialize;

/// A successful login.
pub(super) struct Found {
    pub(super) token: Secret,
    pub(super) lifetime: Option<Duration>,
    pub(super) catalog: Vec<Service>,
}

/// A service of the catalogue, whatever the version.
#[derive(Debug)]
pub(super) struct Service {
    pub(super) name: String,
    pub(super) kind: String,
    pub(super) endpoints: Vec<ServiceEndpoint>,
}

/// One of its URLs.
#[derive(Debug)]
pub(super) struct ServiceEndpoint {
    pub(super) interface: String,
    pub(super) region: String,
    pub(super) url: String,
}

#[derive(Deserialize)]
struct AnswerV3 {
    token: TokenV3,
}

#[derive(Deserialize)]
struct TokenV3 {
    expires_at: Option<String>,
    issued_at: Option<String>,
    #[serde(default)]
    catalog: Vec<ServiceV3>,
}

#[derive(Deserialize)]
struct ServiceV3 {
    #[serde(default)]
    name: String,
    #[serde(rename = "type")]
    kind: String,
    #[serde(default)]
    endpoints: Vec<EndpointV3>,
}

#[derive(Deserialize)]
struct EndpointV3 {
    interface: String,
    region: Option<String>,
    region_id: Option<String>,
    url: String,
}

/// The answer of `POST /v3/auth/tokens`; an error names what is missing.
pub(super) fn read_v3(body: &[u8], subject_token: Option<&str>) -> Result<Found, String> {
    let token = subject_token.ok_or("an X-Subject-Token line")?;
    let answer: AnswerV3 = serde_json::from_slice(body).map_err(|error| format!("a v3 token ({error})"))?;
    let token_part = answer.token;
    let catalog = token_part.catalog.into_iter().map(|service| {
        let endpoints = service.endpoints.into_iter().map(|endpoint| ServiceEndpoint {
            interface: endpoint.interface,
            region: endpoint.region.or(endpoint.region_id).unwrap_or_default(),
            url: endpoint.url,
        });
        Service { name: service.name, kind: service.kind, endpoints: endpoints.collect() }
    });
    Ok(Found {
        token: Secret::new(token),
        lifetime: lifetime(token_part.issued_at.as_deref(), token_part.expires_at.as_deref()),
        catalog: catalog.collect(),
    })
}

#[derive(Deserialize)]
struct AnswerV2 {
    access: AccessV2,
}

#[derive(Deserialize)]
struct AccessV2 {
    token: TokenV2,
    #[serde(default, rename = "serviceCatalog")]
    catalog: Vec<ServiceV2>,
}

#[derive(Deserialize)]
struct TokenV2 {
    id: String,
    expires: Option<String>,
    issued_at: Option<String>,
}

#[derive(Deserialize)]
struct ServiceV2 {
    #[serde(default)]
    name: String,
    #[serde(rename = "type")]
    kind: String,
    #[serde(default)]
    endpoints: Vec<EndpointV2>,
}

#[derive(Deserialize)]
struct EndpointV2 {
    region: Option<String>,
    #[serde(rename = "publicURL")]
    public_url: Option<String>,
    #[serde(rename = "internalURL")]
    internal_url: Option<String>,
    #[serde(rename = "adminURL")]
    admin_url: Option<String>,
}

/// The answer of `POST /v2.0/tokens`; an error names what is missing.
pub(super) fn read_v2(body: &[u8]) -> Result<Found, String> {
    let answer: AnswerV2 = serde_json::from_slice(body).map_err(|error| format!("a v2.0 token ({error})"))?;
    let AccessV2 { token, catalog } = answer.access;
    let catalog = catalog.into_iter().map(|service| {
        let endpoints = service.endpoints.into_iter().flat_map(|endpoint| {
            let region = endpoint.region.unwrap_or_default();
            let urls = [
                ("public", endpoint.public_url),
                ("internal", endpoint.internal_url),
                ("admin", endpoint.admin_url),
            ];
            urls.into_iter().filter_map(move |(interface, url)| {
                Some(ServiceEndpoint { interface: interface.to_owned(), region: region.clone(), url: url? })
            })
        });
        Service { name: service.name, kind: service.kind, endpoints: endpoints.collect() }
    });
    Ok(Found {
        lifetime: lifetime(token.issued_at.as_deref(), token.expires.as_deref()),
        token: Secret::new(token.id),
        catalog: catalog.collect(),
    })
}

/// By the server's own two stamps, so that this machine's clock does not matter.
fn lifetime(issued: Option<&str>, expires: Option<&str>) -> Option<Duration> {
    // v2.0 wrote `issued_at` in UTC without saying so.
    let read =
        |text: &str| -> Option<Timestamp> { text.parse().ok().or_else(|| format!("{text}Z").parse().ok()) };
    let seconds = read(expires?)?.as_second().checked_sub(read(issued?)?.as_second())?;
    u64::try_from(seconds).ok().map(Duration::from_secs)
}

/// Which endpoint of the catalogue is the store's.
pub(super) struct Wanted {
    /// Given by the user.
    service: Option<String>,
    kind: String,
    region: String,
    interface: String,
}

impl Wanted {
    pub(super) fn from(settings: &Settings) -> Self {
        Self {
            service: settings.is_given("service").then(|| settings.text("service")),
            kind: settings.text("service_type"),
            region: settings.text("region"),
            interface: settings.text("interface").to_ascii_lowercase(),
        }
    }

    /// The store's URL; an error says what the catalogue has instead.
    pub(super) fn find(&self, catalog: &[Service]) -> Result<String, String> {
        let mut services: Vec<&Service> = match &self.service {
            Some(name) => catalog.iter().filter(|service| service.name == *name).collect(),
            None => catalog.iter().filter(|service| service.kind == self.kind).collect(),
        };
        services.sort_by_key(|service| service.name != "swift");
        let is_wanted = |endpoint: &&ServiceEndpoint| {
            (self.region.is_empty() || endpoint.region == self.region)
                && endpoint.interface.trim_end_matches("URL") == self.interface
        };
        let found = services.iter().flat_map(|service| &service.endpoints).find(is_wanted);
        found
            .map(|endpoint| endpoint.url.trim_end_matches('/').to_owned())
            .ok_or_else(|| self.missing(catalog))
    }

    fn missing(&self, catalog: &[Service]) -> String {
        let what = match &self.service {
            Some(name) => format!("service named `{name}`"),
            None => format!("service of type `{}`", self.kind),
        };
        let region =
            if self.region.is_empty() { String::new() } else { format!(" in region `{}`", self.region) };
        let has: Vec<String> = catalog.iter().take(30).map(describe).collect();
        let has = if has.is_empty() { "nothing".to_owned() } else { has.join("; ") };
        format!("no {} endpoint of a {what}{region} in the catalogue; it has {has}", self.interface)
    }
}

fn describe(service: &Service) -> String {
    let endpoints: Vec<String> = service
        .endpoints
        .iter()
        .take(12)
        .map(|endpoint| match endpoint.region.as_str() {
            "" => endpoint.interface.clone(),
            region => format!("{} in {region}", endpoint.interface),
        })
        .collect();
    format!("{} `{}` ({})", service.kind, service.name, endpoints.join(", "))
}

/// Keystone's own sentence about an error.
pub(super) fn error_text(body: &[u8]) -> Option<String> {
    #[derive(Deserialize)]
    struct Answer {
        error: Inner,
    }
    #[derive(Deserialize)]
    struct Inner {
        message: String,
    }
    let answer: Answer = serde_json::from_slice(body).ok()?;
    Some(answer.error.message.chars().filter(|character| !character.is_control()).take(300).collect())
}

/// Names of `GET /v3/auth/projects`, at most 20.
pub(super) fn project_names(body: &[u8]) -> Vec<String> {
    #[derive(Deserialize)]
    struct Answer {
        projects: Vec<Project>,
    }
    #[derive(Deserialize)]
    struct Project {
        name: String,
    }
    let answer: Result<Answer, _> = serde_json::from_slice(body);
    answer
        .map(|answer| answer.projects.into_iter().take(20).map(|project| project.name).collect())
        .unwrap_or_default()
}
