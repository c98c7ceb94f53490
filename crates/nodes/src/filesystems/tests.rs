//! Lines of `df`, names as the kernel writes them, and what is mounted on this machine.

use std::time::Instant;

use super::*;

fn found(reading: &Reading) -> Vec<(&'static str, &str, f64)> {
    reading.samples.iter().map(|one| (one.quantity.id, one.unit.as_str(), one.value)).collect()
}

fn one(device: &str, place: &str, size: f64, free: f64) -> FileSystem {
    FileSystem { device: device.to_owned(), place: place.to_owned(), kind: String::new(), size, free }
}

fn of_kind(kind: &str, one: FileSystem) -> FileSystem {
    FileSystem { kind: kind.to_owned(), ..one }
}

/// What counts of these: names, sizes and what is free.
fn counted(mounted: Vec<FileSystem>) -> Vec<(String, f64, f64)> {
    let mut reading = Reading::default();
    let found = add(mounted, &["/".to_owned()], ("", ""), &mut reading);
    let all: Vec<(String, f64, f64)> =
        reading.samples.chunks(2).map(|two| (two[0].unit.clone(), two[0].value, two[1].value)).collect();
    assert_eq!(found, all.len());
    all
}

#[test]
fn what_the_datasets_of_a_pool_have_free_counts_once_whatever_the_source_says_of_their_kind() {
    // 1000 of the pool are free. They hold 0, 300 and 50, one may hold no more than 100, and one is mounted twice.
    let datasets = |kind: &str, root: &str| -> Vec<FileSystem> {
        vec![
            of_kind(root, one("tank", "/tank", 1000.0, 1000.0)),
            of_kind(kind, one("tank/a", "/tank/a", 1300.0, 1000.0)),
            of_kind(kind, one("tank/a", "/again", 1300.0, 1000.0)),
            of_kind(kind, one("tank/a/b", "/b", 100.0, 50.0)),
            of_kind(kind, one("tank/a@yesterday", "/tank/a/.zfs/snapshot/yesterday", 200.0, 0.0)),
            of_kind(kind, one("other/a", "/o", 70.0, 60.0)),
        ]
    };
    for (kind, root) in [("", ""), ("zfs", "zfs"), ("zfs", "")] {
        let wanted = [("tank".to_owned(), 1350.0, 1000.0), ("/o".to_owned(), 70.0, 60.0)];
        assert_eq!(counted(datasets(kind, root)), wanted, "{kind} {root}");
        let mut reversed = datasets(kind, root);
        reversed.reverse();
        let found = counted(reversed);
        assert_eq!(found, [wanted[1].clone(), wanted[0].clone()], "{kind} {root}");
    }
    // What is of another kind is no pool, however it is named.
    let found = counted(vec![
        of_kind("fuse", one("remote/a", "/r/a", 10.0, 5.0)),
        of_kind("fuse", one("remote/b", "/r/b", 10.0, 5.0)),
        one("me@1f.fs=/a", "/c/a", 10.0, 5.0),
        one("me@1f.fs=/b", "/c/b", 10.0, 5.0),
    ]);
    assert_eq!(found.len(), 4, "{found:?}");
}

#[test]
fn subvolumes_bound_directories_and_overlays_of_a_device_count_with_it() {
    let found = counted(vec![
        of_kind("overlay", one("overlay", "/", 500.0, 200.0)),
        of_kind("btrfs", one("/dev/sda2", "/home", 900.0, 300.0)),
        of_kind("btrfs", one("/dev/sda2", "/srv", 900.0, 300.0)),
        of_kind("ext4", one("/dev/sdb", "/data", 500.0, 199.9)),
        of_kind("ext4", one("/dev/sdb", "/etc/hosts", 500.0, 199.9)),
        of_kind("ext4", one("/dev/sdc", "/more", 500.0, 100.0)),
        one("overlay", "/a", 40.0, 20.0),
        one("overlay", "/b", 40.0, 20.0),
        one("tmpfs", "/m/a", 40.0, 20.0),
        one("tmpfs", "/m/b", 40.0, 20.0),
    ]);
    let names: Vec<&str> = found.iter().map(|one| one.0.as_str()).collect();
    assert_eq!(names, ["/home", "/data", "/more", "/m/a", "/m/b"]);
    let alone = [one("overlay", "/a", 40.0, 20.0), one("overlay", "/b", 40.0, 20.0)];
    assert_eq!(counted(alone.to_vec()), [("/a".to_owned(), 40.0, 20.0)]);
}

