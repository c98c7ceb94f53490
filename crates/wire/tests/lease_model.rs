//! The lease and the end of a run, explored completely: one driver, one controller and its successor, NATS between them, and
//! everything that may happen to them: messages are lost, late and doubled, the driver stands still or is cut off, either of
//! them dies. What they do is done by the types of [`cosmark_wire::lease`] themselves; here are only the world and its clock.
//! Source of the method: the crate `stateright`, an explicit-state model checker.
#![allow(clippy::unwrap_used, clippy::panic, reason = "a test may stop at a surprise")]

use cosmark_wire::lease::{Lease, Life, Standing, Word};
use stateright::{Checker, Model, Property};

/// Ticks of the clock without a renewal after which a driver holds its load (`lost_after`).
const LOST_AFTER: u8 = 1;
/// Ticks after which a run that is to end does so without those who do not answer.
const PATIENCE: u8 = 1;
/// Bounds of the world.
const MOST_BEATS: u64 = 3;
const MOST_DONE: u8 = 1;
const MOST_ON_THE_WAY: usize = 1;
/// So many things go wrong, in any order and at any moment.
const MOST_FAULTS: u8 = 2;
const DRIVER: &str = "d";
const STEP: u32 = 0;

/// The world, with or without what is to be proved.
struct World {
    /// `false`: drivers go by the messages that they get, as they did before there was a lease.
    has_lease: bool,
}

#[derive(Debug, Clone, PartialEq, Eq, Hash)]
struct Driver {
    standing: Standing,
    /// Ticks since it heard a renewal; it counts on while the process stands still.
    age: u8,
    /// Ticks for which it has stood still; `None` = it runs.
    still: Option<u8>,
    is_cut_off: bool,
    /// Its part of the step is over: it makes no more load.
    is_ended: bool,
    /// The question that is on its way, and its answer.
    asked: bool,
    answer: Option<Lease>,
    /// Ticks since it was asked.
    answer_age: u8,
    /// Ticks since the question was asked whose answer it goes by: what it hears then is as old as that at most.
    told_age: u8,
    /// Operations done: as many events wait in its outbox.
    done: u8,
}

#[derive(Debug, Clone, PartialEq, Eq, Hash)]
struct Controller {
    /// Nobody renews the lease when it is gone.
    is_gone: bool,
    holder: u64,
    /// Events of the driver that it has counted, each once.
    counted: u8,
    /// It was told that the driver's part is over, after so many events.
    told_end: Option<u8>,
    /// What is missing is named.
    is_missing_named: bool,
    /// Ticks since the user wanted an end.
    cancelled: Option<u8>,
}

#[derive(Debug, Clone, PartialEq, Eq, Hash)]
struct State {
    driver: Driver,
    controller: Controller,
    /// The key in the bucket.
    lease: Lease,
    /// Renewals on their way to the driver, in their order.
    renewals: Vec<Lease>,
    /// Ticks since the run ended, or nobody renewed its lease any more.
    dead: Option<u8>,
    /// What the lease meant for the driver when it went on after it had stood still.
    at_return: Word,
    /// The driver sent a request that it must not send.
    is_haunted: bool,
    /// What has gone wrong so far.
    faults: u8,
    /// It went on after a doubt.
    went_on: bool,
}

#[derive(Debug, Clone, PartialEq, Eq, Hash)]
enum Action {
    Tick,
    // The controller.
    Renew,
    Cancel { at_once: bool },
    GiveUp,
    End,
    CrashController,
    TakeUp,
    // NATS.
    DeliverRenewal { again: bool },
    LoseRenewal,
    DeliverAnswer,
    LoseAnswer,
    DeliverEvent { seq: u8 },
    DeliverEnd,
    // The driver.
    Ask,
    Work,
    Finish,
    StandStill,
    GoOn,
    CutOff,
    Reconnect,
    CrashDriver,
    GivesUp,
}

impl Action {
    /// Something goes wrong.
    fn is_fault(&self) -> bool {
        matches!(
            self,
            Self::DeliverRenewal { again: true }
                | Self::LoseRenewal
                | Self::LoseAnswer
                | Self::CrashController
                | Self::StandStill
                | Self::CutOff
                | Self::CrashDriver
        )
    }
}

