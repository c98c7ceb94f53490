//! Faults: made, proved to be there, healed whatever happens, and judged by what they cost. `act/` makes and heals them,
//! [`Player`] plays the faults of a stage while its load runs, `guardian/` heals what a killed run has made, `left.rs` what was
//! left after that, `injector/` makes those of an agent, `judge/` (pure) says what each cost, `cut.rs` of a run that was killed.

mod act;
mod cut;
mod guardian;
mod injector;
mod judge;
mod left;
mod player;

pub use act::agent::{Agents, FaultThere, Said, Step, Wish};
pub use act::proxy::{Proxies, ProxyError};
pub use act::{may_run, reach};
pub use cut::judge_cut;
pub use guardian::{Terms, detach, watch};
pub use injector::{Holding, Injector, Patience, Progress};
pub use judge::seconds::Seconds;
pub use judge::{Away, Played, Stretch, results};
pub use left::heal_left;
pub use player::{News, Player, Playing};
