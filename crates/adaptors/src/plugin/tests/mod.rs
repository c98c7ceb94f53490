//! The plugin interface with the two examples, and with libraries that break its rules. All are built here with `cc` and
//! `cargo`.

use std::fmt::Write as _;
use std::mem::offset_of;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::Arc;
use std::time::{Duration, Instant};

use cosmark_adaptor_api::conformance::{Ground, Verdict, run_all};
use cosmark_adaptor_api::{BytesSource, CollectSink, Secret};

use super::abi::{RawAdaptor, RawError, RawHost, RawKey, RawRequest, RawResult, RawSession, RawSetting};
use super::*;

fn here(relative: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join(relative)
}

fn cc(directory: &Path, source: &Path, arguments: &[&str]) -> PathBuf {
    let library = directory.join("plugin.so");
    let built = Command::new("cc")
        .args([
            "-std=c99",
            "-D_GNU_SOURCE",
            "-Wall",
            "-Wextra",
            "-Werror",
            "-Wno-unused-function",
            "-shared",
            "-fPIC",
            "-I",
        ])
        .arg(here("include"))
        .args(arguments)
        .arg("-o")
        .args([&library, source])
        .arg("-lpthread")
        .output()
        .unwrap();
    assert!(built.status.success(), "{}", String::from_utf8_lossy(&built.stderr));
    library
}

fn memory(directory: &Path) -> PathBuf {
    cc(directory, &here("../../examples/plugins/c/memory.c"), &[])
}

fn hostile(directory: &Path, arguments: &[&str]) -> PathBuf {
    cc(directory, &here("src/plugin/tests/hostile.c"), arguments)
}

fn store(library: &Path, entries: &[(&str, &str)]) -> Result<Arc<dyn Adaptor>> {
    let row = row_of(library.to_str().unwrap())?;
    let entries = [("path", library.to_str().unwrap())].into_iter().chain(entries.iter().copied());
    let (settings, problems) = Settings::parse(row.keys, entries);
    assert!(problems.is_empty(), "{problems:?}");
    (row.open)(&settings)
}

fn client(library: &Path) -> Box<dyn Client> {
    store(library, &[]).unwrap().client(&Arc::default()).unwrap()
}

async fn get(client: &mut dyn Client, object: &str, marks: &mut Marks) -> Result<Vec<u8>> {
    let mut sink = CollectSink::new(usize::MAX);
    client.get(ObjectName { container: "c", object }, None, Some(&mut sink), marks).await?;
    Ok(sink.bytes)
}

async fn conform(library: &Path) {
    let adaptor = store(library, &[]).unwrap();
    let ground = Ground { container: "conformance".into(), part_size_bytes: 1 << 20 };
    let results = run_all(adaptor.as_ref(), &Arc::default(), &ground).await;
    assert!(results.iter().filter(|row| row.1 == Verdict::Passed).count() >= 9, "{results:?}");
    for (case, verdict) in results {
        assert!(!matches!(verdict, Verdict::Failed(_)), "{case}: {verdict:?}");
    }
}

#[tokio::test(flavor = "current_thread")]
async fn the_example_in_c_passes_the_conformance_suite() {
    let directory = tempfile::tempdir().unwrap();
    conform(&memory(directory.path())).await;
}

#[tokio::test(flavor = "current_thread")]
async fn the_example_in_rust_passes_the_conformance_suite() {
    let directory = tempfile::tempdir().unwrap();
    let built = Command::new(env!("CARGO"))
        .args(["build", "--quiet", "--offline", "--manifest-path"])
        .arg(here("../../examples/plugins/rust/Cargo.toml"))
        .arg("--target-dir")
        .arg(directory.path())
        .env_remove("CARGO_BUILD_TARGET")
        .output()
        .unwrap();
    assert!(built.status.success(), "{}", String::from_utf8_lossy(&built.stderr));
    conform(&directory.path().join("debug/libcosmark_plugin_threads.so")).await;
}

