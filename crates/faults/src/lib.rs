//! Faults: made, proved to be there, healed whatever happens, and judged by what they cost. `act/` makes and heals them,
//! [`Player`] plays the faults of a stage while its load runs, `judge/` (pure) says what each cost.

mod act;
mod judge;
mod player;

pub use act::may_run;
pub use act::proxy::{Proxies, ProxyError};
pub use judge::seconds::Seconds;
pub use judge::{Played, Stretch, results};
pub use player::{News, Player, Playing, heal_left};
