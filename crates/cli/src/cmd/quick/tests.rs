//! Addresses and mixes of `quick`, right and wrong ones.

use super::*;

#[test]
fn urls_are_taken_apart() {
    let store = Store::parse("s3+http://k%2F1:s%40x@127.0.0.1:9000/b7", false).unwrap();
    assert!(
        store.storage.contains(&("accesskey", "k/1".into()))
            && store.storage.contains(&("secretkey", "s@x".into()))
    );
    assert_eq!(store.container.as_deref(), Some("b7"));
    let wrong = Store::parse("s3+http://key:wJalrXU/bPx@127.0.0.1:9000/b", false).err().unwrap();
    assert!(wrong.contains("written %2F") && !wrong.contains("bPx"), "{wrong}");
    let store = Store::parse("swift+https://test%3Atester:testing@h/auth/v1.0", true).unwrap();
    assert!(
        store.auth.contains(&("username", "test:tester".into()))
            && store.auth.contains(&("insecure", "true".into()))
    );
}

#[test]
fn several_gateways_of_one_store_are_separated_by_commas() {
    for (text, endpoint) in [
        ("s3+http://k:s@a:9000,b:9001/bucket", "http://a:9000,http://b:9001"),
        ("s3+https://k:s@a,b,c", "https://a,https://b,https://c"),
        ("s3+http://k:s%2C,x@[::1]:9000,10.0.0.2:9000", "http://[::1]:9000,http://10.0.0.2:9000"),
        ("rados://u:k@mon.a:3300,mon.b:6789/pool", "mon.a:3300,mon.b:6789"),
        ("rados://u:k@mon.a,mon.b/pool", "mon.a,mon.b"),
    ] {
        let store = Store::parse(text, false).unwrap_or_else(|why| panic!("{text}: {why}"));
        assert!(store.storage.contains(&("endpoint", endpoint.to_owned())), "{text}: {:?}", store.storage);
    }
    let of_url = target_of_url("s3+http://k:s@a:9000,b:9000", false).ok().map(|of_url| of_url.host);
    assert_eq!(of_url.as_deref(), Some("a:9000,b:9000"));
    for (text, said) in [
        ("s3+http://k:geheim@a:9000,b", "have a port each, or none"),
        ("s3+http://k:geheim@a,b:9000", "have a port each, or none"),
        ("s3+http://k:geheim@a:9000,b:90x0", "is no port"),
        ("s3+http://k:geheim@a,", "beside a comma"),
        ("swift+http://a:geheim@h:8080,i:8080/auth/v1.0", "only s3 and rados take several hosts"),
        ("dav+http://a:geheim@h,i/path", "only s3 and rados take several hosts"),
        ("s3+http://k:gehe,im/x@a:9000", "written %2F"),
    ] {
        let wrong = Store::parse(text, false).err().unwrap_or_else(|| panic!("{text} is taken"));
        assert!(wrong.contains(said) && !wrong.contains("gehe"), "{text}: {wrong}");
    }
}

#[test]
fn a_ceph_pool_is_named_by_its_monitor_and_a_keyring() {
    let has =
        |store: &Store, key: &'static str, value: &str| store.storage.contains(&(key, value.to_owned()));
    let store = Store::parse("rados://bench@mon.a:3300/data?keyring=/etc/ceph/k", false).unwrap();
    assert!(
        has(&store, "type", "librados") && has(&store, "pool", "data") && has(&store, "accesskey", "bench")
    );
    assert!(has(&store, "endpoint", "mon.a:3300") && has(&store, "keyring", "/etc/ceph/k"));
    assert!(store.container.is_none());
    let store = Store::parse("rados:///data?conf=c.conf", false).unwrap();
    assert!(has(&store, "conf", "c.conf") && !store.storage.iter().any(|(key, _)| *key == "endpoint"));
    for bad in ["rados://bench@mon", "rados://bench@mon/p?keyrign=k"] {
        assert!(Store::parse(bad, false).is_err(), "{bad}");
    }
}

#[test]
fn a_url_without_protocol_or_transport_is_answered_by_what_is_missing() {
    for (text, said) in [
        ("s3://key:geheim@host", "s3+https:// or s3+http://"),
        ("https://key:geheim@host", "s3+https://, swift+https://"),
        ("host:9000", "begin with s3+http://"),
        ("127.0.0.1", "begin with s3+http://"),
        ("target.yaml", "--target FILE"),
    ] {
        let wrong = Store::parse(text, false).err().unwrap();
        assert!(wrong.contains(said) && !wrong.contains("geheim"), "{text}: {wrong}");
    }
}

