//! Stores that are restarted and come back piece by piece, or with something that was deleted.

use std::pin::Pin;
use std::rc::Rc;
use std::sync::Arc;

use cosmark_adaptor_api::{Adaptor, BytesSource, Marks, ObjectName, PutOptions, Session};
use cosmark_certify::{Answer, Asked, Restart};
use cosmark_simstore::{Behaviour, Handle, SimStore};

use super::{certified_with, speaking_s3};

const CONTAINER: &str = "cosmark-certify-truth1";

/// A restart after which the store behaves otherwise, and one object may be there again.
struct Comes {
    store: Handle,
    adaptor: Arc<dyn Adaptor>,
    behaviour: String,
    again: Option<String>,
}

impl Restart for Comes {
    fn restart(&self) -> Pin<Box<dyn Future<Output = Result<(), String>> + '_>> {
        Box::pin(async {
            if let Some(object) = &self.again {
                let mut client = self.adaptor.client(&Arc::new(Session::default())).unwrap();
                let (source, mut marks) = (BytesSource(b"x"), Marks::default());
                let name = ObjectName { container: CONTAINER, object };
                client.put(name, &source, PutOptions::default(), &mut marks).await.unwrap();
            }
            self.store.set_behaviour(Behaviour::from_yaml(&self.behaviour).unwrap()).unwrap();
            self.store.zero().unwrap();
            Ok(())
        })
    }
}

/// The name of an object of the only question.
fn named(label: &str) -> String {
    format!("{CONTAINER}/001-{label}")
}

async fn restarted(behaviour: String, again: Option<String>) -> Asked {
    let store = SimStore::start(Behaviour::from_yaml("etag: md5").unwrap(), "127.0.0.1:0").unwrap();
    let adaptor = speaking_s3(&store.url(), ("any", "anysecret"));
    let restart = Rc::new(Comes { store, adaptor: Arc::clone(&adaptor), behaviour, again });
    let asked = certified_with(adaptor, Session::default(), &["any.restart"], Some(restart)).await.unwrap();
    assert_eq!(asked.questions.len(), 1);
    asked.questions[0].clone()
}

fn away(labels: &[&str], until_s: f64) -> String {
    let rules: Vec<String> = labels
        .iter()
        .map(|label| format!("{{op: get, key_prefix: {}, status: 503, until_s: {until_s}}}", named(label)))
        .collect();
    format!("errors: [{}]", rules.join(", "))
}

#[tokio::test]
async fn a_store_that_comes_back_piece_by_piece_within_its_minute_has_lost_nothing() {
    let asked = restarted(away(&["stays-0", "stays-17", "goes-3"], 1.5), None).await;
    assert_eq!((asked.answer, asked.saw.as_str()), (Answer::Yes, "30 objects, 10 deletes"));
    assert!(asked.took_ms >= 1500.0, "{asked:#?}");
}

#[tokio::test]
async fn what_was_deleted_is_not_called_gone_by_a_store_that_does_not_say_so() {
    let asked = restarted(away(&["goes-3"], 1.5), Some(named("goes-3"))).await;
    assert_eq!(asked.answer, Answer::No, "{asked:#?}");
    assert!(asked.saw.contains("goes-3 was deleted and is there again"), "{asked:#?}");
}
