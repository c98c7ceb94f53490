//! How many connections there may be. All together take half of what the process may have open, so that files, drivers and
//! NATS have the rest. One address may have as many as are still free: alone it comes to half of them, as a proxy does.
//! When none is free, who has fewer than another gets the place of that one's newest connection.

use std::collections::{HashMap, VecDeque};
use std::io;
use std::net::IpAddr;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::task::Context;
use std::time::Duration;

use cosmark_driver::proc::nofile_limit;
use futures_util::task::AtomicWaker;
use tokio::time::Instant;

use crate::auth::network_of;

/// More are not served, however many files the process may have open.
const MOST: u64 = 4096;
/// Files that a process may have open where the system does not say it.
const USUAL_NOFILE: u64 = 1024;
/// It is said so often at most that connections were closed.
const SAID_EVERY: Duration = Duration::from_secs(60);

/// The places of all connections.
pub struct Places {
    most: usize,
    tell: Arc<dyn Fn(&str) + Send + Sync>,
    taken: Mutex<Taken>,
}

#[derive(Default)]
struct Taken {
    all: usize,
    /// The connections of each network, the newest last.
    by_network: HashMap<IpAddr, VecDeque<Arc<Seat>>>,
    /// Closed for want of a place since it was last said, and when that was.
    closed: u64,
    said: Option<Instant>,
}

#[derive(Default)]
struct Seat {
    is_given_away: AtomicBool,
    /// Who waits for something to happen on the connection.
    waker: AtomicWaker,
}

/// The place of one connection, free again when this is dropped.
pub struct Place {
    places: Arc<Places>,
    network: IpAddr,
    seat: Arc<Seat>,
}

impl Places {
    /// As many as this process can serve; `tell` shows a sentence to the operator.
    #[must_use]
    pub fn here(tell: Arc<dyn Fn(&str) + Send + Sync>) -> Arc<Self> {
        let most = (nofile_limit().unwrap_or(USUAL_NOFILE) / 2).clamp(1, MOST);
        Self::of(usize::try_from(most).unwrap_or(1), tell)
    }

    /// So many.
    #[must_use]
    pub fn of(most: usize, tell: Arc<dyn Fn(&str) + Send + Sync>) -> Arc<Self> {
        Arc::new(Self { most, tell, taken: Mutex::default() })
    }

    fn taken(&self) -> MutexGuard<'_, Taken> {
        self.taken.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// A place for a connection from this address; `None` when it has to be closed.
    #[must_use]
    pub fn take(self: &Arc<Self>, from: IpAddr) -> Option<Place> {
        let network = network_of(from);
        let mut taken = self.taken();
        let here = taken.by_network.get(&network).map_or(0, VecDeque::len);
        let free = self.most.saturating_sub(taken.all);
        let given_up = if free == 0 { taken.make_room(here) } else { None };
        let place = (here < free || given_up.is_some()).then(|| {
            let seat = Arc::new(Seat::default());
            taken.all += 1;
            taken.by_network.entry(network).or_default().push_back(Arc::clone(&seat));
            Place { places: Arc::clone(self), network, seat }
        });
        if given_up.is_some() || place.is_none() {
            self.say(taken, from);
        }
        if let Some(seat) = given_up {
            seat.waker.wake();
        }
        place
    }

    fn say(&self, mut taken: MutexGuard<'_, Taken>, from: IpAddr) {
        taken.closed += 1;
        if taken.said.is_some_and(|said| said.elapsed() < SAID_EVERY) {
            return;
        }
        taken.said = Some(Instant::now());
        let (closed, all) = (std::mem::take(&mut taken.closed), taken.all);
        drop(taken);
        (self.tell)(&format!(
            "connections closed for want of a place: {closed}, the last when {from} came; {all} are open, there may be {}, and \
             of one address as many as are free",
            self.most
        ));
    }
}

impl Taken {
    /// Takes a place from the network that has the most, for one that has `here`; none where nobody has more than that one
    /// will. Who waits there is to be woken.
    fn make_room(&mut self, here: usize) -> Option<Arc<Seat>> {
        let most = self.by_network.values_mut().max_by_key(|seats| seats.len())?;
        if most.len() <= here + 1 {
            return None;
        }
        let seat = most.pop_back()?;
        self.all = self.all.saturating_sub(1);
        seat.is_given_away.store(true, Ordering::Release);
        Some(seat)
    }
}