/// Seconds of a processor that this thread has had so far: what runs beside it takes none of them.
fn processor_s() -> f64 {
    let text = std::fs::read_to_string("/proc/thread-self/stat").unwrap();
    // In hundredths, as a user and within the kernel: the 14th and 15th field. The second is a name of any signs.
    let fields: Vec<&str> = text.rsplit_once(") ").unwrap().1.split(' ').collect();
    fields[11..13].iter().map(|field| field.parse::<f64>().unwrap()).sum::<f64>() / 100.0
}

/// As many as an answer may name: whoever gives it may make them up.
#[test]
fn thousands_of_overlays_take_no_time() {
    let began_s = processor_s();
    let of_size = |at: u32| one("overlay", &format!("/{at}"), 1e9 + f64::from(at / 2), 0.0);
    assert_eq!(each_once((0..100_000).map(of_size).collect()).len(), 50_000);
    // What is free of them differs by more than a thousandth, or by less.
    let of_free = |at: u32| one("overlay", &format!("/{at}"), 1e6, f64::from(at) * 600.0);
    assert_eq!(each_once((0..1000).map(of_free).collect()).len(), 500);
    let took_s = processor_s() - began_s;
    assert!(took_s < 8.0, "{took_s} s");
}

#[test]
fn a_line_of_df_is_read_whatever_names_are_in_it_and_others_are_none() {
    for (line, wanted) in [
        (
            "/dev/sdb1   1000 600 390  61% /srv/node/d1",
            one("/dev/sdb1", "/srv/node/d1", 1_024_000.0, 409_600.0),
        ),
        ("nas:/my share 10 10 0 100% /srv/a 7% b", one("nas:/my share", "/srv/a 7% b", 10_240.0, 0.0)),
        ("tank/data 2048 0 2048 0% /srv/z", one("tank/data", "/srv/z", 2_097_152.0, 2_097_152.0)),
    ] {
        assert_eq!(of_df(line), Some(wanted), "{line}");
    }
    for line in [
        "",
        "Filesystem 1024-blocks Used Available Capacity Mounted on",
        "Filesystem     1K-blocks  Used Available Use% Mounted on",
        "proc 0 0 0 - /proc",
        "df: /srv/x: No such file or directory",
        "1 2 3 4%",
    ] {
        assert_eq!(of_df(line), None, "{line}");
    }
}

#[test]
fn what_is_no_number_or_larger_than_its_file_system_makes_no_figure_that_cannot_be() {
    let mounted = vec![
        one("/dev/a", "/d/a", f64::NAN, 5.0),
        one("/dev/b", "/d/b", 10.0, f64::NAN),
        one("/dev/c", "/d/c", f64::INFINITY, 5.0),
        one("/dev/d", "/d/d", 10.0, 70.0),
        one("/dev/e", "/d/e", 10.0, -1.0),
        one("/dev/f", "/d/f", 0.0, 0.0),
    ];
    let mut reading = Reading::default();
    assert_eq!(add(mounted, &["/d".to_owned()], ("", ""), &mut reading), 2);
    assert_eq!(
        found(&reading),
        [
            ("store_capacity_bytes", "/d/d", 10.0),
            ("store_free_bytes", "/d/d", 10.0),
            ("store_capacity_bytes", "/d/e", 10.0),
            ("store_free_bytes", "/d/e", 0.0),
        ]
    );
}

#[test]
fn directories_are_brought_to_one_form_and_what_is_none_is_refused() {
    let checked = |directory: &str| checked(&[directory.to_owned()]);
    for (directory, short) in
        [("/srv/data", "/srv/data"), ("/srv//data/./", "/srv/data"), ("/", "/"), ("/a b", "/a b")]
    {
        assert_eq!(checked(directory).as_deref(), Ok(&[short.to_owned()][..]), "{directory}");
    }
    for directory in ["", "srv", "/srv/../etc", "/it's", "/a\nb", "$HOME", "~"] {
        let said = checked(directory).unwrap_err();
        assert!(said.contains("is no directory: give paths from / on"), "{said}");
    }
}

