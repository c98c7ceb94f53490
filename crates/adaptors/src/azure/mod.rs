//! The `azure` storage: Azure Blob Storage's REST API with block blobs, as the service and its emulators speak it. Source:
//! Microsoft, "Blob Service REST API" (`learn.microsoft.com/rest/api/storageservices/blob-service-rest-api`).
//!
//! A write is one Put Blob. A write in parts puts blocks side by side and then their list; blocks of a write that failed
//! cannot be deleted by the API and are dropped by the service when the blob is written again, or after a week. Deleting a
//! container deletes what is in it, so this storage looks first and leaves a full one alone.

mod client;
mod errors;
mod sign;

use std::sync::Arc;
use std::time::Duration;

use cosmark_adaptor_api::{
    Adaptor, AdaptorDef, Alias, Capability, Client, Error, ErrorKind, Key, KeyKind, Result, Secret, Session,
    SessionPart, Settings,
};

use crate::common_keys::TIMEOUT;
use crate::http::{Endpoint, STORE_KEYS, concat_keys};
use client::AzureClient;
use sign::{Access, SharedKey, checked_sas};

const OWN_KEYS: &[Key] = &[
    Key::new("account", KeyKind::Text, "name of the storage account").alias(&[
        "account_name",
        "accountName",
        "accesskey",
    ]),
    Key::new("account_key", KeyKind::Text, "one of the account's two keys, in base64")
        .alias(&["secretkey", "accountKey", "storagekey"])
        .secret(),
    Key::new("sas", KeyKind::Text, "a shared access signature in place of the key: the query that begins with sv=")
        .alias(&["sas_token"])
        .secret(),
    Key::new(
        "connection_string",
        KeyKind::Text,
        "account, key or SAS and endpoint in one, as the portal shows it; the other keys override it",
    )
    .secret(),
    Key::new(
        "endpoint",
        KeyKind::Url,
        "URL of the account's blob service; without it https://ACCOUNT.blob.core.windows.net. Emulators have the \
         account in the path: http://127.0.0.1:10000/devstoreaccount1",
    )
    .alias(&["url"]),
    Key::new("access_tier", KeyKind::Choice(&["Hot", "Cool", "Cold", "Archive"]), "tier of blobs that are written"),
    Key::new("part_size", KeyKind::Size, "size of blocks where the operation names none").default("8MiB"),
    Key::new("recursive_delete", KeyKind::Bool, "deletes containers without looking whether they are empty")
        .default("false"),
    Key::new("api_version", KeyKind::Text, "version of the REST API to ask for (x-ms-version)").default("2021-12-02"),
    TIMEOUT,
];
const KEYS: &[Key] = &concat_keys::<{ OWN_KEYS.len() + STORE_KEYS.len() }>(OWN_KEYS, STORE_KEYS);

const CAPABILITY: Capability = Capability::of(&[
    Capability::STORE,
    Capability::CONTAINERS,
    Capability::HEAD,
    Capability::LIST,
    Capability::RANGE,
    Capability::MULTIPART,
    Capability::COPY,
    Capability::METADATA,
    Capability::DELETE_MISSING_FAILS,
]);

/// The row of the table of adaptors.
pub const DEF: AdaptorDef = AdaptorDef {
    name: "azure",
    aliases: &[
        Alias { name: "azblob", implied: &[], note: "the same" },
        Alias { name: "azureblob", implied: &[], note: "the same" },
        Alias { name: "azure-blob-storage", implied: &[], note: "the same" },
    ],
    summary: "Azure Blob Storage (block blobs), with account key, SAS or token",
    keys: KEYS,
    capability: CAPABILITY,
    open,
    lacks,
    takes: |_| &[SessionPart::BearerToken],
};

/// What the keys say.
struct Options {
    endpoint: Arc<Endpoint>,
    access: Access,
    access_tier: Option<String>,
    part_bytes: u64,
    recursive_delete: bool,
    api_version: String,
    timeout: Option<Duration>,
}

/// Account, credentials and endpoint, out of the connection string and the keys of their own.
#[derive(Default)]
struct Account {
    name: String,
    key: Secret,
    sas: Secret,
    endpoint: String,
}

