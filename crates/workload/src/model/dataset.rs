//! Data sets: objects that one run writes and later runs read by name. All of a data set follows from a few numbers: which
//! object stands at which position, how long it is, which version a pass writes. So a fill that was cut off goes on from
//! the positions that are left, and whoever knows the numbers can check any object.

use std::fmt;
use std::str::FromStr;

use crate::model::selector::{IntSelector, SizeSelector};
use crate::model::{Effect, Operation};
use crate::plan::permutation::Permutation;

/// Most objects of a data set: a bit for each is kept in memory while it is filled.
pub const MOST_OBJECTS: u64 = 1_000_000_000;
/// Longest name of a data set.
pub const LONGEST_NAME: usize = 40;
/// Most stretches of positions that one order names.
pub const MOST_STRETCHES: usize = 4_000;

/// Objects that workers may have been ahead of each other when a pass ended.
const AHEAD: u64 = 100;

/// True for a name that a data set may have: it begins names of buckets.
#[must_use]
pub fn is_name(name: &str) -> bool {
    let inner = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '-';
    (1..=LONGEST_NAME).contains(&name.len()) && name.chars().all(inner) && !name.starts_with('-')
}

/// True for a name of a node that a pass may name: names stand in a list with commas.
#[must_use]
pub fn is_node(name: &str) -> bool {
    !name.trim().is_empty() && !name.contains(|c: char| c == ',' || c.is_control())
}

/// A name as one word, with `%20` for a blank.
fn as_word(name: &str) -> String {
    name.replace('%', "%25").replace(' ', "%20")
}

fn of_word(word: &str) -> String {
    word.replace("%20", " ").replace("%25", "%")
}

/// Whether much of what is there lies behind a gap: more than a hundredth of the objects up to `end`, of which those before
/// `without_gap` have none, and more than workers that were ahead at the end have left of a few.
#[must_use]
pub fn is_torn(without_gap: u64, end: u64) -> bool {
    end.saturating_sub(without_gap) > (end / 100).max(AHEAD.min(end / 10))
}

/// One pass over a data set, or over a part of it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FillPass {
    /// Name of the data set.
    pub dataset: String,
    /// Objects of the whole data set; above 0.
    pub objects: u64,
    /// Which pass of the data set it is, from 0.
    pub step: u32,
    /// Passes of the data set.
    pub steps: u32,
    /// The version that it writes: 0 when the data set is filled, then the number of the round of ageing.
    pub round: u32,
    /// The objects follow one another as if by chance.
    pub scattered: bool,
    /// First position in that order, and how many follow; the order is a circle.
    pub start: u64,
    /// Positions of the pass; above 0.
    pub count: u64,
    /// It ends as soon as the store says that it is so full, in millionths of its capacity: `count` is the most that it writes
    /// then. `None` = it writes all.
    pub full_at_ppm: Option<u32>,
    /// The names of the nodes by whose word that is; none = by that of all that say how full the store is.
    pub full_by: Vec<String>,
    /// What the contents follow from; `None` = the seed of the run.
    pub seed: Option<u64>,
    /// What of its positions (0 to `count` - 1) is left to do, as first and last; `None` = all.
    pub left: Option<Vec<(u64, u64)>>,
    /// Positions in them that are done already, and are done again.
    pub again: u64,
    /// Positions that are not done and in none of them: for a later run.
    pub later: u64,
}

/// A place in the grid of a data set: 0-based container and object.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Cell {
    /// Index of the container in its range.
    pub container: u64,
    /// Index of the object in its range.
    pub object: u64,
}

/// The place of object `number` (0-based) of a data set over `containers` containers: one container after the other.
#[must_use]
pub fn cell_of(number: u64, containers: u64) -> Cell {
    let containers = containers.max(1);
    Cell { container: number % containers, object: number / containers }
}

/// The object at this place; `None` beyond the end of numbers.
#[must_use]
pub fn number_of(cell: Cell, containers: u64) -> Option<u64> {
    cell.object.checked_mul(containers.max(1))?.checked_add(cell.container)
}

