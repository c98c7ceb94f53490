//! The file systems of a machine that hold what a store stores, by the collector `filesystem` of `node_exporter`.

use std::collections::BTreeMap;

use super::Series;
use crate::filesystems::{self, FileSystem};
use crate::reading::Reading;

const SIZE: &str = "node_filesystem_size_bytes";
const FREE: &str = "node_filesystem_free_bytes";
/// Those of before 0.16.
const OLDER_SIZE: &str = "node_filesystem_size";
const OLDER_FREE: &str = "node_filesystem_free";

/// The series that are read.
pub static NAMES: [&str; 4] = [SIZE, FREE, OLDER_SIZE, OLDER_FREE];

/// Adds those that are mounted at these directories or below; gives how many there are.
pub fn add(series: &[Series], directories: &[String], reading: &mut Reading) -> usize {
    if directories.is_empty() {
        return 0;
    }
    let is_there = |name: &str| series.iter().any(|one| one.name == name);
    let (size, free) = if is_there(SIZE) { (SIZE, FREE) } else { (OLDER_SIZE, OLDER_FREE) };
    let of = |one: &'_ Series| Some((one.label("device")?.to_owned(), one.label("mountpoint")?.to_owned()));
    let mut rest = BTreeMap::new();
    for one in series.iter().filter(|one| one.name == free) {
        if let Some(own) = of(one).filter(|(_, place)| filesystems::is_below(place, directories)) {
            rest.entry(own).or_insert(one.value);
        }
    }
    let one = |one: &Series| {
        let own = of(one)?;
        let free = *rest.get(&own)?;
        let kind = one.label("fstype").unwrap_or_default().to_owned();
        Some(FileSystem { device: own.0, place: own.1, kind, size: one.value, free })
    };
    let mounted = series.iter().filter(|one| one.name == size).filter_map(one);
    filesystems::add(mounted, directories, (size, free), reading)
}

#[cfg(test)]
#[allow(clippy::unwrap_used, reason = "a test may stop at the first surprise")]
mod tests {
    use super::*;
    use crate::prometheus::parse;

    #[test]
    fn file_systems_at_and_below_a_directory_count_once_each_and_others_do_not() {
        let mut text = String::new();
        for (device, place, size, free) in [
            ("/dev/sda1", "/", 900, 100),
            ("/dev/sdb1", "/srv/node/d1", 1000, 400),
            ("/dev/sdc1", "/srv/node/d2", 2000, 0),
            ("/dev/sdc1", "/srv/node/again", 2000, 0),
            ("/dev/sdd1", "/srv/nodes", 5000, 5000),
            ("tmpfs", "/mem/one", 50, 20),
            ("tmpfs", "/mem/two", 60, 30),
            ("filer:/a", "/nfs/one", 70, 10),
            ("filer:/a", "/nfs/again", 70, 10),
            ("filer:/b", "/nfs/b", 80, 10),
        ] {
            for (name, value) in [("size", size), ("free", free)] {
                text += &format!(
                    "node_filesystem_{name}_bytes{{device=\"{device}\",fstype=\"xfs\",mountpoint=\"{place}\"}} {value}\n"
                );
            }
        }
        let mut reading = Reading::default();
        let series = parse(&text).series;
        assert_eq!(add(&series, &["/srv/node".to_owned()], &mut reading), 2);
        let found: Vec<_> =
            reading.samples.iter().map(|s| (s.quantity.id, s.unit.as_str(), s.value)).collect();
        assert_eq!(
            found,
            [
                ("store_capacity_bytes", "/srv/node/d1", 1000.0),
                ("store_free_bytes", "/srv/node/d1", 400.0),
                ("store_capacity_bytes", "/srv/node/d2", 2000.0),
                ("store_free_bytes", "/srv/node/d2", 0.0),
            ]
        );
        let older = parse(&text.replace("_bytes{", "{")).series;
        let mut same = Reading::default();
        assert_eq!(add(&older, &["/srv/node".to_owned()], &mut same), 2);
        let values = |reading: &Reading| -> Vec<f64> { reading.samples.iter().map(|s| s.value).collect() };
        assert_eq!(values(&same), values(&reading));
        let mut memory = Reading::default();
        assert_eq!(add(&series, &["/mem".to_owned()], &mut memory), 2);
        let mut server = Reading::default();
        assert_eq!(add(&series, &["/nfs".to_owned()], &mut server), 2);
        let mut none = Reading::default();
        assert_eq!((add(&series, &["/var".to_owned()], &mut none), none.samples.len()), (0, 0));
        assert_eq!(add(&series, &[], &mut none), 0);
    }

    #[test]
    fn each_of_many_file_systems_finds_its_own_numbers() {
        let mut text = String::new();
        for at in 0..50_000 {
            for (name, value) in [("size_bytes", 90_000), ("free_bytes", at)] {
                text += &format!(
                    "node_filesystem_{name}{{device=\"/dev/d{at}\",mountpoint=\"/d/{at}\"}} {value}\n"
                );
            }
        }
        let (series, mut reading) = (parse(&text).series, Reading::default());
        assert_eq!(add(&series, &["/d".to_owned()], &mut reading), 50_000);
        let free = reading.samples.iter().filter(|one| one.name == FREE);
        assert!(free.enumerate().all(|(at, one)| one.value == at as f64 && *one.unit == *format!("/d/{at}")));
    }
}
