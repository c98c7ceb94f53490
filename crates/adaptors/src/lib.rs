//! The storage adaptors and auths, one module for each protocol, and the two tables that list them. Adding one is a
//! file and a line here.

pub mod auth;
pub mod azure;
pub mod cdmi;
mod common_keys;
pub mod file;
mod forward;
pub mod gcs;
pub mod http;
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
        "hcp",
        "Hitachi's adaptor is HCP's S3 interface with a login of its own, and moves objects into directories; use the \
         storage s3 with path_style_access=true, the user's name in base64 as accesskey and the MD5 of the password in \
         hexadecimal as secretkey",
    ),
    (
        "manta",
        "Joyent Manta speaks a protocol of its own, and its public service has ended; it is not spoken",
    ),
];

#[cfg(test)]
mod tests {
    use super::*;
    use cosmark_adaptor_api::{Alias, Key, KeyKind, Reach, SessionPart, Settings};

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
    fn what_a_login_gives_is_used_by_a_storage_and_what_a_storage_uses_is_given_by_a_login() {
        // Without settings, and as the names of rows imply them.
        let takes = |def: &AdaptorDef| {
            let implied = def.aliases.iter().map(|alias| alias.implied);
            let all = std::iter::once(&[][..]).chain(implied);
            all.flat_map(|implied| (def.takes)(&Settings::parse(def.keys, implied.iter().copied()).0))
                .copied()
                .collect::<Vec<_>>()
        };
        let taken: Vec<_> = ADAPTORS.iter().filter(|def| def.name != "plugin").flat_map(takes).collect();
        let given: Vec<_> = AUTHS.iter().filter_map(|def| def.gives).collect();
        assert!(given.iter().all(|part| taken.contains(part)), "{given:?} {taken:?}");
        assert!(taken.iter().all(|part| given.contains(part)), "{given:?} {taken:?}");
        assert!(SessionPart::ALL.iter().all(|part| given.contains(part)), "{given:?}");
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
            let is_place = key.kind.reach() != Reach::Nothing || key.kind == KeyKind::Url;
            assert!(key.secret || is_place || !sounds_secret, "{} is not marked as secret", key.name);
        }
    }

    /// Keys that are texts and speak of files, paths or the like, and yet reach nothing of the driver's machine.
    const ONLY_SOUND_SO: &[(&str, &str)] = &[
        ("base_path", "a path on the server"),
        ("root_path", "a path on the server"),
        ("profile", "a section of a file that another key names"),
        ("hash_path_prefix", "a word that is hashed"),
        ("hash_path_suffix", "a word that is hashed"),
        ("location", "where the store keeps a bucket"),
    ];

    /// Whether a row's own words speak of something of the machine that its kind does not tell.
    fn smells(key: &Key) -> bool {
        const WORDS: [&str; 12] = [
            "file",
            "path",
            "directory",
            "folder",
            "library",
            "command",
            "script",
            "socket",
            "device",
            "keyring",
            "pem",
            "location",
        ];
        let text = format!("{} {} {}", key.name, key.aliases.join(" "), key.help).to_ascii_lowercase();
        let words: Vec<&str> = text.split(|sign: char| !sign.is_ascii_alphanumeric()).collect();
        let is_word = |word: &&str| WORDS.iter().any(|one| word.trim_end_matches('s') == *one);
        let is_free = matches!(key.kind, KeyKind::Text | KeyKind::List);
        is_free && (words.iter().any(is_word) || key.default.is_some_and(|text| text.starts_with(['/', '~'])))
    }

    #[test]
    fn a_key_that_sounds_like_a_place_on_the_machine_says_what_it_reaches() {
        let rows = || ADAPTORS.iter().flat_map(|def| def.keys).chain(AUTHS.iter().flat_map(|def| def.keys));
        let excused = |key: &&Key| ONLY_SOUND_SO.iter().any(|(name, _)| *name == key.name);
        let silent: Vec<&str> =
            rows().filter(|key| smells(key) && !excused(key)).map(|key| key.name).collect();
        assert!(silent.is_empty(), "give these a kind that says what they reach: {silent:?}");
        for (name, why) in ONLY_SOUND_SO {
            assert!(rows().any(|key| key.name == *name && smells(key)), "{name} needs no excuse ({why})");
        }
        assert!(smells(&Key::new("tool", KeyKind::Text, "the command to run")));
        assert!(smells(&Key::new("ca", KeyKind::List, "certificates").alias(&["ca_files"])));
        assert!(smells(&Key::new("where", KeyKind::Text, "x").default("/etc/x")));
        assert!(!smells(&Key::new("ca", KeyKind::File, "a file with certificates")));
    }
}