impl State {
    fn word(&self) -> Word {
        self.lease.word_to(DRIVER, STEP)
    }

    fn is_living(&self) -> bool {
        !self.controller.is_gone && self.lease.life != Life::Over
    }

    /// The next word of the lease; the driver hears it if it is not cut off.
    fn say(&mut self) {
        self.lease = self.lease.renewed(self.controller.holder);
        if !self.driver.is_cut_off && self.renewals.len() < MOST_ON_THE_WAY {
            self.renewals.push(self.lease.clone());
        }
    }

    /// The driver looks at its clock, as its threads do before each request.
    fn look(&mut self) {
        let driver = &mut self.driver;
        if driver.still.is_none() && driver.standing.may_make_load() && driver.age > LOST_AFTER {
            driver.doubt();
        }
    }

    /// The driver does what the lease that it heard means for it.
    fn obey(&mut self, lease: &Lease) {
        match lease.word_to(DRIVER, STEP) {
            Word::GoOn => {}
            Word::Finish | Word::Abort | Word::GivenUp | Word::Forget => self.driver.is_ended = true,
        }
        if self.driver.standing == Standing::Over {
            self.driver.is_ended = true;
        }
    }

    fn hear(&mut self, standing: Standing, lease: &Lease) {
        let before = std::mem::replace(&mut self.driver.standing, standing);
        if standing.may_make_load() && before != standing {
            self.driver.age = if before.may_make_load() { 0 } else { self.driver.told_age };
            self.driver.told_age = 0;
            self.went_on |= !before.may_make_load();
        }
        self.obey(lease);
    }
}

impl Driver {
    fn doubt(&mut self) {
        self.standing = self.standing.doubts();
        self.told_age = 0;
        self.forget_question();
    }

    fn forget_question(&mut self) {
        (self.asked, self.answer, self.answer_age) = (false, None, 0);
    }
}

impl Model for World {
    type State = State;
    type Action = Action;

    fn init_states(&self) -> Vec<State> {
        let lease = Lease::begin(1, u64::from(LOST_AFTER));
        vec![State {
            driver: Driver {
                standing: if self.has_lease { Standing::FIRST } else { Standing::Makes { beat: 0 } },
                age: 0,
                still: None,
                is_cut_off: false,
                is_ended: false,
                asked: false,
                answer: None,
                answer_age: 0,
                told_age: 0,
                done: 0,
            },
            controller: Controller {
                is_gone: false,
                holder: 1,
                counted: 0,
                told_end: None,
                is_missing_named: false,
                cancelled: None,
            },
            lease,
            renewals: Vec::new(),
            dead: None,
            at_return: Word::GoOn,
            is_haunted: false,
            faults: 0,
            went_on: false,
        }]
    }