impl FillPass {
    /// The object (0-based, of the whole data set) that this position of the pass is about.
    #[must_use]
    pub fn object_at(&self, position: u64) -> u64 {
        let objects = self.objects.max(1);
        let at = (u128::from(self.start) + u128::from(position)) % u128::from(objects);
        let at = u64::try_from(at).unwrap_or(0);
        if self.scattered { Permutation::new(objects).apply(at) } else { at }
    }

    /// The position of the pass that is about this object; `None` when none is.
    #[must_use]
    pub fn position_of(&self, object: u64) -> Option<u64> {
        if object >= self.objects {
            return None;
        }
        let at = if self.scattered { Permutation::new(self.objects).invert(object) } else { object };
        let position = (at + (self.objects - self.start % self.objects)) % self.objects;
        (position < self.count).then_some(position)
    }

    /// Positions that are left.
    #[must_use]
    pub fn left(&self) -> u64 {
        match &self.left {
            None => self.count,
            Some(left) => left.iter().map(|(first, last)| last - first + 1).sum(),
        }
    }

    /// Positions that are done before it begins.
    #[must_use]
    pub fn before(&self) -> u64 {
        (self.count + self.again).saturating_sub(self.left() + self.later)
    }

    /// What is missing between objects that are there, where so much is that it counts: else nothing.
    #[must_use]
    pub fn gaps(&self) -> Vec<(u64, u64)> {
        let left = self.left.as_deref().unwrap_or_default();
        let behind = left.last().filter(|(_, last)| last + 1 == self.count);
        let end = behind.map_or(self.count, |(first, _)| *first);
        let gaps = left.iter().filter(|(first, _)| *first < end);
        let without_gap = left.first().map_or(end, |(first, _)| *first);
        if is_torn(without_gap, end) { gaps.copied().collect() } else { Vec::new() }
    }

    /// The share of the store's capacity at which it ends, 0 to 1.
    #[must_use]
    pub fn full_at(&self) -> Option<f64> {
        self.full_at_ppm.map(|ppm| f64::from(ppm) / 1e6)
    }

    /// Which write of this object a pass of `round` makes, from the data set's seed.
    #[must_use]
    pub fn version(seed: u64, round: u32, object: u64) -> u64 {
        spread(seed ^ spread(object ^ (u64::from(round) << 48)))
    }

    /// What the length of this object is drawn with.
    #[must_use]
    pub fn size_seed(seed: u64, object: u64) -> u64 {
        spread(spread(seed ^ 0x7369_7a65) ^ object)
    }
}

