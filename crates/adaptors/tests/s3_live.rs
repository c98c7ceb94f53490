//! The conformance suite over the S3 adaptor: always against s3s-fs inside this process (it checks signatures and keeps
//! objects as files), and, when asked, against a real server.
//!
//! For a real server set `COSMARK_S3_URL` (such as `http://127.0.0.1:7070`), `COSMARK_S3_ACCESSKEY`,
//! `COSMARK_S3_SECRETKEY`, if needed `COSMARK_S3_SETTINGS` (`region=..;signature=v2;..`), and run with `--ignored`.

#![allow(clippy::unwrap_used, clippy::print_stdout, reason = "a test fails loudly and shows what it saw")]

use std::net::SocketAddr;
use std::sync::Arc;

use cosmark_adaptor_api::conformance::{Ground, Verdict, run_all};
use cosmark_adaptor_api::{Adaptor, ErrorKind, Marks, Result, Session, Settings};
use cosmark_adaptors::s3;
use hyper_util::rt::{TokioExecutor, TokioIo};
use hyper_util::server::conn::auto::Builder;
use s3s::auth::SimpleAuth;
use s3s::service::S3ServiceBuilder;
use s3s_fs::FileSystem;

const ACCESS_KEY: &str = "AKIATESTTESTTESTTEST";
const SECRET_KEY: &str = "c2VjcmV0LXNlY3JldC1zZWNyZXQtc2VjcmV0LTEyMzQ";

fn adaptor(entries: &[(&str, &str)]) -> Result<Arc<dyn Adaptor>> {
    let (settings, problems) = Settings::parse(s3::DEF.keys, entries.iter().copied());
    assert!(problems.is_empty(), "{problems:?}");
    (s3::DEF.open)(&settings)
}

/// Starts the store in a directory; it ends with the runtime.
async fn store(directory: &std::path::Path) -> SocketAddr {
    let files = FileSystem::new(directory).unwrap();
    let mut builder = S3ServiceBuilder::new(files);
    builder.set_auth(SimpleAuth::from_single(ACCESS_KEY, SECRET_KEY));
    let service = builder.build();
    let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap();
    tokio::spawn(async move {
        while let Ok((socket, _)) = listener.accept().await {
            let service = service.clone();
            tokio::spawn(async move {
                drop(
                    Builder::new(TokioExecutor::new()).serve_connection(TokioIo::new(socket), service).await,
                );
            });
        }
    });
    address
}

/// What this store does otherwise than S3: it deletes a bucket with objects in it, and it has no tags.
const STORE_DEVIATES: &[&str] = &["full_container_is_not_deleted", "metadata_changes_and_the_content_stays"];

fn failures(results: Vec<(&'static str, Verdict)>) -> Vec<String> {
    results
        .into_iter()
        .filter_map(|(case, verdict)| match verdict {
            Verdict::Failed(what) => Some(format!("{case}: {what}")),
            Verdict::Passed | Verdict::NotClaimed => None,
        })
        .collect()
}

#[tokio::test]
async fn every_way_of_sending_a_body_passes_the_suite_on_a_store_that_checks_signatures() {
    let directory = tempfile::tempdir().unwrap();
    let endpoint = format!("http://{}", store(directory.path()).await);
    let ways: &[&[(&str, &str)]] = &[
        &[],
        &[("payload", "signed"), ("checksum", "sha256"), ("list_version", "1")],
        &[("payload", "streaming"), ("checksum", "crc32c")],
        &[("payload", "streaming-trailer"), ("checksum", "crc64nvme")],
        &[("signature", "v2")],
    ];
    for (at, way) in ways.iter().enumerate() {
        let keys = [("accesskey", ACCESS_KEY), ("secretkey", SECRET_KEY)];
        // To this store a bucket of one's own is somebody's bucket.
        let base = [&keys[..], &[("endpoint", endpoint.as_str()), ("bucket_exists_ok", "true")]].concat();
        let adaptor = adaptor(&[&base[..], *way].concat()).unwrap();
        let ground = Ground { container: format!("conformance-{at}"), part_size_bytes: 5 << 20 };
        let mut results = run_all(adaptor.as_ref(), &Arc::default(), &ground).await;
        results.retain(|(case, _)| !STORE_DEVIATES.contains(case));
        assert!(results.iter().filter(|(_, verdict)| *verdict == Verdict::Passed).count() >= 15);
        let failed = failures(results);
        assert!(failed.is_empty(), "{way:?}: {failed:#?}");
    }
}

#[tokio::test]
async fn the_probe_tells_a_wrong_key_from_a_wrong_address() {
    let directory = tempfile::tempdir().unwrap();
    let endpoint = format!("http://{}", store(directory.path()).await);
    let probe = async |endpoint: &str, access: &str, secret: &str| {
        let adaptor =
            adaptor(&[("endpoint", endpoint), ("accesskey", access), ("secretkey", secret)]).unwrap();
        let mut client = adaptor.client(&Arc::new(Session::default())).unwrap();
        client.probe(&mut Marks::default()).await
    };
    probe(&endpoint, ACCESS_KEY, SECRET_KEY).await.unwrap();
    let error = probe(&endpoint, ACCESS_KEY, "wrong").await.unwrap_err();
    assert_eq!((error.kind(), error.code()), (ErrorKind::Denied, Some("SignatureDoesNotMatch")));
    assert!(error.hint().is_some_and(|hint| hint.contains("secretkey")), "{error}");
    let error = probe("http://127.0.0.1:9", ACCESS_KEY, SECRET_KEY).await.unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Connect);
}

#[tokio::test]
#[ignore = "needs COSMARK_S3_URL and COSMARK_S3_ACCESSKEY, COSMARK_S3_SECRETKEY of a running server"]
async fn a_real_server_passes_the_suite() {
    let get = |name: &str| std::env::var(name).unwrap_or_default();
    let (url, access, secret) =
        (get("COSMARK_S3_URL"), get("COSMARK_S3_ACCESSKEY"), get("COSMARK_S3_SECRETKEY"));
    let more = get("COSMARK_S3_SETTINGS");
    let mut entries = vec![("endpoint", url.as_str()), ("accesskey", &access), ("secretkey", &secret)];
    entries.extend(more.split(';').filter_map(|entry| entry.split_once('=')));
    let adaptor = adaptor(&entries).unwrap();
    let container = format!("cosmark-conformance-{}", std::process::id());
    let ground = Ground { container, part_size_bytes: 5 << 20 };
    let results = run_all(adaptor.as_ref(), &Arc::default(), &ground).await;
    for (case, verdict) in &results {
        println!("{case}: {verdict:?}");
    }
    let failed = failures(results);
    assert!(failed.is_empty(), "{failed:#?}");
}
