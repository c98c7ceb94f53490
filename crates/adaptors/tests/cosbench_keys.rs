//! COSBench's keys and defaults, as its 0.4.2 has them: a workload that was written for it means the same here.
//! (`logging` is on by default there; here it has no effect.)

use cosmark_adaptor_api::{AdaptorDef, Key, KeyKind, Settings};
use cosmark_adaptors::{ADAPTORS, NOT_BUILT, auth, cdmi, gcs, mock, none, sproxyd, swift};

/// Table, the key as COSBench spells it, its default there (empty: none).
const EXPECTED: &[(&str, &[Key], &str, &str)] = &[
    ("none", none::DEF.keys, "logging", "false"),
    ("mock", mock::DEF.keys, "size", "1000"),
    ("mock", mock::DEF.keys, "delay", "10"),
    ("mock", mock::DEF.keys, "errors", "0"),
    ("mock", mock::DEF.keys, "printing", "false"),
    ("mock", mock::DEF.keys, "doStats", "false"),
    ("swift", swift::DEF.keys, "timeout", "30000"),
    ("swift", swift::DEF.keys, "token", "AUTH_xxx"),
    ("swift", swift::DEF.keys, "storage_url", "http://127.0.0.1:8080/auth/v1.0"),
    ("swift", swift::DEF.keys, "policy", ""),
    ("cdmi", cdmi::DEF.keys, "type", "cdmi"),
    ("cdmi", cdmi::DEF.keys, "root_path", ""),
    ("cdmi", cdmi::DEF.keys, "timeout", "30000"),
    ("cdmi", cdmi::DEF.keys, "custom_headers", ""),
    ("cdmi", cdmi::DEF.keys, "raise_delete_errors", "false"),
    ("cdmi", cdmi::DEF.keys, "storage_url", ""),
    ("sproxyd", sproxyd::DEF.keys, "hosts", "127.0.0.1"),
    ("sproxyd", sproxyd::DEF.keys, "port", "81"),
    ("sproxyd", sproxyd::DEF.keys, "base_path", "/proxy/chord"),
    ("sproxyd", sproxyd::DEF.keys, "pool_size", "60,10"),
    ("sproxyd", sproxyd::DEF.keys, "timeout", "30000"),
    ("gcs", gcs::DEF.keys, "projectid", ""),
    ("gcs", gcs::DEF.keys, "jsonkeyfile", ""),
    ("gcs", gcs::DEF.keys, "timeout", "30000"),
    ("mock auth", auth::mock::DEF.keys, "token", "token"),
    ("mock auth", auth::mock::DEF.keys, "delay", "10"),
    ("swauth", auth::swauth::DEF.keys, "auth_url", "http://127.0.0.1:8080/auth/v1.0"),
    ("swauth", auth::swauth::DEF.keys, "url", "http://127.0.0.1:8080/auth/v1.0"),
    ("swauth", auth::swauth::DEF.keys, "username", ""),
    ("swauth", auth::swauth::DEF.keys, "password", ""),
    ("swauth", auth::swauth::DEF.keys, "timeout", "30000"),
    ("httpauth", auth::httpauth::DEF.keys, "auth_url", "http://127.0.0.1:80"),
    ("httpauth", auth::httpauth::DEF.keys, "username", ""),
    ("httpauth", auth::httpauth::DEF.keys, "password", ""),
    ("httpauth", auth::httpauth::DEF.keys, "timeout", "30000"),
    ("keystone", auth::keystone::DEF.keys, "auth_url", "http://127.0.0.1:5000/v2.0"),
    ("keystone", auth::keystone::DEF.keys, "url", "http://127.0.0.1:5000/v2.0"),
    ("keystone", auth::keystone::DEF.keys, "tenant_name", ""),
    ("keystone", auth::keystone::DEF.keys, "tenname", ""),
    ("keystone", auth::keystone::DEF.keys, "tenant_id", ""),
    ("keystone", auth::keystone::DEF.keys, "usertoken", ""),
    ("keystone", auth::keystone::DEF.keys, "service", "swift"),
    ("keystone", auth::keystone::DEF.keys, "region", ""),
    ("keystone", auth::keystone::DEF.keys, "timeout", "10000"),
];

#[test]
fn every_key_of_cosbench_is_known_with_its_default() {
    for (table, keys, name, default) in EXPECTED {
        let key = keys.iter().find(|key| key.name == *name || key.aliases.contains(name));
        let key = key.unwrap_or_else(|| panic!("{table} has no `{name}`"));
        if key.kind == KeyKind::Duration {
            let (settings, _) = Settings::parse(keys, [(*name, *default)]);
            let of_cosbench = settings.duration(key.name);
            let (settings, _) = Settings::parse(keys, []);
            assert_eq!(settings.duration(key.name), of_cosbench, "{table}: {name}");
            assert!(of_cosbench.is_some(), "{table}: {name}");
            continue;
        }
        assert_eq!(key.default.unwrap_or_default(), *default, "{table}: {name}");
    }
    let auths =
        [auth::none::DEF, auth::mock::DEF, auth::swauth::DEF, auth::httpauth::DEF, auth::keystone::DEF];
    for def in auths {
        for (name, default) in [("logging", "false"), ("caching", "false"), ("retry", "0")] {
            let key = def.keys.iter().find(|key| key.name == name).expect(name);
            assert_eq!(key.default, Some(default), "{}", def.name);
        }
    }
}

