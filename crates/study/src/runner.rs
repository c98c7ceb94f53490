//! Who runs the cells of a study: what the engine asks of it.

use crate::design::Order;
use crate::journal::CellEnd;
use crate::measured::Observation;
use crate::spec::System;

/// Why something was not done.
#[derive(Debug, Clone, PartialEq)]
pub enum Trouble {
    /// The user wants to stop.
    Stopped,
    /// It could not be.
    Failed(String),
}

/// A system that serves.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Up {
    /// Versions and configuration, a line each.
    pub found: Vec<String>,
    /// It was not there before: who started it stops it.
    pub started: bool,
}

/// How far a study is.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Progress<'a> {
    /// Name of the run that begins.
    pub run: &'a str,
    /// Runs that are over.
    pub done: u64,
    /// Runs of the least number of repetitions, or all that are over where those are more.
    pub of: u64,
    /// Seconds that are left, as far as that is known.
    pub left_s: f64,
}

/// Who runs cells.
pub trait Runner {
    /// Seconds of a clock that only goes forward.
    fn now_s(&mut self) -> f64;
    /// Seconds since 1970.
    fn date_s(&mut self) -> u64;
    /// What a reader has to know of the machine that makes the load, a line each; not its name.
    fn machine(&mut self) -> Vec<String>;
    /// Why a system has no room for so many bytes of all copies; `None` where it has, or where that is not known.
    fn lacks_room(&mut self, _system: &System, _bytes: u64) -> Option<String> {
        None
    }
    /// Why a system cannot be brought up on this machine at all, such as for want of rights; `None` where it can, or where that is
    /// not known.
    fn cannot_be(&mut self, _system: &System) -> Option<String> {
        None
    }
    /// Whether a system serves before the study brings it up, so that it is not the study that has started it.
    ///
    /// # Errors
    /// When that cannot be asked, or only a part of it runs.
    fn serves(&mut self, _system: &System) -> Result<bool, Trouble> {
        Ok(true)
    }
    /// Brings a system up, or looks whether it is there; `is_left` where the study started it before it was cut off.
    ///
    /// # Errors
    /// When it does not serve, or the user wants to stop.
    fn up(&mut self, system: &System, is_left: bool) -> Result<Up, Trouble>;
    /// Leaves a system: what was made in it goes, and one that the study started is stopped.
    ///
    /// # Errors
    /// When something stays.
    fn down(&mut self, system: &System, started: bool) -> Result<(), Trouble>;
    /// The run of this name, if the archive has one that is over and can be read: a kill came between its end and the journal.
    fn earlier(&mut self, order: &Order<'_>) -> Option<CellEnd>;
    /// Runs a cell.
    ///
    /// # Errors
    /// When it cannot be begun, or the user wants to stop.
    fn run(&mut self, order: &Order<'_>) -> Result<CellEnd, Trouble>;
    /// What a cell measured.
    fn measured(&mut self, order: &Order<'_>, end: &CellEnd) -> Vec<Observation>;
    /// Shows how far the study is.
    fn progress(&mut self, progress: &Progress<'_>);
    /// Whether somebody asked that the study stops; looked at before each cell.
    fn is_to_stop(&mut self) -> bool {
        false
    }
    /// Why no further cell can be run on a system that was up; `None` where it serves.
    fn no_longer_serves(&mut self, system: &System) -> Option<String> {
        match self.serves(system) {
            Ok(true) | Err(Trouble::Stopped) => None,
            Ok(false) => Some("nothing of it runs".to_owned()),
            Err(Trouble::Failed(why)) => Some(why),
        }
    }
}