#[test]
fn the_keys_of_a_plugin_are_checked_like_any_other_and_its_secrets_are_hidden() {
    let directory = tempfile::tempdir().unwrap();
    let library = memory(directory.path());
    let row = row_of(library.to_str().unwrap()).unwrap();
    assert_eq!(
        (row.name, row.capability.has(Capability::HEAD), row.capability.has(Capability::LIST)),
        ("memory", true, false)
    );
    let (settings, problems) =
        Settings::parse(row.keys, [("passphrase", "hunter2"), ("delay", "soon"), ("pasphrase", "x")]);
    assert_eq!(problems.len(), 2, "{problems:?}");
    assert!(problems[0].fatal && problems[1].hint.as_deref() == Some("did you mean `passphrase`?"));
    assert!(!format!("{settings:?}").contains("hunter2"));
    assert!(declares_secret("passphrase") && !declares_secret("delay"));
}

#[test]
fn a_library_that_is_no_plugin_of_this_version_is_refused_in_one_sentence() {
    let directory = tempfile::tempdir().unwrap();
    let cases: &[(&[&str], &str)] = &[
        (&["-DNUMBER=2"], "was built for plugin interface 2, this Cosmark speaks 1"),
        (&["-DHOSTILE=1"], "the key `path` is there twice, or is one of Cosmark's own"),
        (&["-DHOSTILE=2"], "key `odd` has kind 99"),
        (&["-DHOSTILE=3"], "the name of key 0 is no text in UTF-8"),
        (&["-DHOSTILE=4"], "its `size` is less than sizeof(cosmark_adaptor)"),
        (&["-DHOSTILE=5"], "a table of 4000000000 keys"),
        (&["-DHOSTILE=6"], "its name is no text in UTF-8"),
        (&["-DHOSTILE=7"], "the function `start` is null"),
        (&["-DHOSTILE=8"], "exports no `cosmark_adaptor_abi`"),
        (&["-DHOSTILE=9"], "cosmark_adaptor_entry gave none"),
    ];
    for (at, (arguments, expected)) in cases.iter().enumerate() {
        let own = directory.path().join(at.to_string());
        std::fs::create_dir(&own).unwrap();
        let library = hostile(&own, arguments);
        let error = row_of(library.to_str().unwrap()).err().unwrap();
        assert!(error.message().contains(expected) && error.hint().is_some(), "{arguments:?}: {error}");
        assert_eq!(error.kind(), ErrorKind::Config);
    }
    let text = directory.path().join("text.so");
    std::fs::write(&text, "not a library").unwrap();
    for path in [text.to_str().unwrap(), "/no/such/library.so", ""] {
        assert_eq!(row_of(path).err().unwrap().kind(), ErrorKind::Config, "{path}");
    }
}

#[tokio::test(flavor = "current_thread")]
async fn a_plugin_that_breaks_the_rules_fails_the_operation_and_the_next_one_works() {
    let directory = tempfile::tempdir().unwrap();
    let library = hostile(directory.path(), &[]);
    let mut client = client(&library);
    let cases = [
        ("no-result", ErrorKind::Protocol, "complete() got no result"),
        ("small-result", ErrorKind::Protocol, "the `size` of a result is too small"),
        ("no-bytes", ErrorKind::Protocol, "no bytes to data()"),
        ("no-name", ErrorKind::Protocol, "name() got no name"),
        ("odd-kind", ErrorKind::Protocol, "the plugin gave no reason"),
        ("busy", ErrorKind::Status(503), "too many"),
    ];
    for (object, kind, text) in cases {
        let error = get(client.as_mut(), object, &mut Marks::default()).await.unwrap_err();
        assert!(error.kind() == kind && error.message().contains(text), "{object}: {error:?}");
        let mut marks = Marks::default();
        assert_eq!(get(client.as_mut(), "honest", &mut marks).await.unwrap(), b"abc");
        assert_eq!((marks.requests, marks.retries, marks.connections), (3, 1, 1));
        assert_eq!((marks.connect_ns, marks.body_bytes, marks.status), (5000, 3, 200));
    }
}

