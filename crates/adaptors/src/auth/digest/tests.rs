//! The digests of the RFCs' own examples, and challenges of all sorts.

use super::*;

fn answer(state: &mut DigestState, method: &str, target: &str) -> String {
    let mut out = Vec::new();
    state.authorize(&mut out, method, target);
    String::from_utf8(out).unwrap()
}

/// RFC 7616, section 3.9.1: the same request answered with MD5 and with SHA-256.
#[test]
fn the_examples_of_rfc_7616_come_out() {
    let cases = [
        ("MD5", "8ca523f5e9506fed4657c9700eebdbec"),
        ("SHA-256", "753927fa0e85d155564e2e272a28d1802ca10daf4496794697cf8db5856cb6c1"),
    ];
    for (algorithm, response) in cases {
        let challenge = format!(
            "realm=\"http-auth@example.org\", qop=\"auth, auth-int\", algorithm={algorithm}, \
             nonce=\"7ypf/xlj9XXwfDPEoM4URrv/xwf94BcCAzFZH4GiTo0v\", \
             opaque=\"FQhe/qaU925kfnzjCev0ciny7QMkPqMAFRtzCUYo5tdS\""
        );
        let cnonce = "f2/wE4q74E6zIJEtWaHKaf5wv/H5QzzpXusqGemxURZJ".to_owned();
        let challenge = Challenge::parse(&challenge).unwrap();
        let password = Secret::new("Circle of Life");
        let mut state = DigestState::with_cnonce("Mufasa", &password, challenge, cnonce);
        let header = answer(&mut state, "GET", "/dir/index.html");
        assert!(header.contains(&format!("response=\"{response}\"")), "{header}");
        assert!(header.contains("nc=00000001") && header.contains(", qop=auth,"), "{header}");
        assert!(answer(&mut state, "GET", "/dir/index.html").contains("nc=00000002"));
    }
}

/// RFC 7616, section 3.9.2: SHA-512-256 with a hashed user name. The values are those of
/// erratum 4897: the RFC's own were made with another hash.
#[test]
fn a_hashed_user_name_is_sent_where_the_server_asks_for_it() {
    let challenge = Challenge::parse(
        "realm=\"api@example.org\", qop=\"auth\", algorithm=SHA-512-256, \
         nonce=\"5TsQWLVdgBdmrQ0XsxbDODV+57QdFR34I9HAbC/RVvkK\", \
         opaque=\"HRPCssKJSGjCrkzDg8OhwpzCiGPChXYjwrI2QmXDnsOS\", charset=UTF-8, userhash=true",
    );
    let cnonce = "NTg6RKcb9boFIAS3KrFK9BGeh+iDa/sm6jUMp2wds69v".to_owned();
    let password = Secret::new("Secret, or not?");
    let mut state = DigestState::with_cnonce("J\u{e4}s\u{f8}n Doe", &password, challenge.unwrap(), cnonce);
    let header = answer(&mut state, "GET", "/doe.json");
    assert!(
        header.contains("username=\"793263caabb707a56211940d90411ea4a575adeccb7e360aeb624ed06ece9b0b\""),
        "{header}"
    );
    assert!(
        header.contains("response=\"3798d4131c277846293534c3edc11bd8a5e4cdcbff78b05db9d95eeb1cec68a5\""),
        "{header}"
    );
}

/// RFC 2617, section 3.5, without qop: the answer of RFC 2069 (`MD5(HA1:nonce:HA2)`).
#[test]
fn a_server_without_qop_gets_the_old_answer() {
    let text = "realm=\"testrealm@host.com\",nonce=\"dcd98b7102dd2f0e8b11d0f600bfb0c093\",opaque=\"5ccc\"";
    let challenge = Challenge::parse(text).unwrap();
    let mut state = DigestState::new("Mufasa", &Secret::new("Circle Of Life"), challenge, Arc::default());
    let header = answer(&mut state, "GET", "/dir/index.html");
    assert!(header.contains("response=\"670fd8c2df070c60b045671b8b24ff02\""), "{header}");
    assert!(!header.contains("qop=") && !header.contains("cnonce=") && !header.contains("algorithm="));
    assert!(header.ends_with("opaque=\"5ccc\""));
}

