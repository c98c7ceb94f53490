//! The header lines of a request that a signature covers, sorted by name, without allocation.

/// Most lines that one request signs.
const CAPACITY: usize = 12;

/// Header lines (lower-case name, value), sorted by name.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Lines<'a> {
    items: [(&'a str, &'a [u8]); CAPACITY],
    count: usize,
}

impl<'a> Lines<'a> {
    pub(crate) fn new() -> Self {
        Self { items: [("", &[]); CAPACITY], count: 0 }
    }

    /// Adds a line in its place. `name` is lower-case; the value has no blanks at its ends.
    pub(crate) fn add(&mut self, name: &'a str, value: &'a [u8]) {
        debug_assert!(self.count < CAPACITY, "no room for {name}");
        if self.count == CAPACITY {
            return;
        }
        let mut at = self.count;
        while at > 0 && self.items[at - 1].0 > name {
            self.items[at] = self.items[at - 1];
            at -= 1;
        }
        self.items[at] = (name, value);
        self.count += 1;
    }

    pub(crate) fn iter(&self) -> impl Iterator<Item = (&'a str, &'a [u8])> + '_ {
        self.items[..self.count].iter().copied()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_are_sorted_whatever_the_order_they_come_in() {
        let mut lines = Lines::new();
        for name in ["x-amz-date", "host", "x-amz-trailer", "range", "x-amz-content-sha256"] {
            lines.add(name, b"v");
        }
        let names: Vec<_> = lines.iter().map(|(name, _)| name).collect();
        assert_eq!(names, ["host", "range", "x-amz-content-sha256", "x-amz-date", "x-amz-trailer"]);
    }
}
