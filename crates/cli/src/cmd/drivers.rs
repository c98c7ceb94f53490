//! `cosmark drivers`: the drivers of a controller.

use cosmark_archive::Timestamp;
use cosmark_service::api::types::{Drain, DriverDoing, DriverInfo};

use crate::args::DriversArgs;
use crate::client::Client;
use crate::exit::{Exit, Outcome, Problem};
use crate::fit::{self, Column};
use crate::paint::Ink;
use crate::units;

/// Runs the subcommand.
pub fn run(args: &DriversArgs) -> Outcome {
    let client = Client::new(&args.client)?;
    let change =
        args.drain.as_ref().map(|name| (name, true)).or(args.undrain.as_ref().map(|name| (name, false)));
    if let Some((name, drained)) = change {
        let name = percent_encoding::utf8_percent_encode(name, percent_encoding::NON_ALPHANUMERIC);
        let _: DriverInfo = client.send("PATCH", &format!("/api/v1/drivers/{name}"), &Drain { drained })?;
    }
    let drivers: Vec<DriverInfo> = client.get("/api/v1/drivers")?;
    if args.json {
        let text =
            serde_json::to_string_pretty(&drivers).map_err(|cause| Problem::ours(cause.to_string()))?;
        verbatim!("{text}");
        return Ok(Exit::Done);
    }
    if drivers.is_empty() {
        println!("no driver has joined; start one with `cosmark driver --join NATS-URL`");
        return Ok(Exit::Done);
    }
    let rows: Vec<Vec<String>> = drivers.iter().map(cells).collect();
    println!("{}", fit::table(COLUMNS, &rows, |_, _| Ink::Plain));
    Ok(Exit::Done)
}

/// A row of the table.
fn cells(driver: &DriverInfo) -> Vec<String> {
    let state = serde_json::to_value(driver.state).ok();
    let labels: Vec<String> = driver.labels.iter().map(|(key, value)| format!("{key}={value}")).collect();
    vec![
        driver.name.clone(),
        state.as_ref().and_then(|state| state.as_str()).unwrap_or_default().to_owned(),
        driver.run.clone().unwrap_or_default(),
        driver.doing.iter().map(doing).collect::<Vec<_>>().join("\n"),
        driver.load.map_or_else(String::new, units::percent),
        driver.clock_offset_ns.map_or_else(String::new, ahead),
        driver.host.clone(),
        driver.cores.to_string(),
        driver.ceiling_ops_per_s.map_or_else(String::new, |rate| format!("{} op/s", units::rate(rate))),
        labels.join(" "),
        driver
            .last_seen
            .parse::<Timestamp>()
            .map_or_else(|_| driver.last_seen.clone(), |at| at.strftime("%F %T UTC").to_string()),
        driver.forged.to_string(),
        driver.trouble.clone().unwrap_or_default(),
    ]
}

/// How far a clock is ahead of the controller's, such as `+0.012 ms`.
fn ahead(offset_ns: f64) -> String {
    let sign = if offset_ns < 0.0 { '-' } else { '+' };
    format!("{sign}{} ms", units::ms(offset_ns.abs() / 1e6))
}

/// Who it is, what it does, and what is wrong with it stay where the terminal is narrow.
const COLUMNS: &[Column] = &[
    Column::text("name").least(10),
    Column::text("state"),
    Column::text("run").goes(4).least(6),
    Column::text("doing").goes(2).wraps(12),
    Column::number("load").goes(3),
    Column::number("clock").goes(5),
    Column::text("host").goes(8).least(8),
    Column::number("cores").goes(9),
    Column::number("ceiling").goes(6),
    Column::text("labels").goes(10).wraps(8),
    Column::text("last seen").goes(7),
    Column::number("forged").goes(11),
    Column::text("").goes(1).wraps(16),
];

/// Such as `w3 1200 req/s, lease 0.4 s old`.
fn doing(doing: &DriverDoing) -> String {
    let DriverDoing { run, ordered, requests_per_s, lease, lease_age_s, stores: _ } = doing;
    let age = lease_age_s.map_or_else(|| "no lease".to_owned(), |age| format!("lease {age:.1} s old"));
    let state = if lease == "makes" { String::new() } else { format!(", {lease}") };
    let whose = if *ordered { "" } else { ", not of this controller" };
    format!("{run} {} req/s, {age}{state}{whose}", units::rate(*requests_per_s))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn a_driver_has_its_load_and_its_clock_where_they_are_known() {
        let of = |load: Option<f64>, clock_ns: Option<f64>| {
            let driver: DriverInfo = serde_json::from_value(json!({
                "name": "d1", "labels": [["zone", "a"]], "version": "0.1.0", "message_version": 1, "host": "h",
                "cores": 4, "memory_bytes": 1, "nics": [], "adaptors": [], "ceiling_ops_per_s": 50_000.0,
                "state": "idle", "trouble": null, "run": null, "load": load, "clock_offset_ns": clock_ns,
                "clock_error_ns": 40_000.0, "last_seen": "2026-01-05T08:00:00Z"
            }))
            .unwrap();
            let row = cells(&driver);
            assert_eq!(row.len(), COLUMNS.len());
            let cell =
                |head: &str| row[COLUMNS.iter().position(|column| column.head == head).unwrap()].clone();
            assert_eq!(
                (cell("labels"), cell("last seen")),
                ("zone=a".into(), "2026-01-05 08:00:00 UTC".into())
            );
            (cell("load"), cell("clock"))
        };
        assert_eq!(of(Some(0.125), Some(-2e9)), ("12.5 %".into(), "-2000 ms".into()));
        assert_eq!(of(Some(0.0), Some(12_300.0)), ("0.0 %".into(), "+0.012 ms".into()));
        assert_eq!(of(None, None), (String::new(), String::new()), "not known is not 0");
    }
}
