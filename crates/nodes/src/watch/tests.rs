//! Tests of [`super`].
#![allow(
    clippy::unwrap_used,
    clippy::cast_precision_loss,
    clippy::float_cmp,
    reason = "a test may stop at the first surprise"
)]

use std::io::{Read, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::JoinHandle;

use super::*;

fn nodes(yaml: &str) -> Vec<NodeSpec> {
    cosmark_workload::parse_target(&format!("storage: {{type: mock}}\nnodes:\n{yaml}")).0.unwrap().nodes
}

#[tokio::test]
async fn a_machine_is_read_and_one_that_does_not_answer_is_named() {
    let nodes = nodes(
        "  - {name: me, role: proxy, type: local, interval: 200ms}\n  - {name: gone, type: prometheus, url: \
         'http://127.0.0.1:1/metrics', interval: 200ms}\n",
    );
    let watch = NodeWatch::start(&nodes).unwrap();
    watch.settle(3, Duration::from_secs(60)).await;
    let troubles = watch.troubles();
    assert!(troubles.len() == 1 && troubles[0].starts_with("node gone: "), "{troubles:?}");
    let results = watch.figures().between(0, u64::MAX);
    let [me, gone] = results.as_slice() else { unreachable!("{results:?}") };
    assert!(me.readings >= 3 && me.lost.is_none() && me.role == "proxy", "{me:?}");
    assert!(me.units.iter().any(|unit| unit.kind == cosmark_metrics::ResourceKind::Machine), "{me:?}");
    assert!(gone.readings == 0 && gone.lost.is_some() && gone.units.is_empty(), "{gone:?}");
    let looks = watch.figures().take();
    let of = |name: &str| looks.iter().filter(|look| look.node.name == name).collect::<Vec<_>>();
    assert!(of("me").len() >= 3 && of("me").iter().all(|look| matches!(look.found, Found::Reading { .. })));
    assert!(
        matches!(&of("gone").first().unwrap().found, Found::Lost { why, .. } if Some(why) == gone.lost.as_ref())
    );
    assert!(watch.figures().take().len() < looks.len(), "what was taken does not come again");
}

#[test]
fn times_of_readings_and_of_their_numbers_come_to_the_clock_of_the_run() {
    let name = NodeName { name: "n".to_owned(), role: "r".to_owned(), source: "prometheus".to_owned() };
    let mut watched = Watched::new(name, -7);
    let mut reading = Reading { at_ns: 100, samples: Vec::new() };
    reading.add_at(&q::QUOTA_USED, "a", "", 1.0, Some(90));
    reading.add(&q::QUOTA_PROCESSORS, "a", 1.0);
    watched.take(News::Reading(reading));
    let own = watched.readings.last().unwrap();
    let times: Vec<Option<u64>> = own.samples.iter().map(|sample| sample.at_ns).collect();
    assert_eq!((own.at_ns, times), (93, vec![Some(83), None]));
}

/// An exporter over TLS that wants a token and is killed when `alive` says so; gives its address and its certificate.
fn exporter(alive: &Arc<AtomicBool>) -> (SocketAddr, String, JoinHandle<()>) {
    let made = rcgen::generate_simple_self_signed(vec!["127.0.0.1".to_owned()]).unwrap();
    let key = rustls::pki_types::PrivateKeyDer::try_from(made.signing_key.serialize_der()).unwrap();
    let provider = Arc::new(rustls::crypto::aws_lc_rs::default_provider());
    let config = rustls::ServerConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()
        .unwrap()
        .with_no_client_auth()
        .with_single_cert(vec![made.cert.der().clone()], key)
        .unwrap();
    let (config, alive) = (Arc::new(config), Arc::clone(alive));
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap();
    let serving = std::thread::spawn(move || {
        for (count, socket) in (1..).zip(listener.incoming()) {
            if !alive.load(Ordering::Relaxed) {
                break;
            }
            let session = rustls::ServerConnection::new(Arc::clone(&config)).unwrap();
            let mut stream = rustls::StreamOwned::new(session, socket.unwrap());
            let (mut asked, mut part) = (Vec::new(), [0; 4096]);
            while !asked.ends_with(b"\r\n\r\n")
                && let Ok(read @ 1..) = stream.read(&mut part)
            {
                asked.extend_from_slice(&part[..read]);
            }
            let known = String::from_utf8_lossy(&asked).contains("authorization: Bearer right");
            let answer = if known {
                format!(
                    "200 OK\r\nconnection: close\r\n\r\nnode_cpu_seconds_total{{cpu=\"0\",mode=\"user\"}} {count}\n"
                )
            } else {
                "401 no\r\nconnection: close\r\n\r\n".to_owned()
            };
            let _ = stream.write_all(format!("HTTP/1.1 {answer}").as_bytes());
            stream.conn.send_close_notify();
            let _ = stream.flush();
        }
    });
    (address, made.cert.pem(), serving)
}

#[tokio::test]
async fn an_exporter_over_tls_with_a_token_that_is_killed_is_named_and_the_others_go_on() {
    let alive = Arc::new(AtomicBool::new(true));
    let (address, certificate, serving) = exporter(&alive);
    let ca = std::env::temp_dir().join(format!("cosmark-exporter-{}.pem", std::process::id()));
    std::fs::write(&ca, certificate).unwrap();
    let of = |name: &str, token: &str| {
        let ca = ca.display();
        format!(
            "  - {{name: {name}, type: prometheus, url: 'https://{address}/metrics', token: {token}, ca: '{ca}', interval: \
             200ms}}\n"
        )
    };
    let here = "  - {name: here, type: local, interval: 200ms}\n";
    let watch =
        NodeWatch::start(&nodes(&format!("{here}{}{}", of("known", "right"), of("refused", "wrong"))))
            .unwrap();
    watch.settle(3, Duration::from_secs(60)).await;
    let troubles = watch.troubles();
    assert!(troubles.len() == 1 && troubles[0].starts_with("node refused: "), "{troubles:?}");
    assert!(troubles[0].contains("answers 401; give its `token`"), "{troubles:?}");
    alive.store(false, Ordering::Relaxed);
    drop(TcpStream::connect(address));
    serving.join().unwrap();
    let until = tokio::time::Instant::now() + Duration::from_secs(60);
    let lost = || watch.troubles().into_iter().find(|why| why.starts_with("node known: https://"));
    while lost().is_none() && tokio::time::Instant::now() < until {
        tokio::time::sleep(Duration::from_millis(50)).await;
    }
    let why = lost().unwrap();
    assert!(why.contains(&address.to_string()) && !why.contains("right"), "{why}");
    let began_ns = now_ns();
    let results = loop {
        tokio::time::sleep(Duration::from_millis(500)).await;
        let results = watch.figures().between(began_ns, u64::MAX);
        if results[0].readings >= 2 || tokio::time::Instant::now() >= until {
            break results;
        }
    };
    let [here, known, _] = results.as_slice() else { unreachable!("{results:?}") };
    assert!(here.lost.is_none() && here.readings >= 2, "{here:?}");
    assert!(known.lost.is_some() && known.readings == 0, "{known:?}");
    std::fs::remove_file(&ca).unwrap();
}

#[tokio::test]
async fn a_node_that_cannot_be_read_begins_nothing() {
    assert!(NodeWatch::start(&nodes("  - {name: a, type: local}\n  - {name: b, type: ssh}\n")).is_err());
}

#[tokio::test]
async fn a_port_that_another_program_has_is_a_machine_that_is_lost() {
    let other = std::net::UdpSocket::bind("127.0.0.1:0").unwrap();
    let address = other.local_addr().unwrap();
    let nodes = nodes(&format!("  - {{name: timings, type: statsd, listen: '{address}'}}\n"));
    let watch = NodeWatch::start(&nodes).unwrap();
    watch.settle(1, Duration::from_secs(60)).await;
    let troubles = watch.troubles();
    assert!(troubles.len() == 1 && troubles[0].contains("in use"), "{troubles:?}");
}

#[test]
fn who_is_missing_on_a_machine_is_named_beside_its_figures() {
    let nobody = NodeName { name: String::new(), role: String::new(), source: String::new() };
    let mut watched = Watched::new(nobody, 0);
    watched.take(News::Missing(Some("osd.3: no answer; the others answer".to_owned())));
    for at in 0..3 {
        watched.take(News::Reading(Reading { at_ns: at, samples: Vec::new() }));
    }
    let result = watched.over(0, u64::MAX);
    assert!(result.readings == 3 && result.lost.unwrap().starts_with("osd.3: "), "{}", result.readings);
    watched.take(News::Missing(None));
    assert_eq!(watched.over(0, u64::MAX).lost, None);
}

#[test]
fn a_long_run_of_a_large_machine_keeps_every_second_reading_and_the_same_rate() {
    let nobody = NodeName { name: String::new(), role: String::new(), source: String::new() };
    let mut watched = Watched::new(nobody, 0);
    watched.take(News::Lost("away".to_owned()));
    assert_eq!(watched.lost(), Some("away"));
    watched.waiting.clear();
    for at in 0..150_u32 {
        let mut reading = Reading { at_ns: u64::from(at) * 1_000_000_000, samples: Vec::new() };
        reading.add(&crate::quantity::MEMORY_AVAILABLE, "", f64::from(at));
        for disk in 0..25_000 {
            reading.add(&crate::quantity::DISK_READS, &format!("d{disk}"), f64::from(at) * 3.0);
        }
        watched.take(News::Reading(reading));
        let kept: usize = watched.readings.iter().map(|reading| reading.samples.len()).sum();
        assert!(kept <= MOST_SAMPLES && kept == watched.samples, "{kept}");
    }
    assert!(watched.lost().is_none() && watched.waiting.len() == 10, "nobody took what waits");
    let result = watched.over(0, u64::MAX);
    assert_eq!(result.quantities.len(), 20_000);
    assert!((result.quantities[0].mean - 3.0).abs() < 1e-9, "{:?}", result.quantities[0]);
    // What is a mean of readings is that of the whole time, and not of its end.
    let memory = result.quantities.iter().find(|one| one.quantity == "memory_available_bytes").unwrap();
    assert!((memory.mean - 74.5).abs() < 3.0, "{memory:?}");
    let times: Vec<u64> = watched.readings.iter().map(|reading| reading.at_ns / SECOND).collect();
    assert_eq!((times.first(), times.last()), (Some(&0), Some(&149)), "the first and the newest one");
    assert!(times.windows(2).rev().skip(1).all(|pair| pair[1] - pair[0] == times[1]), "{times:?}");
}

const SECOND: u64 = 1_000_000_000;

fn somebody() -> NodeName {
    NodeName { name: "s1".into(), role: String::new(), source: String::new() }
}

#[test]
fn readings_are_in_the_time_of_the_run_whoever_set_the_clock_before_it() {
    assert!(set_by_ns().abs() < 1_000_000_000, "nobody set it: {}", set_by_ns());
    // The clock was set forward by an hour after the process had begun, and the run began then.
    let hour_ns = 3600 * SECOND;
    let mut watched = Watched::new(somebody(), hour_ns.cast_signed());
    watched.take(News::Ahead(hour_ns.cast_signed() + 5_000_000));
    watched.take(News::Reading(Reading { at_ns: SECOND, samples: Vec::new() }));
    assert_eq!(watched.readings[0].at_ns, SECOND + hour_ns);
    watched.take(News::Lost("away".to_owned()));
    assert!(watched.waiting[1].at_ns() >= now_ns() + hour_ns - SECOND);
    let result = watched.over(0, u64::MAX);
    assert_eq!((result.readings, result.clock_ahead_ms), (1, Some(5.0)));
}

/// A machine that was read at these seconds; where one is missing it did not answer.
fn seen_at(seconds: &[u64]) -> Watched {
    let mut watched = Watched::new(somebody(), 0);
    for at in seconds {
        let last = watched.readings.last().map_or(*at, |last| last.at_ns / SECOND);
        if last + 1 < *at {
            watched.lose((last + 1) * SECOND, "away".to_owned());
        }
        let mut reading = Reading { at_ns: at * SECOND, samples: Vec::new() };
        reading.add(&crate::quantity::DISK_BUSY, "sda", 0.5 * (*at as f64));
        watched.take(News::Reading(reading));
    }
    watched
}

#[test]
fn a_window_says_how_long_a_machine_did_not_answer_in_it_and_how_much_of_it_was_seen() {
    let of = |seconds: Vec<u64>| {
        let result = seen_at(&seconds).over(100 * SECOND, 160 * SECOND);
        (result.lost.clone(), result.covered_share.unwrap(), result.is_covered(), result.units[0].busy)
    };
    let (lost, covered, is_covered, busy) = of((100..=160).collect());
    assert!(lost.is_none() && covered > 0.999 && is_covered && busy == 0.5, "{covered}");
    let (lost, covered, is_covered, _) = of((100..=110).chain(130..=160).collect());
    assert_eq!(lost.as_deref(), Some("nothing came for 20 s of the window: away"));
    assert!((covered - 40.0 / 60.0).abs() < 0.02 && is_covered, "{covered}");
    let (_, covered, is_covered, _) = of((100..=110).chain(150..=160).collect());
    assert!((covered - 20.0 / 60.0).abs() < 0.02 && !is_covered, "{covered}");
    // It ends with the window's beginning, and comes back behind it.
    let (lost, covered, is_covered, _) = of((90..=102).chain(170..=180).collect());
    assert_eq!(lost.as_deref(), Some("nothing came for 58 s of the window: away"));
    assert!(covered < 0.05 && !is_covered, "{covered}");
    // One answer that is missing is nothing, nor is what was before the window.
    let (lost, covered, ..) = of((80..=85).chain(95..=120).chain(122..=160).collect());
    assert!(lost.is_none() && covered > 0.95, "{lost:?} {covered}");
    // Every 15 s is as often as some servers ask: a window between two of these is seen.
    let mut watched = seen_at(&[]);
    for at in [112, 127] {
        let mut reading = Reading { at_ns: at * SECOND, samples: Vec::new() };
        reading.add(&crate::quantity::DISK_BUSY, "sda", 0.5 * (at as f64));
        watched.take(News::Reading(reading));
    }
    let covered = watched.over(100 * SECOND, 140 * SECOND).covered_share.unwrap();
    assert!((covered - 0.75).abs() < 1e-9, "{covered}");
}

#[test]
fn a_link_whose_speed_is_given_is_a_unit_whatever_the_machine_tells_of_it() {
    let nobody = NodeName { name: String::new(), role: String::new(), source: String::new() };
    let links = vec![("eth0".to_owned(), 5e6), ("veth1".to_owned(), 1e6), ("gone".to_owned(), 1e6)];
    let mut watched = Watched { links, ..Watched::new(nobody, 0) };
    for at in 0..4_u32 {
        let mut reading = Reading { at_ns: u64::from(at) * 1_000_000_000, samples: Vec::new() };
        reading.add(&q::NETWORK_SPEED, "eth0", 1.25e9);
        for name in ["eth0", "veth1", "veth2"] {
            reading.add(&q::NETWORK_SENT, name, f64::from(at) * 8e5);
        }
        watched.take(News::Reading(reading));
    }
    let busy: Vec<(String, f64)> =
        watched.over(0, u64::MAX).units.into_iter().map(|unit| (unit.name, unit.busy)).collect();
    let [eth0, veth1] = busy.as_slice() else { panic!("{busy:?}") };
    assert!(eth0.0 == "eth0" && (eth0.1 - 0.16).abs() < 1e-9, "{eth0:?}");
    assert!(veth1.0 == "veth1" && (veth1.1 - 0.8).abs() < 1e-9, "{veth1:?}");
}
