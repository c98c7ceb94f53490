//! The most that this driver can do: one load thread against the adaptor that does nothing, for a second.

use std::sync::Arc;
use std::time::Duration;

use cosmark_driver::{Catalog, LocalDriver, Options};
use cosmark_wire::{DriverEvent, DriverLink, EventSender, StageOrder, stage_from_text};
use cosmark_workload::share::MissionShare;
use tokio::sync::mpsc;

const STAGE: &str = "name: ceiling\nstorage: {type: none}\nstages:\n- name: ceiling\n  works:\n  - name: ceiling\n    \
                     workers: 8\n    runtime: 1s\n    operations:\n    - {type: read, ratio: 1, containers: c(1), \
                     objects: 'u(1,1000)'}\n";
const PATIENCE: Duration = Duration::from_secs(15);

/// Operations per second of one load thread of this machine; `None` when it could not be measured. Takes about a second.
pub async fn measure(catalog: Catalog, options: &Options) -> Option<f64> {
    let stage = Arc::new(stage_from_text(STAGE).ok()?);
    let workers = stage.works.first()?.workers;
    let mut driver = LocalDriver::new(catalog, Options { threads: 1, ..options.clone() });
    let (sender, mut events) = mpsc::channel(64);
    let shares = vec![MissionShare { work: 0, driver: 0, first_worker: 0, workers }];
    let order = StageOrder {
        step: 0,
        stage_index: 0,
        stage,
        shares,
        seed: 0,
        log_operations: false,
        drain: None,
        lengths: Vec::new(),
        listings: Vec::new(),
        probes: None,
    };
    driver.start(order, EventSender::new(0, sender));
    let counting = async {
        let mut operations = 0;
        while let Some(from) = events.recv().await {
            match from.event {
                DriverEvent::Authed => driver.go(0, None),
                DriverEvent::Snapshot(snapshot) => {
                    operations += snapshot.ops.iter().map(|op| op.ok).sum::<u64>();
                }
                DriverEvent::Ended { missions, .. } => {
                    let seconds = missions.first().map_or(0.0, |mission| mission.window_s);
                    #[expect(clippy::cast_precision_loss, reason = "a rate needs no more than 53 bits")]
                    return (seconds > 0.0 && operations > 0).then(|| operations as f64 / seconds);
                }
                DriverEvent::Refused(_) => return None,
                _ => {}
            }
        }
        None
    };
    tokio::time::timeout(PATIENCE, counting).await.ok().flatten()
}