/// The finaliser of `SplitMix64` (Steele, Lea, Flood 2014).
fn spread(value: u64) -> u64 {
    let value = value.wrapping_add(0x9E37_79B9_7F4A_7C15);
    let value = (value ^ (value >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
    let value = (value ^ (value >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
    value ^ (value >> 31)
}

impl fmt::Display for FillPass {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let order = if self.scattered { "scattered" } else { "sequential" };
        let Self { dataset, objects, step, steps, round, start, count, .. } = self;
        write!(
            f,
            "{dataset} objects={objects} step={step} steps={steps} round={round} order={order} start={start} count={count}"
        )?;
        if let Some(ppm) = self.full_at_ppm {
            write!(f, " full_at_ppm={ppm}")?;
        }
        if !self.full_by.is_empty() {
            let names: Vec<String> = self.full_by.iter().map(|name| as_word(name)).collect();
            write!(f, " full_by={}", names.join(","))?;
        }
        if let Some(seed) = self.seed {
            write!(f, " seed={seed}")?;
        }
        if let Some(left) = &self.left {
            let stretches: Vec<String> = left.iter().map(|(first, last)| format!("{first}-{last}")).collect();
            write!(f, " left={}", stretches.join(","))?;
        }
        for (key, count) in [("again", self.again), ("later", self.later)] {
            if count > 0 {
                write!(f, " {key}={count}")?;
            }
        }
        Ok(())
    }
}

impl FromStr for FillPass {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let mut words = text.split_ascii_whitespace();
        let dataset =
            words.next().filter(|name| is_name(name)).ok_or("it begins with no name of a data set")?;
        let mut pass = Self {
            dataset: dataset.to_owned(),
            objects: 0,
            step: 0,
            steps: 1,
            round: 0,
            scattered: false,
            start: 0,
            count: 0,
            full_at_ppm: None,
            full_by: Vec::new(),
            seed: None,
            left: None,
            again: 0,
            later: 0,
        };
        for word in words {
            let (key, value) = word.split_once('=').ok_or_else(|| format!("`{word}` is no key=value"))?;
            let number = || value.parse::<u64>().map_err(|_| format!("`{word}` has no whole number"));
            let small = || value.parse::<u32>().map_err(|_| format!("`{word}` has no whole number"));
            match key {
                "objects" => pass.objects = number()?,
                "step" => pass.step = small()?,
                "steps" => pass.steps = small()?,
                "round" => pass.round = small()?,
                "order" => pass.scattered = value == "scattered",
                "start" => pass.start = number()?,
                "count" => pass.count = number()?,
                "full_at_ppm" => pass.full_at_ppm = Some(small()?),
                "full_by" => pass.full_by = value.split(',').map(of_word).collect(),
                "seed" => pass.seed = Some(number()?),
                "left" => pass.left = Some(stretches(value)?),
                "again" => pass.again = number()?,
                "later" => pass.later = number()?,
                _ => return Err(format!("`{key}` is no part of a pass")),
            }
        }
        pass.checked()
    }
}

impl FillPass {
    fn checked(self) -> Result<Self, String> {
        let within = (1..=MOST_OBJECTS).contains(&self.objects) && (1..=self.objects).contains(&self.count);
        if !within || self.start >= self.objects || self.step >= self.steps || self.steps > 1_000 {
            return Err("its numbers do not fit one another".to_owned());
        }
        // What is there at its end is to be a range from the first object on, which no other pass has changed.
        let in_order = !self.scattered && self.steps == 1 && self.start == 0 && self.count == self.objects;
        if self.full_at_ppm.is_some_and(|ppm| ppm == 0 || ppm > 1_000_000 || !in_order) {
            return Err("it cannot end when the store is so full".to_owned());
        }
        if !self.full_by.iter().all(|name| is_node(name))
            || (self.full_at_ppm.is_none() && !self.full_by.is_empty())
        {
            return Err("it names nodes that cannot say how full the store is to be".to_owned());
        }
        let mut next = 0;
        for (first, last) in self.left.iter().flatten() {
            if *first < next || last < first || *last >= self.count {
                return Err("what is left is not in order, or beyond its end".to_owned());
            }
            next = last + 1;
        }
        let missing = self.left().checked_sub(self.again).and_then(|new| new.checked_add(self.later));
        if missing.is_none_or(|missing| missing > self.count) {
            return Err("what is done again or later does not fit what is left".to_owned());
        }
        Ok(self)
    }
}

fn stretches(text: &str) -> Result<Vec<(u64, u64)>, String> {
    let mut all = Vec::new();
    for part in text.split(',').filter(|part| !part.is_empty()) {
        let ends =
            part.split_once('-').and_then(|(first, last)| Some((first.parse().ok()?, last.parse().ok()?)));
        all.push(ends.ok_or_else(|| format!("`{part}` is no stretch first-last"))?);
        if all.len() > MOST_STRETCHES {
            return Err(format!("more than {MOST_STRETCHES} stretches are left"));
        }
    }
    Ok(all)
}

/// What an operation that names a data set works on.
#[derive(Debug, Clone, PartialEq)]
pub struct DataSetUse {
    /// Its name.
    pub name: String,
    /// First and last container.
    pub containers: (u64, u64),
    /// First and last object of every container.
    pub objects: (u64, u64),
    /// How long its objects are.
    pub sizes: SizeSelector,
}

impl fmt::Display for DataSetUse {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { name, containers, objects, sizes } = self;
        write!(f, "{name} r({},{}) r({},{}) {sizes}", containers.0, containers.1, objects.0, objects.1)
    }
}

impl FromStr for DataSetUse {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let words: Vec<&str> = text.split_ascii_whitespace().collect();
        let [name, containers, objects, sizes] = words[..] else {
            return Err("a data set is a name, with its containers, objects and sizes behind it".to_owned());
        };
        if !is_name(name) {
            return Err(format!("`{name}` is no name of a data set"));
        }
        let range = |text: &str| match text.parse::<IntSelector>() {
            Ok(IntSelector::Range { lo, hi }) if lo <= hi && hi > 0 => Ok((lo, hi)),
            _ => Err(format!("`{text}` is no range r(1,4)")),
        };
        let sizes = sizes.parse::<SizeSelector>().map_err(|error| error.message)?;
        Ok(Self { name: name.to_owned(), containers: range(containers)?, objects: range(objects)?, sizes })
    }
}

