//! A hash map that never stops for long to grow.
//!
//! A plain hash map of a million names re-hashes all of them at once when it is full: tens of milliseconds in
//! which the server answers nobody, which a benchmark would rightly report. Here many small maps grow one by
//! one. Small maps stay in one piece, so that thousands of containers cost little.

use std::borrow::Borrow;
use std::collections::HashMap;
use std::hash::{BuildHasher, Hash, RandomState};

/// Entries up to which there is only one shard.
const SMALL: usize = 4096;
/// Shards of a large map.
const SHARDS: usize = 1024;

/// A map in shards.
pub(crate) struct Sharded<K, V> {
    shards: Vec<HashMap<K, V>>,
    hasher: RandomState,
    len: usize,
}

impl<K: Hash + Eq, V> Sharded<K, V> {
    pub(crate) fn new() -> Sharded<K, V> {
        Sharded { shards: vec![HashMap::new()], hasher: RandomState::new(), len: 0 }
    }

    pub(crate) fn len(&self) -> usize {
        self.len
    }

    fn shard<Q: Hash + ?Sized>(&self, key: &Q) -> usize {
        if self.shards.len() == 1 {
            0
        } else {
            (self.hasher.hash_one(key) % self.shards.len() as u64) as usize
        }
    }

    pub(crate) fn get<Q>(&self, key: &Q) -> Option<(&K, &V)>
    where
        K: Borrow<Q>,
        Q: Hash + Eq + ?Sized,
    {
        self.shards[self.shard(key)].get_key_value(key)
    }

    pub(crate) fn get_mut<Q>(&mut self, key: &Q) -> Option<&mut V>
    where
        K: Borrow<Q>,
        Q: Hash + Eq + ?Sized,
    {
        let shard = self.shard(key);
        self.shards[shard].get_mut(key)
    }

    /// Adds or replaces.
    pub(crate) fn insert(&mut self, key: K, value: V) {
        if self.shards.len() == 1 && self.len >= SMALL {
            self.spread();
        }
        let shard = self.shard(&key);
        self.len += usize::from(self.shards[shard].insert(key, value).is_none());
    }

    pub(crate) fn remove<Q>(&mut self, key: &Q)
    where
        K: Borrow<Q>,
        Q: Hash + Eq + ?Sized,
    {
        let shard = self.shard(key);
        self.len -= usize::from(self.shards[shard].remove(key).is_some());
    }

    pub(crate) fn clear(&mut self) {
        self.shards = vec![HashMap::new()];
        self.len = 0;
    }

    fn spread(&mut self) {
        let small = std::mem::take(&mut self.shards);
        self.shards.resize_with(SHARDS, HashMap::new);
        for (key, value) in small.into_iter().flatten() {
            let shard = self.shard(&key);
            self.shards[shard].insert(key, value);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn entries_are_found_replaced_and_removed_across_the_change_of_shape() {
        let mut map = Sharded::new();
        let name = |n: usize| format!("name {n}");
        for n in 0..3 * SMALL {
            map.insert(name(n), n);
            map.insert(name(n), n + 1);
        }
        assert_eq!(map.len(), 3 * SMALL);
        assert!((0..3 * SMALL).all(|n| map.get(name(n).as_str()).map(|(_, v)| *v) == Some(n + 1)));
        (0..SMALL).for_each(|n| map.remove(name(n).as_str()));
        map.remove("no such name");
        assert_eq!((map.len(), map.get(name(0).as_str())), (2 * SMALL, None));
        *map.get_mut(name(SMALL).as_str()).unwrap() = 0;
        assert_eq!(map.get(name(SMALL).as_str()).map(|(_, v)| *v), Some(0));
        map.clear();
        assert_eq!((map.len(), map.get(name(SMALL).as_str())), (0, None));
    }
}
