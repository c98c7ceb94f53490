//! The trait over which a controller uses a driver, wherever it is, and the types that it takes.

use std::sync::Arc;
use std::time::Duration;

use cosmark_workload::listed::ListedNames;
use cosmark_workload::model::Stage;
use cosmark_workload::read_sizes::ObjectLength;
use cosmark_workload::share::MissionShare;
use tokio::sync::mpsc;

use crate::{ClockDrift, DriverEvent, TriggerReport};

/// A way to one driver.
///
/// A stage is two steps: [`DriverLink::start`] hands it over, the driver logs in and says [`DriverEvent::Authed`]; then
/// [`DriverLink::probe`] looks at its clock, and [`DriverLink::go`] lets the load begin, everywhere at the same instant.
/// Every call names its stage by [`StageOrder::step`]; repeating one changes nothing.
pub trait DriverLink: Send {
    /// Name of the driver.
    fn name(&self) -> &str;

    /// Its labels, such as `zone` = `a`; works may be pinned to them.
    fn labels(&self) -> &[(String, String)] {
        &[]
    }

    /// Whether it can take part in this step. A driver that is gone cannot.
    fn is_there(&mut self, _step: u32) -> bool {
        true
    }

    /// For how long its load may go on when no word reaches it any more. Zero = it ends with who asks.
    fn goes_on_unheard(&self) -> Duration {
        Duration::ZERO
    }

    /// Hands over a stage's shares. Events go to `events` in their order, up to [`DriverEvent::Ended`],
    /// [`DriverEvent::Refused`] or [`DriverEvent::Lost`].
    fn start(&mut self, order: StageOrder, events: EventSender);

    /// Compares its clock with the controller's; ends with [`DriverEvent::Probed`].
    fn probe(&mut self, step: u32);

    /// Compares the clocks once more, and gives what became of them since [`DriverLink::probe`]; `None` where there is one
    /// clock, or nobody to ask. The channel closes without a word when it takes too long.
    fn compare_again(&mut self, _step: u32) -> Option<mpsc::Receiver<ClockDrift>> {
        None
    }

    /// Lets the load begin at this moment of the controller's clock (ns since 1970); `None` = at once.
    fn go(&mut self, step: u32, at_unix_ns: Option<i64>);

    /// Starts no further operation; those in flight may end.
    fn finish(&self, step: u32);

    /// Drops the operations in flight, too.
    fn abort(&self, step: u32);

    /// Runs a trigger script, waits for it within a bound, and gives what it printed.
    fn trigger(&mut self, step: u32, order: TriggerOrder) -> mpsc::Receiver<TriggerReport>;
}

/// One driver's part of one stage.
#[derive(Debug, Clone)]
pub struct StageOrder {
    /// Number of this step in its run: stages and triggers are counted from 0 in the order in which they are begun.
    pub step: u32,
    /// Index of the stage.
    pub stage_index: usize,
    /// The stage.
    pub stage: Arc<Stage>,
    /// This driver's shares, at most one for each work.
    pub shares: Vec<MissionShare>,
    /// Seed of the run.
    pub seed: u64,
    /// Send every sample.
    pub log_operations: bool,
    /// Operations in flight may end for this long after the load; `None` = as the driver was told at its start.
    pub drain: Option<Duration>,
    /// What the whole workload knows about the lengths of objects that this stage reads.
    pub lengths: Vec<ObjectLength>,
    /// What is known of how many names this stage's listings hold.
    pub listings: Vec<ListedNames>,
    /// This driver's part in the probes beside the load; `None` = its probes are its own affair, and nobody asks what they did.
    pub probes: Option<ProbeShare>,
}

/// A driver's part in the probes beside a load.
#[derive(Debug, Clone, Copy, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
pub struct ProbeShare {
    /// What all names of this stage's probes are made of; another one for each stage and run.
    pub tag: u64,
    /// This driver's number among those that probe, from 0.
    pub number: u32,
    /// Drivers that write and read each other's objects; 1: there is nobody else.
    pub of: u32,
}

impl ProbeShare {
    /// What the names of driver `number`'s objects are made of: any driver can say it of any other.
    #[must_use]
    pub fn tag_of(&self, number: u32) -> u64 {
        // SplitMix64 (G. Steele and others, OOPSLA 2014).
        let mut mixed = self.tag ^ u64::from(number).wrapping_add(1).wrapping_mul(0x9E37_79B9_7F4A_7C15);
        mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        mixed ^ (mixed >> 31)
    }
}

/// A trigger script to be run.
#[derive(Debug, Clone, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
pub struct TriggerOrder {
    /// File name.
    pub script: String,
    /// Arguments; for the end of a run or stage just `-k`.
    pub args: Vec<String>,
}

/// An event, and where it comes from.
#[derive(Debug)]
pub struct FromDriver {
    /// Which driver, as counted by the controller.
    pub driver: usize,
    /// When it was said (ns since 1970), if it is heard later than that because a run is taken up again; `None` = now.
    pub past_unix_ns: Option<i64>,
    /// What it said.
    pub event: DriverEvent,
}

/// Nobody listens any more.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Gone;

/// Where the events of one driver go. All drivers of a stage share one channel, so that what was said first is heard first.
#[derive(Debug, Clone)]
pub struct EventSender {
    driver: usize,
    sender: mpsc::Sender<FromDriver>,
}

impl EventSender {
    /// For the driver that the controller counts as `driver`.
    #[must_use]
    pub fn new(driver: usize, sender: mpsc::Sender<FromDriver>) -> Self {
        Self { driver, sender }
    }

    fn wrap(&self, past_unix_ns: Option<i64>, event: DriverEvent) -> FromDriver {
        FromDriver { driver: self.driver, past_unix_ns, event }
    }

    /// Sends without waiting; what finds no room is dropped. For words that do not matter when nobody listens.
    pub fn try_send(&self, event: DriverEvent) {
        let _ = self.sender.try_send(self.wrap(None, event));
    }

    /// Sends from a thread; waits while the controller is behind.
    ///
    /// # Errors
    /// [`Gone`] when the stage is over.
    pub fn blocking_send(&self, event: DriverEvent) -> Result<(), Gone> {
        self.sender.blocking_send(self.wrap(None, event)).map_err(|_| Gone)
    }

    /// Sends from a task; waits while the controller is behind. `past_unix_ns`: see [`FromDriver`].
    ///
    /// # Errors
    /// [`Gone`] when the stage is over.
    pub async fn send(&self, past_unix_ns: Option<i64>, event: DriverEvent) -> Result<(), Gone> {
        self.sender.send(self.wrap(past_unix_ns, event)).await.map_err(|_| Gone)
    }
}