#[tokio::test(flavor = "current_thread")]
async fn an_operation_that_never_ends_is_given_up_and_the_worker_goes_on() {
    let directory = tempfile::tempdir().unwrap();
    let library = hostile(directory.path(), &[]);
    let mut client = client(&library);
    for object in ["never", "later"] {
        let patience = Duration::from_millis(20);
        let ended = tokio::time::timeout(patience, get(client.as_mut(), object, &mut Marks::default())).await;
        assert!(ended.is_err(), "{object}");
        assert_eq!(get(client.as_mut(), "honest", &mut Marks::default()).await.unwrap(), b"abc");
    }
    let whole = get(client.as_mut(), "later", &mut Marks::default()).await.unwrap();
    assert_eq!(whole.len(), 20 << 20, "the plugin waits while nobody takes the bytes, and none is lost");
}

#[test]
fn a_call_that_blocks_for_ever_does_not_hold_the_load_thread() {
    let directory = tempfile::tempdir().unwrap();
    let library = hostile(directory.path(), &["-DBLOCKS"]);
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    let begun = Instant::now();
    runtime.block_on(async {
        let mut client = client(&library);
        let patience = Duration::from_millis(20);
        let ended = tokio::time::timeout(patience, get(client.as_mut(), "hang", &mut Marks::default())).await;
        assert!(ended.is_err());
        assert_eq!(get(client.as_mut(), "honest", &mut Marks::default()).await.unwrap(), b"abc");
    });
    runtime.shutdown_background();
    assert!(begun.elapsed() < Duration::from_secs(15), "the call takes 20 s, and nobody waited for it");
}

#[test]
fn what_open_says_is_told_and_cut_at_its_bounds() {
    let directory = tempfile::tempdir().unwrap();
    let library = hostile(directory.path(), &[]);
    let error = store(&library, &[("refuse", "yes")]).err().unwrap();
    assert_eq!((error.kind(), error.message().len()), (ErrorKind::Denied, 512));
    assert_eq!(error.hint(), Some("ask for a key"));
}

#[tokio::test(flavor = "current_thread")]
async fn a_body_larger_than_its_bound_is_refused_before_memory_is_asked_for() {
    let directory = tempfile::tempdir().unwrap();
    let library = memory(directory.path());
    let adaptor = store(&library, &[("max_body", "1KiB")]).unwrap();
    let session = Session { token: Some(Secret::new("t")), ..Session::default() };
    let mut client = adaptor.client(&Arc::new(session)).unwrap();
    let name = ObjectName { container: "c", object: "o" };
    let body = [7_u8; 1025];
    let error = client.put(name, &BytesSource(&body), PutOptions::default(), &mut Marks::default()).await;
    assert!(error.unwrap_err().hint().unwrap().contains("max_body"));
    let fits = client.put(name, &BytesSource(&body[1..]), PutOptions::default(), &mut Marks::default()).await;
    assert_eq!(fits.unwrap().bytes, 1024);
}