#[test]
fn names_are_read_as_the_kernel_writes_them() {
    for (word, name) in [
        ("/srv/data", "/srv/data"),
        ("/srv/a\\0401", "/srv/a 1"),
        ("\\134\\011", "\\\t"),
        ("/srv/\\303\\266", "/srv/\u{f6}"),
        ("/a\\9", "/a\\9"),
        ("/a\\", "/a\\"),
    ] {
        assert_eq!(plain(word), name, "{word}");
    }
}

/// A machine below a directory: each place is one of this machine's file system.
fn machine(test: &str, mounts: &str) -> PathBuf {
    let root = std::env::temp_dir().join(format!("cosmark-mounted-{test}-{}", std::process::id()));
    for line in mounts.lines() {
        let place = plain(line.split(' ').nth(1).unwrap());
        fs::create_dir_all(root.join(place.trim_start_matches('/'))).unwrap();
    }
    fs::create_dir_all(root.join("proc/self")).unwrap();
    fs::write(root.join("proc/self/mounts"), mounts).unwrap();
    root
}

#[test]
fn this_machine_says_how_large_what_is_mounted_there_is_and_what_is_hidden_counts_for_nothing() {
    let root = machine(
        "sizes",
        "/dev/sda1 / ext4 rw 0 0\n/dev/sdb /srv/node/d1 xfs rw 0 0\n/dev/old /srv/node/d\\0402 xfs rw 0 0\n\
         /dev/sdc /srv/node/d\\0402 xfs rw 0 0\n/dev/sdc /srv/node/again xfs rw 0 0\nsystemd-1 /srv/node/auto autofs rw 0 0\n\
         /dev/sdd /srv/nodes xfs rw 0 0\n",
    );
    let mut mounted = Mounted::at(vec!["/srv/node".to_owned()]);
    let mut reading = Reading::default();
    reading.add(&q::TASKS_RUNNABLE, "", 1.0);
    mounted.add_to(&root, &mut reading);
    assert_eq!(mounted.missing(), None);
    let (size, _) = room(&root).unwrap();
    let sizes: Vec<_> = found(&reading).into_iter().filter(|one| one.0 == "store_capacity_bytes").collect();
    assert_eq!(
        sizes,
        [("store_capacity_bytes", "/srv/node/again", size), ("store_capacity_bytes", "/srv/node/d1", size)]
    );
    assert_eq!(found(&reading).last().map(|one| one.0), Some("tasks_runnable"), "they come before all else");
    fs::remove_dir_all(root.join("srv")).unwrap();
    let mut reading = Reading::default();
    mounted.add_to(&root, &mut reading);
    assert!(reading.samples.is_empty());
    assert!(mounted.missing().unwrap().contains("at or below /srv/node: "), "{:?}", mounted.missing());
    Mounted::default().add_to(&root, &mut reading);
    assert!(reading.samples.is_empty(), "nobody asked for any");
    fs::remove_dir_all(&root).unwrap();
}

#[test]
fn one_that_hangs_holds_up_one_reading_and_is_asked_again_when_it_has_answered() {
    let root = machine("hangs", "/dev/sdb /srv/d1 xfs rw 0 0\n");
    let mut mounted = Mounted::at(vec!["/srv".to_owned()]);
    let (to, from) = sync_channel(1);
    mounted.asked = Some(from);
    mounted.missing = Some("hangs".to_owned());
    let mut reading = Reading::default();
    let began = Instant::now();
    (0..50).for_each(|_| mounted.add_to(&root, &mut reading));
    assert!(began.elapsed() < Duration::from_secs(20) && reading.samples.is_empty(), "{:?}", began.elapsed());
    assert_eq!(mounted.missing().as_deref(), Some("hangs"));
    to.send(vec![one("/dev/sdb", "/srv/old", 7.0, 7.0)]).unwrap();
    mounted.add_to(&root, &mut reading);
    let places: BTreeSet<&str> = found(&reading).into_iter().map(|one| one.1).collect();
    assert_eq!(places, BTreeSet::from(["/srv/d1"]), "what came late is old");
    assert_eq!(mounted.missing(), None);
    fs::remove_dir_all(&root).unwrap();
}
