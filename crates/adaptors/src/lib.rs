//! The storage adaptors and auths, one module for each protocol, and the two tables that list them. Adding one is a
//! file and a line here.

pub mod auth;
pub mod azure;
pub mod cdmi;
mod everyones_keys;
pub mod file;
mod forward;
pub mod gcs;
pub mod http;
mod link;
pub mod mock;
mod name_page;
pub mod none;
mod parts;
pub mod plugin;
pub mod rados;
pub mod s3;
#[cfg(test)]
mod scripted;
mod service_account;
pub mod sproxyd;
pub mod swift;
pub mod swift_object;
pub mod webdav;

use cosmark_adaptor_api::{AdaptorDef, AuthDef};

/// Every storage adaptor of this build.
pub const ADAPTORS: &[AdaptorDef] = &[
    none::DEF,
    mock::DEF,
    s3::DEF,
    swift::DEF,
    swift_object::DEF,
    rados::DEF,
    azure::DEF,
    gcs::DEF,
    webdav::DEF,
    file::DEF,
    cdmi::DEF,
    sproxyd::DEF,
    plugin::DEF,
];

/// Every auth of this build.
pub const AUTHS: &[AuthDef] = &[
    auth::none::DEF,
    auth::mock::DEF,
    auth::swauth::DEF,
    auth::httpauth::DEF,
    auth::keystone::DEF,
    auth::google::DEF,
    auth::aws::DEF,
];

/// Names that COSBench or its forks know and this build does not speak, with what to do instead.
pub const NOT_BUILT: &[(&str, &str)] = &[
    ("ampli", "AmpliStor's own protocol is not spoken, and the product is no longer sold"),
    (
        "manta",
        "Joyent Manta speaks a protocol of its own, and its public service has ended; it is not spoken",
    ),
];

#[cfg(test)]
mod tests {
    use super::*;
    use cosmark_adaptor_api::{Alias, Key, KeyKind, Settings};

    fn assert_keys_are_unambiguous(kind: &str, keys: &[Key]) {
        let mut names: Vec<String> = keys
            .iter()
            .flat_map(|key| std::iter::once(key.name).chain(key.aliases.iter().copied()))
            .map(str::to_ascii_lowercase)
            .collect();
        names.sort_unstable();
        let count = names.len();
        names.dedup();
        assert_eq!(names.len(), count, "{kind} has a key or alias twice");
    }

    fn assert_implied_settings_are_valid(alias: &Alias, keys: &'static [Key]) {
        let (_, problems) = Settings::parse(keys, alias.implied.iter().copied());
        assert!(problems.is_empty(), "{}: {problems:?}", alias.name);
    }

    #[test]
    fn every_name_stands_for_one_thing() {
        let adaptors = ADAPTORS
            .iter()
            .flat_map(|def| std::iter::once(def.name).chain(def.aliases.iter().map(|alias| alias.name)));
        let mut names: Vec<&str> = adaptors.chain(NOT_BUILT.iter().map(|row| row.0)).collect();
        names.sort_unstable();
        assert!(names.windows(2).all(|pair| pair[0] != pair[1]), "{names:?}");
    }

    #[test]
    fn every_table_is_consistent() {
        for def in ADAPTORS {
            assert_keys_are_unambiguous(def.name, def.keys);
            def.aliases.iter().for_each(|alias| assert_implied_settings_are_valid(alias, def.keys));
        }
        for def in AUTHS {
            assert_keys_are_unambiguous(def.name, def.keys);
            def.aliases.iter().for_each(|alias| assert_implied_settings_are_valid(alias, def.keys));
        }
        for key in ADAPTORS.iter().flat_map(|def| def.keys).chain(AUTHS.iter().flat_map(|def| def.keys)) {
            let sounds_secret = ["secretkey", "password", "token"].iter().any(|word| key.name.contains(word));
            // Where a secret is kept is none itself.
            let is_place = matches!(key.kind, KeyKind::Path | KeyKind::Url);
            assert!(key.secret || is_place || !sounds_secret, "{} is not marked as secret", key.name);
        }
    }
}
