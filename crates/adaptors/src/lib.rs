//! The storage adaptors and auths, one module for each protocol, and the two tables that list them. Adding one is a
//! file and a line here.

pub mod auth;
pub mod file;
pub mod http;
pub mod mock;
mod name_page;
pub mod none;
pub mod s3;
#[cfg(test)]
mod scripted;
pub mod swift;
pub mod webdav;

use cosmark_adaptor_api::{AdaptorDef, AuthDef};

/// Every storage adaptor of this build.
pub const ADAPTORS: &[AdaptorDef] = &[none::DEF, mock::DEF, s3::DEF, swift::DEF, webdav::DEF, file::DEF];

/// Every auth of this build.
pub const AUTHS: &[AuthDef] =
    &[auth::none::DEF, auth::mock::DEF, auth::swauth::DEF, auth::httpauth::DEF, auth::keystone::DEF];

/// Names that COSBench or its forks know and this build does not speak, with what to do instead.
pub const NOT_BUILT: &[(&str, &str)] = &[
    ("librados", "Ceph's native protocol is not spoken yet; measure the same cluster through its gateway with s3 or swift"),
    ("rados", "Ceph's native protocol is not spoken yet; measure the same cluster through its gateway with s3 or swift"),
    ("gcs", "Google Cloud Storage is not spoken natively yet; its S3-compatible interface works with s3 and HMAC keys"),
    ("azure", "Azure Blob Storage is not spoken yet"),
    ("cdmi", "CDMI is not spoken yet"),
    ("cdmi_swift", "CDMI over Swift is not spoken yet; measure the same store with swift"),
    ("sproxyd", "Scality's sproxyd is not spoken yet; its plain HTTP interface works with webdav and dav=false"),
    ("ampli", "AmpliStor's own protocol is not spoken, and the product is no longer sold"),
    ("manta", "Joyent Manta is not spoken"),
];
