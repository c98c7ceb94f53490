//! The S3 adaptor's conformance suite against this store, in each way to sign and to send a body.

use std::sync::Arc;

use cosmark_adaptor_api::conformance::{Ground, Verdict, run_all};
use cosmark_adaptor_api::{Session, Settings};
use cosmark_embedded::{EmbeddedStore, Options};

#[tokio::test]
async fn the_s3_adaptor_passes_every_case_in_every_way_to_sign() {
    let store = EmbeddedStore::start(Options::default()).unwrap();
    let ways: &[&[(&str, &str)]] = &[
        &[],
        &[("signature", "v2")],
        &[("payload", "signed")],
        &[("payload", "streaming")],
        &[("payload", "streaming-trailer")],
        &[("payload", "streaming-trailer"), ("checksum", "crc32c")],
        &[("checksum", "sha256")],
        &[("list_version", "1")],
    ];
    for (index, extra) in ways.iter().enumerate() {
        let endpoint = store.endpoint();
        let keys = [
            ("endpoint", endpoint.as_str()),
            ("accesskey", store.access_key()),
            ("secretkey", store.secret_key()),
        ];
        let def = cosmark_adaptors::s3::DEF;
        let (settings, problems) = Settings::parse(def.keys, keys.iter().chain(*extra).copied());
        assert!(problems.is_empty(), "{problems:?}");
        let adaptor = (def.open)(&settings).unwrap();
        let ground = Ground { container: format!("conformance-{index}"), part_size_bytes: 5 << 20 };
        // S3 takes no body of unknown length; V4 announces the length of its chunks in a header, V2 has no such form.
        let no_chunks = extra.contains(&("signature", "v2"));
        let mut ran = 0;
        for (case, verdict) in run_all(adaptor.as_ref(), &Arc::<Session>::default(), &ground).await {
            if no_chunks && case == "chunked_write_comes_back" {
                assert!(matches!(&verdict, Verdict::Failed(why) if why.contains("411")), "{verdict:?}");
                continue;
            }
            if case == "metadata_changes_and_the_content_stays" {
                assert!(
                    matches!(&verdict, Verdict::Failed(why) if why.contains("501")),
                    "this store has no tags"
                );
                continue;
            }
            assert!(!matches!(verdict, Verdict::Failed(_)), "{extra:?}: {case}: {verdict:?}");
            ran += usize::from(verdict == Verdict::Passed);
        }
        assert!(ran >= 14, "{extra:?}: only {ran} cases ran");
    }
    assert_eq!(store.used_bytes(), 0);
}
