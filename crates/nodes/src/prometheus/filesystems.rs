//! The file systems of a machine that hold what a store stores, by the collector `filesystem` of Prometheus' `node_exporter`.
//! Which ones these are, only a user can say.

use std::collections::BTreeSet;
use std::path::Path;

use super::Series;
use crate::quantity as q;
use crate::reading::Reading;

/// Adds how large and how full the file systems are that are mounted at these directories or below. One that is mounted twice
/// counts once. Gives how many there are.
pub fn add(series: &[Series], directories: &[String], reading: &mut Reading) -> usize {
    let mut seen = BTreeSet::new();
    for one in series.iter().filter(|one| one.name == "node_filesystem_size_bytes" && one.value > 0.0) {
        let (Some(device), Some(place)) = (one.label("device"), one.label("mountpoint")) else { continue };
        if !directories.iter().any(|directory| Path::new(place).starts_with(directory)) {
            continue;
        }
        let of_it = |other: &&Series| {
            other.name == "node_filesystem_free_bytes"
                && other.label("device") == Some(device)
                && other.label("mountpoint") == Some(place)
        };
        // What has no device of its own, such as a tmpfs, has the name of its kind there.
        let own = if device.starts_with('/') { device } else { place };
        if let Some(free) = series.iter().find(of_it)
            && seen.insert(own)
        {
            reading.add_named(&q::STORE_CAPACITY, place, "node_filesystem_size_bytes", one.value);
            reading.add_named(&q::STORE_FREE, place, "node_filesystem_free_bytes", free.value);
        }
    }
    seen.len()
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
        let mut memory = Reading::default();
        assert_eq!(add(&series, &["/mem".to_owned()], &mut memory), 2);
        let mut none = Reading::default();
        assert_eq!((add(&series, &["/var".to_owned()], &mut none), none.samples.len()), (0, 0));
        assert_eq!(add(&series, &[], &mut none), 0);
    }
}
