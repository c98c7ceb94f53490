//! What Blob Storage's error answers mean (Microsoft, "Status and error codes", "Blob service error codes"): status, code,
//! a sentence, and a remedy.

use cosmark_adaptor_api::{Error, ErrorKind};

use crate::http::Connection;
use crate::http::request::one_line;
use crate::http::xml_scan;

/// An answer that is no success, as an error. `what` was asked for by `method`.
pub(super) fn failure(connection: &Connection, method: &str, what: &str, status: u16) -> Error {
    let body = connection.body();
    let code = connection.header("x-ms-error-code").map(str::to_owned);
    let code = code.or_else(|| xml_scan::find(body, "Code").map(xml_scan::unescape)).unwrap_or_default();
    let code = one_line(&code);
    let told =
        xml_scan::find(body, "Message").map(|text| one_line(&xml_scan::unescape(text))).unwrap_or_default();
    let mut message = format!("{method} {what}: status {status}");
    for (separator, text) in [(" ", &code), (": ", &told)] {
        if !text.is_empty() {
            message.push_str(separator);
            message.push_str(text);
        }
    }
    let error = Error::new(ErrorKind::Status(status), message);
    let error = if code.is_empty() { error } else { error.with_code(code.as_str()) };
    match hint(status, &code) {
        Some(hint) => error.with_hint(hint),
        None => error,
    }
}

fn hint(status: u16, code: &str) -> Option<&'static str> {
    Some(match code {
        "AuthenticationFailed" => {
            "check account and account_key, or the SAS and its times; a clock that is wrong has the same effect"
        }
        "InvalidAuthenticationInfo" => "the token is wrong, has expired, or is for another service",
        "AccountIsDisabled" => "the storage account is disabled",
        "AuthorizationFailure" => {
            "check account_key or sas; if they are right, the account's firewall or the SAS's addresses keep this machine out"
        }
        "AuthorizationPermissionMismatch" => {
            "the SAS or role does not allow this: it needs read, add, create, write, \
                                              delete and list"
        }
        "AuthorizationProtocolMismatch" => "the SAS is for https only",
        "AuthorizationResourceTypeMismatch" => {
            "the SAS is for other kinds of resources: it needs service, container and \
                                                object"
        }
        "PublicAccessNotPermitted" | "NoAuthenticationInformation" => "give account_key or sas",
        "ContainerNotFound" => "the container is not there: create it with an init stage",
        "BlobNotFound" => "a prepare stage writes it; an earlier delete may have removed it",
        "ContainerBeingDeleted" => {
            "it was deleted just now: Azure takes half a minute or more until the name is free; \
                                    use another cprefix"
        }
        "InvalidResourceName" | "OutOfRangeInput" => {
            "container names have 3 to 63 small letters, digits and single hyphens: check cprefix"
        }
        "ServerBusy" | "OperationTimedOut" => "the account's limits stepped in, or the service is busy",
        "RequestBodyTooLarge" => "larger than one request takes: write it in parts",
        "InvalidBlockList" => "a block is missing: did another writer write the same name at the same time?",
        "InvalidBlobType" => "a blob of another type has this name",
        "InvalidHeaderValue" | "InvalidVersion" => {
            "the service does not know this version: set api_version to one that it \
                                                    knows"
        }
        _ => match status {
            401 | 403 => {
                "check account and account_key, or sas, and that the endpoint is the account's blob service"
            }
            404 => "it is not there",
            500 | 503 => "the service failed or asks for less load",
            _ => return None,
        },
    })
}

/// Codes that say that the key, the signature or the token is wrong, so that every request will fail.
pub(super) fn is_credential_problem(code: &str) -> bool {
    matches!(
        code,
        "AuthenticationFailed"
            | "InvalidAuthenticationInfo"
            | "AccountIsDisabled"
            | "NoAuthenticationInformation"
            | "PublicAccessNotPermitted"
            | "AuthorizationFailure"
            | "AuthorizationProtocolMismatch"
    )
}
