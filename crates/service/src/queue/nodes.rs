//! The stores' machines that the operator has named (`--nodes`), and who looks at them while a run goes on. A submission
//! names none: what is read of a machine, and by which way, is up to whoever starts the controller.

use std::thread;
use std::time::Duration;

use cosmark_cluster::agent;
use cosmark_cluster::nats::Bus;
use cosmark_controller::{NodesOfRun, StopLevel};
use cosmark_driver::Catalog;
use cosmark_driver::places::{Address, Place, places_of};
use cosmark_nodes::source::Source;
use cosmark_nodes::watch::NodeWatch;
use cosmark_workload::model::nodes::NodeSpec;
use cosmark_workload::{Target, Workload};
use tokio::sync::{oneshot, watch};

/// One store: where it is, and its machines.
#[derive(Debug, Clone)]
struct Store {
    name: String,
    places: Vec<Address>,
    nodes: Vec<NodeSpec>,
}

/// All stores of which the operator has named machines.
#[derive(Debug, Clone, Default)]
pub struct Stores(Vec<Store>);

impl Stores {
    /// Adds the machines of a target, whose references to secrets are resolved. `name` is told where two stores of a run have a
    /// machine of one name.
    ///
    /// # Errors
    /// A sentence, for a target without machines, without an address, or with a machine that cannot be read.
    pub fn add(&mut self, catalog: &Catalog, name: &str, target: &Target) -> Result<(), String> {
        if target.nodes.is_empty() {
            return Err("it names no machines (`nodes:`)".to_owned());
        }
        target.nodes.iter().try_for_each(|node| Source::of(node).map(|_| ()))?;
        let specs = target.auth.iter().chain(&target.storage);
        let places: Vec<Address> =
            specs.flat_map(|spec| hosts(places_of(catalog, spec, spec, &[]))).collect();
        if places.is_empty() {
            return Err(
                "it does not say where the store is, so no run can be known to be one of it".to_owned()
            );
        }
        self.0.push(Store { name: name.to_owned(), places, nodes: target.nodes.clone() });
        Ok(())
    }

    /// The machines of the stores that a workload speaks to.
    #[must_use]
    pub fn of(&self, catalog: &Catalog, workload: &Workload) -> Vec<NodeSpec> {
        let works = workload.stages.iter().flat_map(|stage| &stage.works);
        let spoken: Vec<Address> =
            works.flat_map(|work| hosts(places_of(catalog, &work.auth, &work.storage, &[]))).collect();
        let mut nodes: Vec<NodeSpec> = Vec::new();
        for store in &self.0 {
            if !spoken.iter().any(|host| store.places.iter().any(|place| place.covers(host))) {
                continue;
            }
            for node in &store.nodes {
                let taken = nodes.iter().any(|other| other.name == node.name);
                let name = if taken { format!("{} of {}", node.name, store.name) } else { node.name.clone() };
                nodes.push(NodeSpec { name, ..node.clone() });
            }
        }
        nodes
    }
}

fn hosts(places: Vec<Place>) -> impl Iterator<Item = Address> {
    places.into_iter().filter_map(|place| match place {
        Place::Host(address) => Some(address),
        _ => None,
    })
}

/// How long what a collector still waits for may hold its thread after the run.
const LAST_ANSWERS: Duration = Duration::from_secs(1);