#[test]
fn a_session_algorithm_mixes_nonce_and_cnonce_into_the_secret() {
    let text = "realm=\"r\", nonce=\"n\", qop=auth, algorithm=MD5-sess";
    let challenge = Challenge::parse(text).unwrap();
    let mut state = DigestState::with_cnonce("u", &Secret::new("p"), challenge, "c".into());
    let inner = Algorithm::Md5.hex(&[&Algorithm::Md5.hex(&["u", "r", "p"]), "n", "c"]);
    let outer = Algorithm::Md5.hex(&["PUT", "/x"]);
    let expected = Algorithm::Md5.hex(&[&inner, "n", "00000001", "c", "auth", &outer]);
    assert!(answer(&mut state, "PUT", "/x").contains(&format!("response=\"{expected}\"")));
}

#[test]
fn the_strongest_challenge_that_can_be_answered_is_chosen() {
    let lines = [
        "Basic realm=\"a, b\", Digest realm=\"r\", nonce=\"1\", qop=\"auth\", algorithm=MD5",
        "Digest realm=\"r\", nonce=\"2\", qop=\"auth,auth-int\", algorithm=SHA-256",
        "Negotiate, Digest realm=\"r\", nonce=\"3\", algorithm=SHA-3",
    ];
    let offers = offers(lines.into_iter());
    assert!(offers.basic);
    assert_eq!(
        offers.digest.as_deref(),
        Some("realm=\"r\", nonce=\"2\", qop=\"auth,auth-int\", algorithm=SHA-256")
    );
    assert_eq!(offers.other, ["Negotiate"]);
    assert!(offers.problem.unwrap().contains("SHA-3"));
}

#[test]
fn stale_and_next_nonce_are_understood() {
    let text = "realm=\"r\", nonce=\"old\", qop=\"auth\", stale=TRUE";
    let challenge = Challenge::parse(text).unwrap();
    assert!(challenge.stale);
    let mut state = DigestState::new("u", &Secret::new("p"), challenge, Arc::default());
    answer(&mut state, "GET", "/");
    state.take_next_nonce("qop=auth, rspauth=\"x\", nextnonce=\"new\"");
    let header = answer(&mut state, "GET", "/");
    assert!(header.contains("nonce=\"new\"") && header.contains("nc=00000001"), "{header}");
    state.take_next_nonce("rspauth=\"x\"");
    assert!(answer(&mut state, "GET", "/").contains("nc=00000002"));
}

#[test]
fn clients_that_share_a_nonce_never_use_a_count_twice() {
    let challenge = Challenge::parse("realm=r, nonce=n, qop=auth").unwrap();
    let uses = Arc::new(AtomicU32::new(1));
    let one = |_| DigestState::new("u", &Secret::new("p"), challenge.clone(), Arc::clone(&uses));
    let mut clients: Vec<DigestState> = (0..2).map(one).collect();
    for expected in 2..6 {
        let header = answer(&mut clients[expected % 2], "GET", "/");
        assert!(header.contains(&format!("nc=0000000{expected}")), "{header}");
    }
}

#[test]
fn quotes_and_backslashes_survive_and_malformed_challenges_are_refused() {
    let challenge = Challenge::parse(r#"realm="a \"b\" \\", nonce="n""#).unwrap();
    assert_eq!(challenge.realm, r#"a "b" \"#);
    let header =
        answer(&mut DigestState::new(r#"x"y"#, &Secret::new("p"), challenge, Arc::default()), "GET", "/");
    assert!(header.contains(r#"username="x\"y", realm="a \"b\" \\""#), "{header}");
    for bad in ["", "realm", "realm=\"x", "realm=\"x\"", "nonce=n", "=x", "realm=r, nonce=n, qop=auth-int"] {
        assert!(Challenge::parse(bad).is_err(), "{bad}");
    }
    assert!(Challenge::parse(&"a=b,".repeat(100_000)).is_err());
}

#[test]
fn basic_is_the_example_of_rfc_7617() {
    assert_eq!(basic("Aladdin", &Secret::new("open sesame")).expose(), "Basic QWxhZGRpbjpvcGVuIHNlc2FtZQ==");
}