#[test]
fn no_part_of_an_address_is_passed_over() {
    for (text, said) in [
        ("file://mnt/nfs/a", "three slashes before a directory: file:///mnt/nfs/a"),
        ("file:///mnt/nfs#1", "written %2F, a ? %3F, a # %23"),
        ("s3+http://k:geheim@host/bucket/prefix", "only a bucket may follow"),
        ("s3+http://k:geheim@host/bucket?region=x", "nothing may follow ?"),
        ("s3+http://k:12#geheim@host/bucket", "a # %23"),
        ("s3+http://k:12?geheim@host/bucket", "a ? %3F"),
        ("s3+http://k:ab#geheim@host/bucket", "a # %23"),
        ("swift+http://a:geheim@host/auth/v1.0?contaner=x", "only container= may follow ?"),
        ("dav+http://a:geheim@host/path#x", "nothing may follow #"),
        ("rados://u:geheim@mon/pool#x", "a # %23"),
    ] {
        let wrong = Store::parse(text, false).err().unwrap_or_else(|| panic!("{text} is taken"));
        assert!(wrong.contains(said) && !wrong.contains("geheim"), "{text}: {wrong}");
    }
    for text in [
        "file:///mnt/nfs",
        "file://localhost/mnt/nfs",
        "s3+http://k:s%23@host/bucket/",
        "swift+http://a:k@host/auth/v1.0?container=x",
        "rados://u:k@mon/pool?conf=/etc/ceph/ceph.conf",
    ] {
        assert_eq!(Store::parse(text, false).err(), None, "{text}");
    }
}

#[test]
fn a_bad_url_is_refused_without_showing_its_password() {
    for text in
        ["ftp://u:hunter2@h", "rados://u:hunter2@h", "s3+http://u:hunter2@", "s3+gopher://u:hunter2@h"]
    {
        let error = Store::parse(text, false).err().unwrap();
        assert!(!error.contains("hunter2"), "{error}");
    }
    // Without the protocol, or without the host.
    for (text, said) in [
        ("k:hunter2@h:9000", "***@h:9000: begin with s3+http://"),
        ("k:hunter2@[::1]:9000", "***@[::1]:9000: begin with s3+http://"),
        ("k:hunter2@s3+http://h", "***@s3+http://h: begin with s3+http://"),
        ("k:hunter2", "***: begin with s3+http://"),
        ("s3+http://k:hunter2", "s3+http://***: what stands behind : is no port"),
        ("s3+http://k:hunter2/bucket", "s3+http://***: what stands behind : is no port"),
        ("[::1]:9000", "[::1]:9000: begin with s3+http://"),
        (
            "swift+http://a:k@h/auth/v1.0?token=hunter2",
            "swift+http://***@h/auth/v1.0?token=***: only container=",
        ),
    ] {
        let error = Store::parse(text, false).err().unwrap();
        assert!(error.starts_with(said) && !error.contains("hunter2"), "{text}: {error}");
    }
    // A secret of digits alone looks like a port, of a / in it what follows looks like a bucket.
    for (text, said) in [
        ("s3+http://k:77001/bucket/x", "s3+http://***: what stands behind : is no port"),
        ("s3+http://k:7700/bucket/x", "s3+http://k:***/bucket/x: "),
        ("s3+http://k:7700/hunter2@h:9000", "s3+http://***@h:9000: a / in a key or secret is written %2F"),
        (
            "s3+http://k:7700/hunter2@h:9000/b",
            "s3+http://***@h:9000/b: a / in a key or secret is written %2F",
        ),
    ] {
        let error = Store::parse(text, false).err().unwrap();
        assert!(error.starts_with(said) && !error.contains("7700") && !error.contains("hunter2"), "{error}");
    }
    // How others write such an address is answered with how it is written here.
    for text in ["s3://k:hunter2@h/b", "http://k:hunter2@h:9000/b", "h:9000"] {
        let error = Store::parse(text, false).err().unwrap();
        assert!(error.contains("s3+https://") && !error.contains("hunter2"), "{text}: {error}");
    }
}

#[test]
fn a_mix_with_an_unknown_operation_or_weight_is_refused() {
    assert_eq!(
        parse_mix("read=80, write=20").unwrap(),
        [("read".to_owned(), 80.0), ("write".to_owned(), 20.0)]
    );
    for bad in ["reed=1", "read=x", "read=0", ""] {
        assert!(parse_mix(bad).is_err(), "{bad}");
    }
}
