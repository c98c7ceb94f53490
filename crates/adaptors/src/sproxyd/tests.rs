//! sproxyd against scripted servers.

use std::collections::BTreeMap;
use std::sync::Mutex;

use cosmark_adaptor_api::BytesSource;

use super::*;
use crate::scripted::{Script, Scripted, closed_port_url, serve_with};

const NAME: ObjectName<'static> = ObjectName { container: "c", object: "a/b" };

fn opened(entries: &[(&str, &str)]) -> Arc<dyn Adaptor> {
    let (settings, problems) = Settings::parse(KEYS, entries.iter().copied());
    assert!(problems.is_empty(), "{problems:?}");
    open(&settings).unwrap()
}

#[test]
fn hosts_are_names_addresses_or_urls() {
    let cases = [
        ("ring1", "http://ring1:81"),
        ("10.0.0.1:8181", "http://10.0.0.1:8181"),
        ("https://ring1:443", "https://ring1:443"),
        ("::1", "http://[::1]:81"),
        ("[::1]:82", "http://[::1]:82"),
    ];
    for (host, url) in cases {
        assert_eq!(url_of(host, 81), url);
    }
}

/// A connector that keeps what it is given, by path; text only.
fn keeper() -> Scripted {
    let kept: Mutex<BTreeMap<String, String>> = Mutex::default();
    serve_with(move |request| {
        let (method, rest) = request.split_once(' ').unwrap();
        let path = rest.split(' ').next().unwrap().to_owned();
        let mut kept = kept.lock().unwrap();
        match (method, kept.get(&path)) {
            ("PUT", _) => {
                kept.insert(path, request.split_once("\r\n\r\n").unwrap().1.to_owned());
                Script::status("200 OK", "", "")
            }
            ("GET", Some(text)) => Script::status("200 OK", "", text),
            ("HEAD", Some(text)) => Script::head("200 OK", text.len() as u64),
            ("DELETE", Some(_)) => {
                kept.remove(&path);
                Script::status("200 OK", "", "")
            }
            ("HEAD", None) => Script::head("404 Not Found", 0),
            _ => Script::status("404 Not Found", "x-scal-ring-status: RING_NOT_FOUND\r\n", ""),
        }
    })
}

#[tokio::test(flavor = "current_thread")]
async fn objects_are_written_read_and_deleted_by_path() {
    let server = keeper();
    let adaptor = opened(&[("hosts", &server.url("")), ("base_path", "/proxy/arc/")]);
    let mut client = adaptor.client(&Arc::default()).unwrap();
    client.probe(&mut Marks::default()).await.unwrap();
    client.put(NAME, &BytesSource(b"hello"), PutOptions::default(), &mut Marks::default()).await.unwrap();
    assert_eq!(client.head(NAME, &mut Marks::default()).await.unwrap(), Some(5));
    assert_eq!(client.get(NAME, None, None, &mut Marks::default()).await.unwrap().bytes, 5);
    client.delete(NAME, &mut Marks::default()).await.unwrap();
    let error = client.get(NAME, None, None, &mut Marks::default()).await.unwrap_err();
    assert_eq!(error.status(), Some(404));
    assert!(error.message().ends_with("status 404: RING_NOT_FOUND"), "{error}");
    assert!(server.requests()[1].starts_with("PUT /proxy/arc/c/a%2Fb HTTP/1.1"), "{}", server.requests()[1]);
}

#[tokio::test(flavor = "current_thread")]
async fn hosts_are_used_in_turn_and_one_that_is_gone_is_left_out_and_nothing_is_sent_twice() {
    let (one, two) = (keeper(), keeper());
    let hosts = [one.url(""), closed_port_url(""), two.url("")].join(",");
    let mut client = opened(&[("hosts", &hosts)]).client(&Arc::default()).unwrap();
    let mut failures = 0;
    for _ in 0..9 {
        let put = client.put(NAME, &BytesSource(b"x"), PutOptions::default(), &mut Marks::default()).await;
        if let Err(error) = put {
            assert_eq!(error.kind(), ErrorKind::Connect);
            failures += 1;
        }
    }
    assert_eq!(failures, 1, "it is left out after the first failure");
    assert_eq!((one.requests().len(), two.requests().len()), (4, 4));
}

#[tokio::test(flavor = "current_thread")]
async fn when_all_hosts_are_gone_the_error_says_so_at_once() {
    let mut client = opened(&[("hosts", &closed_port_url(""))]).client(&Arc::default()).unwrap();
    for _ in 0..2 {
        assert_eq!(client.probe(&mut Marks::default()).await.unwrap_err().kind(), ErrorKind::Connect);
    }
}
