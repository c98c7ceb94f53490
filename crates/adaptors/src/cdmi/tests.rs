//! CDMI against a scripted server that follows the standard.

use data_encoding::BASE64;
use std::collections::BTreeMap;
use std::sync::Mutex as StdMutex;

use cosmark_adaptor_api::conformance::{Ground, Verdict, run_all};
use cosmark_adaptor_api::{HttpCredential, ListRequest, Marks, ObjectName, Secret};

use super::*;
use crate::scripted::{Script, Scripted, serve, serve_with};

const NAME: ObjectName<'static> = ObjectName { container: "c", object: "a/b" };

fn opened(entries: &[(&str, &str)]) -> Result<Arc<dyn Adaptor>> {
    let (settings, problems) = Settings::parse(KEYS, entries.iter().copied());
    assert!(problems.is_empty(), "{problems:?}");
    open(&settings)
}

/// A server as the specification describes it, with containers of one level: content in JSON where it is asked for or given
/// in JSON, else as it is. Plain writes are text only, because the scripted server shows requests as text.
#[derive(Default)]
struct Model {
    /// Container to objects to base64 of their content.
    containers: BTreeMap<String, BTreeMap<String, String>>,
}

fn line<'a>(request: &'a str, name: &str) -> Option<&'a str> {
    request.lines().find_map(|line| line.strip_prefix(name)?.strip_prefix(": "))
}

impl Model {
    fn answer(&mut self, request: &str) -> Script {
        let mut words = request.split(' ');
        let (method, path) = (words.next().unwrap(), words.next().unwrap());
        let path = path.strip_prefix('/').and_then(|rest| rest.strip_prefix("root/")).unwrap();
        match path.split_once('/') {
            None => self.root(method),
            Some((container, "")) => self.container(method, container, request),
            Some((container, object)) => self.object(method, container, object, request),
        }
    }

    fn root(&self, method: &str) -> Script {
        assert_eq!(method, "GET");
        let children: Vec<String> = self.containers.keys().map(|name| format!("{name}/")).collect();
        Script::status("200 OK", "", &serde_json::json!({ "children": children }).to_string())
    }

    fn container(&mut self, method: &str, container: &str, request: &str) -> Script {
        assert_eq!(line(request, "X-CDMI-Specification-Version"), Some("1.0.1"), "{request}");
        match (method, self.containers.get(container)) {
            ("PUT", None) => {
                assert_eq!(line(request, "Content-Type"), Some("application/cdmi-container"));
                self.containers.insert(container.to_owned(), BTreeMap::new());
                Script::status("201 Created", "", "{}")
            }
            ("PUT", Some(_)) => Script::status("409 Conflict", "", ""),
            ("GET", Some(objects)) => {
                let children: Vec<&String> = objects.keys().collect();
                Script::status("200 OK", "", &serde_json::json!({ "children": children }).to_string())
            }
            ("DELETE", Some(_)) => {
                self.containers.remove(container);
                Script::status("204 No Content", "", "")
            }
            _ => Script::status("404 Not Found", "", "no such container"),
        }
    }

    fn object(&mut self, method: &str, container: &str, object: &str, request: &str) -> Script {
        let Some(objects) = self.containers.get_mut(container) else {
            return Script::status("404 Not Found", "", "");
        };
        let is_json = line(request, "X-CDMI-Specification-Version").is_some();
        match (method, objects.get(object)) {
            ("PUT", known) => {
                let status = if known.is_some() { "204 No Content" } else { "201 Created" };
                let body = request.split_once("\r\n\r\n").unwrap().1;
                let value: serde_json::Value = serde_json::from_str(body).unwrap();
                assert_eq!(value["valuetransferencoding"], "base64");
                objects.insert(object.to_owned(), value["value"].as_str().unwrap().to_owned());
                Script::status(status, "", "")
            }
            ("GET", Some(value)) if is_json => {
                let answer =
                    serde_json::json!({ "mimetype": "x", "valuetransferencoding": "base64", "value": value });
                Script::status("200 OK", "", &answer.to_string())
            }
            ("GET", Some(value)) => {
                let content = BASE64.decode(value.as_ref()).unwrap();
                let (first, last) =
                    line(request, "Range").unwrap().strip_prefix("bytes=").unwrap().split_once('-').unwrap();
                let part = &content[first.parse().unwrap()..=last.parse().unwrap()];
                let told = format!("Content-Range: bytes {first}-{last}/{}", content.len());
                let mut answer =
                    format!("HTTP/1.1 206 Partial\r\n{told}\r\nContent-Length: {}\r\n\r\n", part.len())
                        .into_bytes();
                answer.extend_from_slice(part);
                Script::answer(answer)
            }
            ("HEAD", Some(value)) => {
                Script::head("200 OK", BASE64.decode(value.as_ref()).unwrap().len() as u64)
            }
            ("DELETE", Some(_)) => {
                objects.remove(object);
                Script::status("204 No Content", "", "")
            }
            ("HEAD", None) => Script::head("404 Not Found", 0),
            _ => Script::status("404 Not Found", "", ""),
        }
    }
}