impl Account {
    fn read(settings: &Settings) -> Result<Self> {
        let mut account = Self::from_connection_string(settings.secret("connection_string").expose())?;
        for (key, place) in [("account", &mut account.name), ("endpoint", &mut account.endpoint)] {
            if settings.is_given(key) {
                *place = settings.text(key);
            }
        }
        for (key, place) in [("account_key", &mut account.key), ("sas", &mut account.sas)] {
            if settings.is_given(key) {
                *place = settings.secret(key);
            }
        }
        if account.endpoint.is_empty() {
            if account.name.is_empty() {
                return Err(Error::new(ErrorKind::Config, "no such key defined: account")
                    .with_hint("give `account`, or `endpoint` with the whole URL"));
            }
            if !account.name.bytes().all(|byte| byte.is_ascii_lowercase() || byte.is_ascii_digit()) {
                return Err(Error::new(
                    ErrorKind::Config,
                    format!("`{}` is not the name of a storage account", account.name),
                )
                .with_hint("such names have 3 to 24 small letters and digits"));
            }
            account.endpoint = format!("https://{}.blob.core.windows.net", account.name);
        }
        Ok(account)
    }

    /// `Name=value;..`, as in "Configure Azure Storage connection strings".
    fn from_connection_string(text: &str) -> Result<Self> {
        let mut account = Self::default();
        let (mut scheme, mut suffix) = ("https", "core.windows.net");
        for entry in text.split(';').map(str::trim).filter(|entry| !entry.is_empty()) {
            let Some((name, value)) = entry.split_once('=') else {
                return Err(Error::new(ErrorKind::Config, "connection_string has an entry without `=`")
                    .with_hint("it looks like AccountName=..;AccountKey=..;EndpointSuffix=.."));
            };
            match name.to_ascii_lowercase().as_str() {
                "accountname" => value.clone_into(&mut account.name),
                "accountkey" => account.key = Secret::new(value),
                "sharedaccesssignature" => account.sas = Secret::new(value),
                "blobendpoint" => value.clone_into(&mut account.endpoint),
                "defaultendpointsprotocol" => scheme = value,
                "endpointsuffix" => suffix = value,
                // Endpoints of other services.
                _ => {}
            }
        }
        if account.endpoint.is_empty() && !account.name.is_empty() && !text.is_empty() {
            account.endpoint = format!("{scheme}://{}.blob.{suffix}", account.name);
        }
        Ok(account)
    }

    fn access(&self) -> Result<Access> {
        match (self.key.is_empty(), self.sas.is_empty()) {
            (false, false) => Err(Error::new(ErrorKind::Config, "account_key and sas are both given")
                .with_hint("give one of them")),
            (false, true) if self.name.is_empty() => {
                Err(Error::new(ErrorKind::Config, "no such key defined: account")
                    .with_hint("account_key goes with account"))
            }
            (false, true) => Ok(Access::SharedKey(Box::new(SharedKey::new(&self.name, &self.key)?))),
            (true, false) => Ok(Access::Sas(checked_sas(&self.sas)?)),
            (true, true) => Ok(Access::Anonymous),
        }
    }
}

struct Azure {
    options: Arc<Options>,
}

/// Some key has to say which account it is.
fn lacks(settings: &Settings) -> Result<()> {
    if ["account", "endpoint", "connection_string"].iter().any(|key| settings.is_given(key)) {
        return Ok(());
    }
    Err(Error::new(ErrorKind::Config, "no such key defined: account")
        .with_hint("give `account`, `connection_string`, or `endpoint` with the whole URL"))
}

fn open(settings: &Settings) -> Result<Arc<dyn Adaptor>> {
    let account = Account::read(settings)?;
    let api_version = settings.text("api_version");
    if !api_version.bytes().all(|byte| byte.is_ascii_digit() || byte == b'-') {
        return Err(Error::new(ErrorKind::Config, format!("api_version={api_version} is no version"))
            .with_hint("versions are dates such as 2021-12-02"));
    }
    let options = Options {
        endpoint: Endpoint::new(&account.endpoint, settings)?,
        access: account.access()?,
        access_tier: settings.get("access_tier").map(str::to_owned),
        part_bytes: settings.size_bytes("part_size").filter(|size| *size > 0).unwrap_or(8 << 20),
        recursive_delete: settings.flag("recursive_delete"),
        api_version,
        timeout: settings.duration("timeout").filter(|limit| !limit.is_zero()),
    };
    Ok(Arc::new(Azure { options: Arc::new(options) }))
}

impl Adaptor for Azure {
    fn capability(&self) -> Capability {
        CAPABILITY
    }

    fn timeout(&self) -> Option<Duration> {
        self.options.timeout
    }

    fn endpoints(&self) -> Vec<String> {
        self.options.endpoint.spread()
    }

    fn client(&self, session: &Arc<Session>) -> Result<Box<dyn Client>> {
        Ok(Box::new(AzureClient::new(&self.options, session)))
    }
}

#[cfg(test)]
mod tests;