/// The header and `abi.rs` say the same, by the word of a C compiler.
#[test]
fn the_header_and_its_declaration_in_rust_agree() {
    let mut program = String::from("#include \"cosmark_adaptor.h\"\n#include <stddef.h>\n");
    macro_rules! agree {
        ($c:literal, $rust:ty, $($field:ident),+) => {
            let size = size_of::<$rust>();
            writeln!(program, "_Static_assert(sizeof({}) == {size}, \"{}\");", $c, $c).unwrap();
            $(
                let (field, at) = (stringify!($field), offset_of!($rust, $field));
                writeln!(program, "_Static_assert(offsetof({}, {field}) == {at}, \"{field}\");", $c).unwrap();
            )+
        };
    }
    agree!("cosmark_key", RawKey, name, help, default_value, kind, secret);
    agree!("cosmark_setting", RawSetting, name, value);
    agree!(
        "cosmark_request",
        RawRequest,
        size,
        op,
        container,
        object,
        range_first,
        range_last,
        has_range,
        page_size,
        prefix,
        after,
        body,
        body_len,
        want_data,
        reserved
    );
    agree!("cosmark_result", RawResult, size, error, status, accepted_only, bytes, code, message, hint, next);
    agree!("cosmark_host", RawHost, size, abi, first_byte, data, name, request, connected, complete);
    agree!("cosmark_error", RawError, kind, message, hint);
    agree!(
        "cosmark_session",
        RawSession,
        size,
        reserved,
        token,
        storage_url,
        access_key,
        secret_key,
        session_token,
        username,
        password
    );
    agree!(
        "cosmark_adaptor",
        RawAdaptor,
        size,
        flags,
        capability,
        key_count,
        keys,
        name,
        summary,
        open,
        close,
        connect,
        disconnect,
        start,
        cancel
    );
    let constants = [
        ("COSMARK_ADAPTOR_ABI", abi::ABI),
        ("COSMARK_BLOCKING", abi::BLOCKING),
        ("COSMARK_CAN_STORE", abi::can::STORE),
        ("COSMARK_CAN_CONTAINERS", abi::can::CONTAINERS),
        ("COSMARK_CAN_HEAD", abi::can::HEAD),
        ("COSMARK_CAN_LIST", abi::can::LIST),
        ("COSMARK_CAN_RANGE", abi::can::RANGE),
        ("COSMARK_DELETE_MISSING_FAILS", abi::can::DELETE_MISSING_FAILS),
        ("COSMARK_OP_PROBE", Op::Probe as u32),
        ("COSMARK_OP_GET", Op::Get as u32),
        ("COSMARK_OP_PUT", Op::Put as u32),
        ("COSMARK_OP_DELETE", Op::Delete as u32),
        ("COSMARK_OP_HEAD", Op::Head as u32),
        ("COSMARK_OP_LIST", Op::List as u32),
        ("COSMARK_OP_CREATE_CONTAINER", Op::CreateContainer as u32),
        ("COSMARK_OP_DELETE_CONTAINER", Op::DeleteContainer as u32),
    ];
    for (name, value) in constants {
        writeln!(program, "_Static_assert({name} == {value}, \"{name}\");").unwrap();
    }
    let kinds = [
        ("COSMARK_STATUS", ErrorKind::Status(7)),
        ("COSMARK_TIMEOUT", ErrorKind::Timeout),
        ("COSMARK_CONNECT", ErrorKind::Connect),
        ("COSMARK_RESET", ErrorKind::Reset),
        ("COSMARK_TLS", ErrorKind::Tls),
        ("COSMARK_SHORT_BODY", ErrorKind::ShortBody),
        ("COSMARK_CORRUPT_BODY", ErrorKind::CorruptBody),
        ("COSMARK_PROTOCOL", ErrorKind::Protocol),
        ("COSMARK_UNSUPPORTED", ErrorKind::Unsupported),
        ("COSMARK_CONFIG", ErrorKind::Config),
        ("COSMARK_LOCAL_IO", ErrorKind::LocalIo),
        ("COSMARK_ABORTED", ErrorKind::Aborted),
        ("COSMARK_DENIED", ErrorKind::Denied),
    ];
    for (name, kind) in kinds {
        let number = (1..14).find(|number| handle::kind_of(*number, 7) == kind).unwrap();
        writeln!(program, "_Static_assert({name} == {number}, \"{name}\");").unwrap();
    }
    let directory = tempfile::tempdir().unwrap();
    let source = directory.path().join("agree.c");
    std::fs::write(&source, program).unwrap();
    let checked = Command::new("cc")
        .args(["-std=c11", "-fsyntax-only", "-I"])
        .arg(here("include"))
        .arg(&source)
        .output()
        .unwrap();
    assert!(checked.status.success(), "{}", String::from_utf8_lossy(&checked.stderr));
}
