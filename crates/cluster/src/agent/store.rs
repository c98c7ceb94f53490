//! The store's own daemons on the machine of an agent, where its operator lets it ask them: those of Ceph, by their
//! administration sockets.

use std::sync::Arc;
use std::time::Duration;

use cosmark_metrics::nodes::reading::{Reading, Sample};
use cosmark_nodes::collect::ceph::AdminSockets;
use tokio::task::JoinHandle;
use tokio::time::timeout;

use super::EVERY;

/// An answer that takes longer comes with the next reading, so that a daemon that hangs holds up no other figure.
const SOON: Duration = Duration::from_millis(300);

/// Asks the daemons, one question at a time.
#[derive(Debug)]
pub(super) struct Store {
    sockets: Option<Arc<AdminSockets>>,
    /// The question that is under way.
    asked: Option<Asked>,
    missing: Option<String>,
}

type Asked = JoinHandle<Result<(Reading, Option<String>), String>>;

impl Store {
    /// Asks those whose sockets are in this directory; nobody where there is none.
    pub(super) fn new(sockets: Option<&str>) -> Self {
        let sockets = sockets.map(|directory| Arc::new(AdminSockets::new(directory, EVERY)));
        Self { sockets, asked: None, missing: None }
    }

    /// Asks, unless an answer is still awaited.
    pub(super) fn ask(&mut self) {
        if let Some(sockets) = self.sockets.as_ref().filter(|_| self.asked.is_none()) {
            let sockets = Arc::clone(sockets);
            self.asked = Some(tokio::spawn(async move { sockets.look().await }));
        }
    }

    /// What they said, each answer once; nothing while it is awaited.
    pub(super) async fn answer(&mut self) -> Vec<Sample> {
        let Some(mut asked) = self.asked.take() else { return Vec::new() };
        let Ok(answer) = timeout(SOON, &mut asked).await else {
            self.asked = Some(asked);
            return Vec::new();
        };
        match answer.unwrap_or_else(|_| Err("the question to its daemons failed".to_owned())) {
            Ok((reading, missing)) => {
                self.missing = missing;
                reading.samples
            }
            Err(why) => {
                self.missing = Some(why);
                Vec::new()
            }
        }
    }

    /// Who of them does not answer, in one sentence.
    pub(super) fn missing(&self) -> Option<String> {
        self.missing.clone()
    }

    /// An answer to a question of an earlier run is none of the next.
    pub(super) fn forget(&mut self) {
        if let Some(asked) = self.asked.take() {
            asked.abort();
        }
        self.missing = None;
    }
}

#[cfg(test)]
mod tests {
    use std::io::{Read, Write};
    use std::os::unix::net::UnixListener;
    use std::time::Instant;

    use super::*;

    /// A daemon that answers each question with this text.
    fn serve(listener: UnixListener, text: &'static str) {
        std::thread::spawn(move || {
            for socket in listener.incoming() {
                let Ok(mut socket) = socket else { break };
                let mut byte = [1];
                while socket.read_exact(&mut byte).is_ok() && byte != [0] {}
                let length = u32::try_from(text.len()).unwrap().to_be_bytes();
                let _ = socket.write_all(&[&length, text.as_bytes()].concat());
            }
        });
    }

    async fn until_some(store: &mut Store) -> Vec<Sample> {
        for _ in 0..100 {
            store.ask();
            let samples = store.answer().await;
            if !samples.is_empty() {
                return samples;
            }
        }
        Vec::new()
    }

    #[tokio::test]
    async fn a_daemon_that_hangs_is_named_and_holds_up_neither_the_reading_nor_the_others() {
        let directory = tempfile::tempdir().unwrap();
        let path = |name: &str| directory.path().join(name);
        serve(UnixListener::bind(path("ceph-osd.1.asok")).unwrap(), "{\"osd\":{\"op_wip\":2}}");
        let mut store = Store::new(directory.path().to_str());
        let samples = until_some(&mut store).await;
        let found: Vec<_> =
            samples.iter().map(|one| (one.quantity.id, one.unit.as_str(), one.value)).collect();
        assert_eq!((found.as_slice(), store.missing()), ([("server_queue", "osd.1", 2.0)].as_slice(), None));
        assert!(store.answer().await.is_empty(), "an answer counts once");
        // It takes connections and says nothing, as a stopped one does.
        let _stopped = UnixListener::bind(path("ceph-osd.2.asok")).unwrap();
        store.ask();
        let began = Instant::now();
        assert!(store.answer().await.is_empty(), "the whole answer takes two seconds");
        assert!(began.elapsed() < Duration::from_secs(20), "{:?}", began.elapsed());
        assert_eq!(until_some(&mut store).await.len(), 1);
        assert!(store.missing().is_some_and(|why| why.starts_with("osd.2: no answer in 2 s")));
        store.forget();
        assert_eq!(store.missing(), None);
    }

    #[tokio::test]
    async fn nobody_is_asked_where_the_operator_names_no_directory_and_an_empty_one_is_said() {
        let mut store = Store::new(None);
        store.ask();
        assert!(store.asked.is_none() && store.answer().await.is_empty() && store.missing().is_none());
        let directory = tempfile::tempdir().unwrap();
        let mut store = Store::new(directory.path().to_str());
        assert!(until_some(&mut store).await.is_empty());
        assert!(store.missing().is_some_and(|why| why.starts_with("no daemon of Ceph has a socket in")));
    }
}