/// Every storage of 0.4.2, of its build c4 and of the forks, by the name in their workloads, and what speaks it here.
const STORAGES: &[(&str, &str)] = &[
    ("none", "none"),
    ("mock", "mock"),
    ("swift", "swift"),
    ("s3", "s3"),
    ("librados", "librados"),
    ("sproxyd", "sproxyd"),
    ("cdmi", "cdmi"),
    ("cdmi_swift", "cdmi"),
    ("gcs", "gcs"),
    ("oss", "s3"),
    ("ecs", "s3"),
    ("openio", "s3"),
    ("s3v2", "s3"),
    ("sio", "s3"),
    ("siov1", "s3"),
    ("obs", "s3"),
    ("ess", "s3"),
    ("essv2", "s3"),
    ("gdas", "s3"),
    ("azureblob", "azure"),
    ("azure-blob-storage", "azure"),
];

/// Keys of S3, Azure and Ceph's library as workloads of 0.4.2 and of the forks write them, and a value that stands there.
const KEYS: &[(&str, &str, &str)] = &[
    ("s3", "accesskey", "AK"),
    ("s3", "secretkey", "SK"),
    ("s3", "endpoint", "http://10.0.0.1:8080"),
    ("s3", "timeout", "30000"),
    ("s3", "path_style_access", "true"),
    ("s3", "proxyhost", "proxy"),
    ("s3", "proxyport", "3128"),
    ("s3", "logging", "false"),
    ("s3", "signer_version", "V4"),
    ("sio", "aws_region", "us-east-1"),
    ("sio", "no_verify_ssl", "true"),
    ("sio", "max_connections", "50"),
    ("sio", "part_size", "5242880"),
    ("sio", "storage_class", "STANDARD"),
    ("sio", "restore_days", "1"),
    ("ecs", "namespace", "n"),
    ("ecs", "read_timeout", "30000"),
    ("ecs", "http_client", "apache"),
    ("ecs", "use_smart_client", "true"),
    ("openio", "proxyd-url", "http://10.0.0.1:6006"),
    ("azure-blob-storage", "accountName", "a"),
    ("azure-blob-storage", "accountKey", "QQ=="),
    ("azure", "storagekey", "QQ=="),
    ("librados", "endpoint", "10.0.0.1"),
    ("librados", "accesskey", "admin"),
    ("librados", "secretkey", "AQ=="),
];

#[test]
fn every_storage_and_key_of_cosbench_and_its_forks_is_known_by_their_name() {
    let find = |name: &str| {
        let is_called =
            |of: &&AdaptorDef| of.name == name || of.aliases.iter().any(|alias| alias.name == name);
        ADAPTORS.iter().find(is_called)
    };
    for (name, speaks) in STORAGES {
        assert_eq!(find(name).map(|def| def.name), Some(*speaks), "{name}");
    }
    // What is not spoken is known all the same, and says what to do instead.
    for name in ["ampli", "manta", "hcp"] {
        assert!(NOT_BUILT.iter().any(|(known, _)| *known == name) && find(name).is_none(), "{name}");
    }
    for (storage, key, value) in KEYS {
        let def = find(storage).unwrap();
        let (_, problems) = Settings::parse(def.keys, [(*key, *value)]);
        assert!(problems.is_empty(), "{storage}: {problems:?}");
    }
    let (_, problems) = Settings::parse(find("sio").unwrap().keys, [("no_such_key", "1")]);
    assert_eq!(problems.len(), 1, "an unknown key is said, or the rest proves nothing");
}

#[test]
fn no_default_breaks_its_own_key_and_no_name_stands_twice() {
    let tables = [
        (none::DEF.name, none::DEF.keys),
        (mock::DEF.name, mock::DEF.keys),
        (swift::DEF.name, swift::DEF.keys),
        (cosmark_adaptors::webdav::DEF.name, cosmark_adaptors::webdav::DEF.keys),
        (cosmark_adaptors::file::DEF.name, cosmark_adaptors::file::DEF.keys),
        (auth::mock::DEF.name, auth::mock::DEF.keys),
        (auth::swauth::DEF.name, auth::swauth::DEF.keys),
        (auth::httpauth::DEF.name, auth::httpauth::DEF.keys),
        (auth::keystone::DEF.name, auth::keystone::DEF.keys),
    ];
    for (table, keys) in tables {
        let defaults = keys.iter().filter_map(|key| Some((key.name, key.default?)));
        let (_, problems) = Settings::parse(keys, defaults);
        assert!(!problems.iter().any(|problem| problem.fatal), "{table}: {problems:?}");
        let mut names: Vec<String> = keys
            .iter()
            .flat_map(|key| std::iter::once(key.name).chain(key.aliases.iter().copied()))
            .map(str::to_ascii_lowercase)
            .collect();
        names.sort();
        let count = names.len();
        names.dedup();
        assert_eq!(names.len(), count, "{table}: {names:?}");
    }
}