impl Place {
    /// Whoever waits is woken when the place is given away.
    ///
    /// # Errors
    /// When it was: the connection is to be closed.
    pub fn check(&self, cx: &Context<'_>) -> io::Result<()> {
        self.seat.waker.register(cx.waker());
        if self.seat.is_given_away.load(Ordering::Acquire) {
            return Err(io::ErrorKind::ConnectionAborted.into());
        }
        Ok(())
    }
}

impl Drop for Place {
    fn drop(&mut self) {
        let mut taken = self.places.taken();
        let Some(seats) = taken.by_network.get_mut(&self.network) else { return };
        let before = seats.len();
        seats.retain(|seat| !Arc::ptr_eq(seat, &self.seat));
        let (freed, is_empty) = (before - seats.len(), seats.is_empty());
        if is_empty {
            taken.by_network.remove(&self.network);
        }
        taken.all = taken.all.saturating_sub(freed);
    }
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::AtomicUsize;
    use std::task::Waker;

    use super::*;

    fn silent(most: usize) -> Arc<Places> {
        Places::of(most, Arc::new(|_: &str| {}))
    }

    fn all_of(places: &Arc<Places>, from: &str) -> Vec<Place> {
        let from: IpAddr = from.parse().unwrap();
        std::iter::from_fn(|| places.take(from)).take(10_000).collect()
    }

    /// How many of them were not given away.
    fn left(places: &[Place]) -> usize {
        let cx = Context::from_waker(Waker::noop());
        places.iter().filter(|place| place.check(&cx).is_ok()).count()
    }

    #[test]
    fn one_alone_has_half_of_all_places() {
        for most in [1, 2, 7, 100, 4096] {
            let places = silent(most);
            let greedy = all_of(&places, "10.0.0.1");
            assert_eq!(greedy.len(), most.div_ceil(2), "{most}");
            assert_eq!(all_of(&places, "::ffff:10.0.0.1").len(), 0, "the same address in another form");
            drop(greedy);
            let taken = places.taken();
            assert_eq!((taken.all, taken.by_network.len()), (0, 0));
        }
        // Of one network of IPv6 all are one.
        let places = silent(100);
        let first = all_of(&places, "2001:db8:1:2::1");
        assert_eq!((first.len(), all_of(&places, "2001:db8:1:2:3::9").len()), (50, 0));
        assert_eq!(all_of(&places, "2001:db8:1:3::1").len(), 25);
    }

    #[test]
    fn who_has_few_finds_a_place_however_many_take_all_they_can() {
        let places = silent(500);
        let mut greedy: Vec<_> = (0..40).map(|n| all_of(&places, &format!("10.0.0.{n}"))).collect();
        assert!(greedy.iter().all(|one| left(one) > 0), "nobody has lost all");
        assert_eq!(greedy.iter().map(|one| left(one)).sum::<usize>(), places.taken().all);
        let others: Vec<_> = (0..100).filter_map(|n| places.take([10, 1, 0, n].into())).collect();
        assert_eq!((others.len(), left(&others)), (100, 100));
        assert!(places.taken().all <= 500);
        // Who gives places back that were given away gives them back once.
        greedy.clear();
        let all = places.taken().all;
        assert_eq!(all, 100);
        drop(others);
        let taken = places.taken();
        assert_eq!((taken.all, taken.by_network.len()), (0, 0));
    }

    #[tokio::test(start_paused = true)]
    async fn it_is_said_once_in_a_minute_that_places_are_wanting() {
        let count = Arc::new(AtomicUsize::new(0));
        let said = Arc::clone(&count);
        let tell = move |text: &str| {
            assert!(text.contains("10.0.0.1") && text.contains("may be 4,"), "{text}");
            said.fetch_add(1, Ordering::Relaxed);
        };
        let places = Places::of(4, Arc::new(tell));
        let from: IpAddr = "10.0.0.1".parse().unwrap();
        let held: Vec<_> = (0..100).filter_map(|_| places.take(from)).collect();
        assert_eq!((held.len(), count.load(Ordering::Relaxed)), (2, 1));
        tokio::time::advance(SAID_EVERY).await;
        assert!((0..100).all(|_| places.take(from).is_none()));
        assert_eq!(count.load(Ordering::Relaxed), 2);
    }
}