/// Looks at machines, on a thread of its own, until it is dropped.
pub struct Looking(#[expect(dead_code, reason = "its end is the signal")] oneshot::Sender<()>);

/// The machines of a run.
pub struct Wanted {
    /// Those that the operator has named.
    pub nodes: Vec<NodeSpec>,
    /// Where agents on machines are.
    pub agents: Option<Bus>,
    /// The run, as agents hear of it.
    pub run: String,
}

/// What looks at machines, and what it sees.
pub type Seeing = (Looking, NodesOfRun);

/// Begins to look at the machines of a run, and waits until it is known what they do without its load; `None` where there are
/// none. What does not answer comes back as sentences. A run that is `resumed` has its load already.
///
/// # Errors
/// When nothing can be looked at: the run goes on without.
pub fn look(
    wanted: Wanted,
    resumed: bool,
    mut stop: watch::Receiver<StopLevel>,
    mut abandon: watch::Receiver<bool>,
) -> Result<(Option<Seeing>, Vec<String>), String> {
    let (said, heard) = std::sync::mpsc::sync_channel(1);
    let (looking, over) = oneshot::channel::<()>();
    let task = async move {
        let Wanted { nodes, agents, run } = wanted;
        let taken: Vec<String> = nodes.iter().map(|node| node.name.clone()).collect();
        let (agents, mut troubles) = match &agents {
            Some(bus) => agent::agents(bus, &run, &taken).await,
            None => (Vec::new(), Vec::new()),
        };
        if nodes.is_empty() && agents.is_empty() {
            return drop(said.send(Ok((None, troubles))));
        }
        let watch = match NodeWatch::start_with(&nodes, agents) {
            Ok(watch) => watch,
            Err(why) => return drop(said.send(Err(why))),
        };
        let stopped = async {
            tokio::select! {
                _ = stop.changed() => {}
                _ = abandon.changed() => {}
            }
        };
        let idle = if resumed { Vec::new() } else { watch.rest(stopped).await };
        troubles.extend(watch.troubles());
        drop(said.send(Ok((Some((idle, watch.figures())), troubles))));
        // Whoever waits for it is gone when the sender is.
        drop(over.await);
    };
    let begin = move || {
        if let Ok(runtime) = tokio::runtime::Builder::new_current_thread().enable_all().build() {
            runtime.block_on(task);
            runtime.shutdown_timeout(LAST_ANSWERS);
        }
    };
    thread::Builder::new().name("nodes".to_owned()).spawn(begin).map_err(|cause| cause.to_string())?;
    let begun = heard.recv().unwrap_or_else(|_| Err("its thread could not begin".to_owned()));
    let (seen, troubles) = begun?;
    let seeing = seen.map(|(idle, figures)| (Looking(looking), NodesOfRun { idle, seen: Box::new(figures) }));
    Ok((seeing, troubles))
}

#[cfg(test)]
#[allow(clippy::unwrap_used, reason = "a test may stop at the first surprise")]
mod tests {
    use super::*;
    use cosmark_driver::{PluginRow, ReadsPlugins};

    const NO_ADAPTORS: Catalog = Catalog {
        adaptors: &[],
        auths: &[],
        not_built: &[],
        plugin: PluginRow {
            name: "plugin",
            key: "path",
            row_of: |path| unreachable!("{path}"),
            declares_secret: |_| false,
            reads: ReadsPlugins::Never,
        },
    };

    fn target(endpoint: &str, nodes: &str) -> Target {
        let text = format!("storage: {{type: s3, endpoint: '{endpoint}'}}\nnodes: [{nodes}]\n");
        cosmark_workload::parse_target(&text).0.unwrap()
    }

    fn workload(endpoint: &str) -> Workload {
        let text = format!(
            "name: a\nstorage: {{type: s3, endpoint: '{endpoint}'}}\nstages:\n  - name: main\n    works:\n      - \
             {{workers: 1, runtime: 1s, operations: [{{type: read, containers: c(1), objects: c(1)}}]}}\n"
        );
        let read =
            cosmark_workload::parse_what_is_there(&text, cosmark_workload::Format::Yaml, &Default::default());
        let (workload, mistakes) = read;
        workload.unwrap_or_else(|| unreachable!("{mistakes:?}"))
    }

    #[test]
    fn a_run_gets_the_machines_of_the_stores_that_it_speaks_to_and_no_others() {
        let catalog = NO_ADAPTORS;
        let mut stores = Stores::default();
        let local = "{name: n1, type: local}";
        stores.add(&catalog, "a", &target("http://a:9000", local)).unwrap();
        stores.add(&catalog, "b", &target("http://b:9000", "{name: n2, role: disk, type: local}")).unwrap();
        stores.add(&catalog, "again", &target("http://a:9000/", local)).unwrap();
        let names = |endpoint: &str| -> Vec<String> {
            stores.of(&catalog, &workload(endpoint)).into_iter().map(|node| node.name).collect()
        };
        assert_eq!(names("http://a:9000"), ["n1", "n1 of again"]);
        assert_eq!(names("http://b:9000/,http://c:9000"), ["n2"]);
        assert_eq!(names("http://b:9001"), Vec::<String>::new());
        assert_eq!(names("https://a:9000"), Vec::<String>::new());
    }

    #[test]
    fn what_cannot_be_looked_at_is_refused_when_the_controller_starts() {
        let add = |target: &Target| Stores::default().add(&NO_ADAPTORS, "a", target).unwrap_err();
        assert!(add(&target("http://a", "")).contains("names no machines"));
        assert!(add(&target("http://a", "{name: n, type: ssh}")).contains("node n: ssh needs `host`"));
        let nowhere =
            cosmark_workload::parse_target("storage: {type: mock}\nnodes: [{name: n, type: local}]\n");
        assert!(add(&nowhere.0.unwrap()).contains("does not say where"));
    }
}