/// A data set as an archive or a workload knows it.
#[derive(Debug, Clone, PartialEq)]
pub struct DataSetFacts {
    /// What it is.
    pub of: DataSetUse,
    /// Names of its containers: before and behind the number.
    pub container_names: (String, String),
    /// Names of its objects: before and behind the number.
    pub object_names: (String, String),
    /// Why nothing may read it now, and what to do; `None` = it may be read.
    pub refused: Option<String>,
}

impl DataSetFacts {
    /// The keys of an operation that works on it, as in native YAML; `in_order` where a special work walks it.
    #[must_use]
    pub fn keys(&self, in_order: bool) -> Vec<(&'static str, String)> {
        let DataSetUse { containers, objects, sizes, .. } = &self.of;
        let kind = if in_order { 'r' } else { 'u' };
        let mut keys = vec![
            ("containers", format!("{kind}({},{})", containers.0, containers.1)),
            ("objects", format!("{kind}({},{})", objects.0, objects.1)),
            ("sizes", sizes.to_string()),
            ("object_names", "counted".to_owned()),
        ];
        let names = [
            ("container_prefix", &self.container_names.0),
            ("container_suffix", &self.container_names.1),
            ("object_prefix", &self.object_names.0),
            ("object_suffix", &self.object_names.1),
        ];
        keys.extend(names.into_iter().map(|(key, name)| (key, name.clone())));
        keys
    }
}