    fn actions(&self, state: &State, actions: &mut Vec<Action>) {
        let State { driver, controller, .. } = state;
        let is_late = controller.cancelled.is_some_and(|ticks| ticks >= PATIENCE);
        if state.is_living() && is_late {
            // Nothing else may come before it: this is what its patience means.
            return actions.push(Action::End);
        }
        // A renewal to a driver that runs takes less than a tick or is lost: connections are pinged, and end when they are slow.
        let is_on_its_way = driver.still.is_none() && !state.renewals.is_empty();
        if !is_on_its_way {
            actions.push(Action::Tick);
        }
        if state.is_living() {
            let has_told_all = controller.told_end.is_some_and(|total| total == controller.counted);
            if has_told_all || controller.is_missing_named {
                actions.push(Action::End);
            }
            if state.lease.beat < MOST_BEATS {
                actions.push(Action::Renew);
                if controller.cancelled.is_none() {
                    actions.extend([Action::Cancel { at_once: false }, Action::Cancel { at_once: true }]);
                }
                if (driver.still.is_some() || driver.is_cut_off) && !controller.is_missing_named {
                    actions.push(Action::GiveUp);
                }
            }
            actions.push(Action::CrashController);
        } else if controller.is_gone && controller.holder == 1 && state.lease.life != Life::Over {
            actions.push(Action::TakeUp);
        }
        if driver.still.is_none() && !driver.is_cut_off {
            if !state.renewals.is_empty() {
                actions.extend([
                    Action::DeliverRenewal { again: false },
                    Action::DeliverRenewal { again: true },
                    Action::LoseRenewal,
                ]);
            }
            if driver.answer.is_some() {
                actions.extend([Action::DeliverAnswer, Action::LoseAnswer]);
            }
            actions.extend((0..driver.done).map(|seq| Action::DeliverEvent { seq }));
            if driver.is_ended {
                actions.push(Action::DeliverEnd);
            }
            if self.has_lease && matches!(driver.standing, Standing::Asks { .. }) && !driver.asked {
                actions.push(Action::Ask);
            }
        }
        if driver.still.is_none() {
            if driver.standing.may_make_load() && !driver.is_ended && driver.done < MOST_DONE {
                actions.push(Action::Work);
            }
            if !driver.is_ended {
                actions.extend([Action::Finish, Action::CrashDriver]);
            }
            if matches!(driver.standing, Standing::Asks { told: Some(_) }) {
                actions.push(Action::GivesUp);
            }
            actions.push(Action::StandStill);
        } else {
            actions.push(Action::GoOn);
        }
        actions.push(if driver.is_cut_off { Action::Reconnect } else { Action::CutOff });
        if state.faults >= MOST_FAULTS {
            actions.retain(|action| !action.is_fault());
        }
    }

    fn next_state(&self, last: &State, action: Action) -> Option<State> {
        let mut next = last.clone();
        next.faults += u8::from(action.is_fault());
        match action {
            Action::Tick => {
                next.driver.age = (next.driver.age + 1).min(LOST_AFTER + 1);
                next.driver.still = next.driver.still.map(|_| 1);
                if next.driver.asked {
                    next.driver.answer_age = (next.driver.answer_age + 1).min(LOST_AFTER + 1);
                }
                if matches!(next.driver.standing, Standing::Asks { told: Some(_) }) {
                    next.driver.told_age = (next.driver.told_age + 1).min(LOST_AFTER + 1);
                }
                next.dead = next.dead.map(|ticks| (ticks + 1).min(LOST_AFTER + 2));
                next.controller.cancelled =
                    next.controller.cancelled.map(|ticks| (ticks + 1).min(PATIENCE + 1));
            }
            Action::Renew => next.say(),
            Action::Cancel { at_once } => {
                next.lease.end_at(STEP, at_once);
                next.controller.cancelled = Some(0);
                next.say();
            }
            Action::GiveUp => {
                next.lease.give_up(DRIVER, STEP);
                next.controller.is_missing_named = true;
                next.say();
            }
            Action::End => {
                let told = next.controller.told_end.is_some_and(|total| total == next.controller.counted);
                next.controller.is_missing_named |= !told;
                next.lease.life = Life::Over;
                next.dead = Some(0);
                next.say();
            }
            Action::CrashController => {
                next.controller.is_gone = true;
                next.dead = Some(0);
            }
            // It reads the stream of the run from the first message, and so counts again what was counted.
            Action::TakeUp => {
                next.controller = Controller {
                    is_gone: false,
                    holder: 2,
                    counted: 0,
                    told_end: None,
                    is_missing_named: next.lease.given_up.contains_key(DRIVER),
                    cancelled: next.controller.cancelled.map(|_| 0),
                };
                next.dead = None;
                next.say();
            }
            Action::DeliverRenewal { again } => {
                let lease = if again { next.renewals[0].clone() } else { next.renewals.remove(0) };
                if self.has_lease {
                    let standing = next.driver.standing.hears(&lease);
                    next.hear(standing, &lease);
                }
            }
            Action::LoseRenewal => drop(next.renewals.remove(0)),
            Action::Ask => {
                next.driver.asked = true;
                next.driver.answer = Some(next.lease.clone());
            }
            Action::DeliverAnswer => {
                let (lease, age) = (next.driver.answer.take()?, next.driver.answer_age);
                next.driver.forget_question();
                let standing = next.driver.standing.is_told(Some(&lease));
                match next.driver.standing {
                    Standing::Asks { told } if told.is_none_or(|beat| beat == lease.beat) => {
                        next.driver.told_age = age;
                    }
                    _ => {}
                }
                next.hear(standing, &lease);
            }
            Action::LoseAnswer => next.driver.forget_question(),
            Action::DeliverEvent { seq } => {
                // Duplicates and what comes too early change nothing.
                if next.controller.counted == seq {
                    next.controller.counted += 1;
                }
            }
            Action::DeliverEnd => next.controller.told_end = Some(next.driver.done),
            Action::Work => {
                next.look();
                if !next.driver.standing.may_make_load() {
                    return Some(next);
                }
                next.driver.done += 1;
                let outlived = next.dead.is_some_and(|ticks| ticks > LOST_AFTER + 1);
                next.is_haunted |= outlived || next.at_return != Word::GoOn;
            }
            Action::Finish => next.driver.is_ended = true,
            Action::GivesUp => {
                next.driver.standing = next.driver.standing.gives_up();
                next.driver.is_ended = true;
            }
            Action::StandStill => next.driver.still = Some(0),
            Action::GoOn => {
                let stood = next.driver.still.take();
                // A shorter time is like a slow machine.
                if stood.is_some_and(|ticks| ticks > 0) && self.has_lease {
                    next.driver.doubt();
                }
                if stood.is_some_and(|ticks| ticks > 0) && next.at_return == Word::GoOn {
                    next.at_return = next.word();
                }
            }
            Action::CutOff => {
                next.driver.is_cut_off = true;
                next.renewals.clear();
            }
            Action::Reconnect => next.driver.is_cut_off = false,
            // What it has on its disk it still tells, and that it was started again.
            Action::CrashDriver => {
                next.driver.is_ended = true;
                next.controller.is_missing_named |= next.is_living();
            }
        }
        next.look();
        (next != *last).then_some(next)
    }