fn model_server() -> Scripted {
    let model: StdMutex<Model> = StdMutex::default();
    serve_with(move |request| model.lock().unwrap().answer(request))
}

#[tokio::test(flavor = "current_thread")]
async fn content_in_json_passes_the_suite_against_a_model_of_the_specification() {
    let server = model_server();
    let adaptor = opened(&[("endpoint", &server.url("")), ("root_path", "root")]).unwrap();
    let ground = Ground { container: "conformance".into(), part_size_bytes: 1000 };
    let results = run_all(adaptor.as_ref(), &Arc::default(), &ground).await;
    let failed: Vec<_> =
        results.iter().filter(|(_, verdict)| matches!(verdict, Verdict::Failed(_))).collect();
    assert!(failed.is_empty(), "{failed:#?}");
    let passed = results.iter().filter(|(_, verdict)| *verdict == Verdict::Passed).count();
    assert!(passed >= 14, "{passed}");
}

#[tokio::test(flavor = "current_thread")]
async fn content_as_it_is_goes_without_cdmis_lines() {
    let server = serve(vec![
        Script::status("201 Created", "", ""),
        Script::status("200 OK", "", "hello"),
        Script::status("204 No Content", "", ""),
    ]);
    let mut client = opened(&[("endpoint", &server.url("")), ("type", "non-cdmi")])
        .unwrap()
        .client(&Arc::default())
        .unwrap();
    let body = cosmark_adaptor_api::BytesSource(b"hello");
    client.put(NAME, &body, Default::default(), &mut Marks::default()).await.unwrap();
    assert_eq!(client.get(NAME, None, None, &mut Marks::default()).await.unwrap().bytes, 5);
    client.delete(NAME, &mut Marks::default()).await.unwrap();
    let requests = server.requests();
    assert!(requests[0].starts_with("PUT /c/a%2Fb HTTP/1.1") && requests[0].ends_with("\r\n\r\nhello"));
    assert!(!requests.concat().contains("CDMI"));
}

#[tokio::test(flavor = "current_thread")]
async fn over_swift_the_accounts_url_has_the_root_path_in_place_of_its_version() {
    let server = serve(vec![
        Script::status("201 Created", "", "{}"),
        Script::status("200 OK", "", r#"{"children":["b","a"]}"#),
    ]);
    let alias = DEF.aliases[0];
    let adaptor = opened(alias.implied).unwrap();
    let session = Session {
        token: Some(Secret::new("AUTH_tk1")),
        storage_url: Some(server.url("/v1/AUTH_test")),
        ..Session::default()
    };
    let mut client = adaptor.client(&Arc::new(session)).unwrap();
    client.create_container("c", &mut Marks::default()).await.unwrap();
    let request = ListRequest { container: "c", want_names: true, ..ListRequest::default() };
    assert_eq!(client.list(request, &mut Marks::default()).await.unwrap().names, ["a", "b"]);
    let requests = server.requests();
    assert!(requests[0].starts_with("PUT /cdmi/AUTH_test/c HTTP/1.1"), "{}", requests[0]);
    assert_eq!(line(&requests[0], "X-Auth-Token"), Some("AUTH_tk1"));
}

#[tokio::test(flavor = "current_thread")]
async fn a_login_and_the_users_own_lines_go_with_every_request() {
    let server = serve(vec![Script::status("200 OK", "", "{}")]);
    let entries = [("endpoint", server.url("")), ("custom_headers", "X-Where:storage_url".to_owned())];
    let entries: Vec<(&str, &str)> = entries.iter().map(|(key, value)| (*key, value.as_str())).collect();
    let adaptor = opened(&entries).unwrap();
    let error = adaptor.client(&Arc::default()).err().unwrap();
    assert!(error.message().contains("X-Where"), "{error}");
    let http = HttpCredential::Basic { username: "u".into(), password: Secret::new("p") };
    let session = Session { http: Some(http), storage_url: Some("here".into()), ..Session::default() };
    let mut client = adaptor.client(&Arc::new(session)).unwrap();
    client.probe(&mut Marks::default()).await.unwrap();
    let request = server.requests().remove(0);
    assert_eq!(line(&request, "X-Where"), Some("here"));
    assert_eq!(line(&request, "Authorization"), Some("Basic dTpw"));
}

#[test]
fn what_cannot_work_is_refused_with_a_remedy() {
    for headers in ["X-A", "X-A:password", "X A:token", ":token"] {
        let error = opened(&[("custom_headers", headers)]).err().unwrap();
        assert!(error.kind() == ErrorKind::Config && error.hint().is_some(), "{headers}: {error}");
    }
    let no_url = opened(&[]).unwrap().client(&Arc::default()).err().unwrap();
    assert!(no_url.message().contains("endpoint"), "{no_url}");
}