/// Why an operation may not work on a data set: later runs count on its objects.
#[must_use]
pub fn harms(operation: &Operation) -> bool {
    matches!(operation.kind.row().effect, Effect::Deletes | Effect::RemovesContainer)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn pass(objects: u64, start: u64, count: u64, scattered: bool) -> FillPass {
        let text = format!(
            "d objects={objects} start={start} count={count} order={}",
            if scattered { "scattered" } else { "sequential" }
        );
        text.parse().unwrap()
    }

    #[test]
    fn a_pass_is_about_each_of_its_objects_once_and_knows_where() {
        for objects in [1_u64, 2, 3, 7, 64, 1000] {
            for (start, count) in [(0, objects), (objects / 2, objects.div_ceil(3)), (objects - 1, objects)] {
                for scattered in [false, true] {
                    let pass = pass(objects, start, count, scattered);
                    let mut seen = std::collections::BTreeSet::new();
                    for position in 0..count {
                        let object = pass.object_at(position);
                        assert!(object < objects && seen.insert(object), "{pass} {position}");
                        assert_eq!(pass.position_of(object), Some(position), "{pass}");
                    }
                    let others = (0..objects).filter(|object| !seen.contains(object));
                    assert!(others.into_iter().all(|object| pass.position_of(object).is_none()), "{pass}");
                    assert_eq!(pass.position_of(objects), None);
                }
            }
        }
    }

    #[test]
    fn every_object_has_a_place_of_its_own() {
        for containers in [1, 3, 4] {
            for number in 0..50 {
                assert_eq!(number_of(cell_of(number, containers), containers), Some(number));
            }
        }
        assert_eq!(number_of(Cell { container: 1, object: u64::MAX }, 2), None);
    }

    #[test]
    fn what_is_missing_between_objects_counts_where_much_lies_behind_it() {
        let gaps = |left: &str| {
            format!("d objects=100000 count=100000 left={left}").parse::<FillPass>().unwrap().gaps()
        };
        // One of the first objects has failed.
        assert_eq!(gaps("7-7,60000-99999"), [(7, 7)]);
        assert_eq!(gaps("7-7,20-25"), [(7, 7), (20, 25)], "the last one is there");
        // Workers were ahead, or nothing is missing but the end.
        assert!(gaps("59700-59710,60000-99999").is_empty());
        assert!(gaps("60000-99999").is_empty());
        assert!(gaps("0-99999").is_empty());
        assert!(gaps("").is_empty());
        let new: FillPass = "d objects=5 count=5".parse().unwrap();
        assert!(new.gaps().is_empty());
        for (without_gap, end, torn) in [
            (3, 100, true),
            (91, 100, false),
            (590, 600, false),
            (539, 600, true),
            (19_800, 20_000, false),
            (0, 0, false),
        ] {
            assert_eq!(is_torn(without_gap, end), torn, "{without_gap} of {end}");
        }
    }

    #[test]
    fn a_pass_is_read_back_as_it_was_written_and_a_damaged_one_is_refused() {
        let mut one = pass(1000, 3, 500, true);
        (one.seed, one.left) = (Some(7), Some(vec![(0, 0), (5, 499)]));
        assert_eq!(one.to_string().parse::<FillPass>().unwrap(), one);
        assert_eq!(one.left(), 496);
        assert_eq!(one.before(), 4);
        (one.again, one.later) = (100, 3);
        assert_eq!(one.to_string().parse::<FillPass>().unwrap(), one);
        assert_eq!(one.before(), 101, "396 are written, and 3 later");
        (one.left, one.again) = (Some(Vec::new()), 0);
        assert_eq!(one.to_string().parse::<FillPass>().unwrap(), one);
        for wrong in [
            "",
            "D objects=1 count=1",
            "-d objects=1 count=1",
            "d",
            "d objects=0 count=0",
            "d objects=5 count=6",
            "d objects=5 count=5 start=5",
            "d objects=5 count=5 step=1",
            "d objects=5 count=5 left=3-2",
            "d objects=5 count=5 left=2-3,3-4",
            "d objects=5 count=5 left=0-5",
            "d objects=5 count=5 left=x",
            "d objects=5 count=5 left=0-1 again=3",
            "d objects=5 count=5 left=0-1 later=4",
            "d objects=5 count=5 colour=red",
            "d objects=5000000000 count=1",
            "d objects=5 count=5 full_at_ppm=0",
            "d objects=5 count=5 full_at_ppm=1000001",
            "d objects=5 count=4 full_at_ppm=600000",
            "d objects=5 count=5 full_at_ppm=600000 order=scattered",
            "d objects=5 count=5 full_at_ppm=600000 steps=2",
            "d objects=5 count=5 full_by=manager",
            "d objects=5 count=5 full_at_ppm=600000 full_by=",
            "d objects=5 count=5 full_at_ppm=600000 full_by=a,,b",
            "d objects=5 count=-1",
            "d objects",
        ] {
            assert!(wrong.parse::<FillPass>().is_err(), "{wrong}");
        }
    }

    #[test]
    fn a_pass_that_ends_when_the_store_is_full_enough_is_read_back_as_it_was_written() {
        let one: FillPass = "d objects=5 count=5 full_at_ppm=600000".parse().unwrap();
        assert_eq!((one.full_at_ppm, one.full_at()), (Some(600_000), Some(0.6)));
        assert_eq!(one.to_string().parse::<FillPass>().unwrap(), one);
        let named = FillPass {
            full_by: ["manager", "s=1", "node 1", "a%20b", "50%"].map(str::to_owned).to_vec(),
            ..one
        };
        assert_eq!(named.to_string().parse::<FillPass>().unwrap(), named);
        assert_eq!(pass(5, 0, 5, false).full_at(), None);
    }

    #[test]
    fn what_names_a_data_set_is_read_back_as_it_was_written() {
        let one: DataSetUse = "pebbles r(1,4) r(1,250) c(10)KB".parse().unwrap();
        assert_eq!(one.to_string().parse::<DataSetUse>().unwrap(), one);
        for wrong in [
            "pebbles",
            "a b c d",
            "p r(1,4) u(1,9) c(1)KB",
            "p r(0,0) r(1,2) c(1)KB",
            "P r(1,1) r(1,1) c(1)KB",
        ] {
            assert!(wrong.parse::<DataSetUse>().is_err(), "{wrong}");
        }
    }

    #[test]
    fn no_two_writes_of_an_object_are_one_and_neighbours_have_nothing_in_common() {
        let mut seen = std::collections::BTreeSet::new();
        for object in 0..1000 {
            for round in 0..4 {
                assert!(seen.insert(FillPass::version(1, round, object)));
            }
            assert!(seen.insert(FillPass::size_seed(1, object)));
        }
    }
}