    fn properties(&self) -> Vec<Property<Self>> {
        vec![
            Property::always("no load without a living run", |_, state: &State| !state.is_haunted),
            Property::always("a cancelled run ends", |_, state: &State| {
                !state.is_living() || state.controller.cancelled.is_none_or(|ticks| ticks <= PATIENCE)
            }),
            Property::always("no sample is counted twice or lost unnamed", |_, state: &State| {
                let Controller { counted, told_end, is_missing_named, .. } = &state.controller;
                let is_whole = *told_end == Some(*counted);
                *counted <= state.driver.done
                    && (state.lease.life != Life::Over || is_whole || *is_missing_named)
            }),
            Property::always("what is over stays over", |_, state: &State| {
                state.driver.standing != Standing::Over || state.lease.life == Life::Over
            }),
            Property::sometimes("load is made", |_, state: &State| state.driver.done == MOST_DONE),
            Property::sometimes("a driver that doubted goes on", |_, state: &State| state.went_on),
            Property::sometimes("a run that was taken up ends whole", |_, state: &State| {
                let Controller { holder, counted, is_missing_named, .. } = &state.controller;
                state.lease.life == Life::Over && *holder == 2 && *counted == MOST_DONE && !is_missing_named
            }),
        ]
    }
}

#[test]
fn whatever_happens_nobody_makes_load_for_a_run_that_is_over_and_every_run_ends() {
    let checked = World { has_lease: true }.checker().threads(2).spawn_bfs().join();
    eprintln!("{} states, {} of them different", checked.state_count(), checked.unique_state_count());
    assert!(checked.is_done());
    checked.assert_properties();
}

#[test]
fn without_the_lease_a_driver_that_comes_back_makes_load_for_a_run_that_is_over() {
    let checked = World { has_lease: false }.checker().threads(2).spawn_bfs().join();
    let found = checked.discovery("no load without a living run");
    let path = found.map(stateright::Path::into_actions).unwrap_or_default();
    assert!(
        path.contains(&Action::Work),
        "the model does not see the fault that the lease is there for: {path:?}"
    );
}
