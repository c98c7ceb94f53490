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
        println!("no drivers; `cosmark driver --join NATS-URL` brings one");
        return Ok(Exit::Done);
    }
    let mut rows: Vec<Vec<String>> = Vec::new();
    for driver in &drivers {
        let state = serde_json::to_value(driver.state).ok();
        let labels: Vec<String> = driver.labels.iter().map(|(key, value)| format!("{key}={value}")).collect();
        rows.push(vec![
            driver.name.clone(),
            state.as_ref().and_then(|state| state.as_str()).unwrap_or_default().to_owned(),
            driver.run.clone().unwrap_or_default(),
            driver.doing.iter().map(doing).collect::<Vec<_>>().join("\n"),
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
        ]);
    }
    println!("{}", fit::table(COLUMNS, &rows, |_, _| Ink::Plain));
    Ok(Exit::Done)
}

/// Who it is, what it does, and what is wrong with it stay where the terminal is narrow.
const COLUMNS: &[Column] = &[
    Column::text("name").least(10),
    Column::text("state"),
    Column::text("run").goes(3).least(6),
    Column::text("doing").goes(2).wraps(12),
    Column::text("host").goes(6).least(8),
    Column::number("cores").goes(7),
    Column::number("ceiling").goes(4),
    Column::text("labels").goes(8).wraps(8),
    Column::text("last seen").goes(5),
    Column::number("forged").goes(9),
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
