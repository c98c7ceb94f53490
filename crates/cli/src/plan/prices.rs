//! What machines, bytes and operations cost, from a file.

use std::collections::BTreeMap;
use std::path::Path;

use cosmark_workload::units::shown;
use serde::Deserialize;

use crate::exit::Problem;
use crate::load::read_text;

/// A higher price is a mistake, and what comes of it is no number any more.
const MOST: f64 = 1e12;
/// A longer name of a currency is none.
const LONGEST_CURRENCY: usize = 16;

/// A file of prices.
#[derive(Debug, Clone, PartialEq, Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Prices {
    /// How amounts are called.
    pub currency: String,
    /// One hour of one machine of each role.
    pub node_hour: BTreeMap<String, f64>,
    /// 10^9 bytes that are moved.
    pub gigabyte: f64,
    /// 10^6 operations.
    pub million_operations: f64,
}

impl Prices {
    /// Reads and checks a file.
    ///
    /// # Errors
    /// With what may stand in it.
    pub fn read(path: &Path) -> Result<Self, Problem> {
        Self::parse(&read_text(path)?).map_err(|why| Problem::usage(format!("{}: {why}", path.display())))
    }

    fn parse(text: &str) -> Result<Self, String> {
        const KEYS: &str = "keys are currency, node_hour: {ROLE: PRICE}, gigabyte, million_operations";
        let prices: Self = serde_saphyr::from_str(text).map_err(|cause| {
            let first = cause.to_string();
            format!("{}; {KEYS}", first.lines().next().unwrap_or_default())
        })?;
        let own = [prices.gigabyte, prices.million_operations];
        let all = || prices.node_hour.values().chain(&own);
        if !all().all(|amount| (0.0..=MOST).contains(amount)) {
            return Err(format!("a price is a number from 0 to 10^12; {KEYS}"));
        }
        if all().all(|amount| *amount <= 0.0) {
            return Err(format!("there is no price in it above 0; {KEYS}"));
        }
        if prices.currency.chars().count() > LONGEST_CURRENCY || prices.currency.contains(char::is_control) {
            return Err(format!(
                "currency: give a name or a sign of at most {LONGEST_CURRENCY} signs; {KEYS}"
            ));
        }
        Ok(prices)
    }

    /// Per hour, of these machines at this load.
    ///
    /// # Errors
    /// For a role without a price.
    pub fn per_hour(
        &self,
        machines: &BTreeMap<String, usize>,
        rate_per_s: f64,
        bytes_each: f64,
    ) -> Result<f64, String> {
        #[expect(clippy::cast_precision_loss, reason = "counts of machines")]
        let own = |(role, count): (&String, &usize)| match self.node_hour.get(role) {
            Some(price) => Ok(price * *count as f64),
            None if self.node_hour.is_empty() => Ok(0.0),
            None => {
                let known: Vec<&str> = self.node_hour.keys().map(String::as_str).collect();
                let known = shown(&known.join(", "));
                Err(format!(
                    "no price for a machine of role {role}: add it under node_hour, which has {known}"
                ))
            }
        };
        let machines: f64 = machines.iter().map(own).sum::<Result<f64, String>>()?;
        let operations = rate_per_s * 3600.0;
        let moved = operations * bytes_each / 1e9 * self.gigabyte;
        Ok(machines + moved + operations / 1e6 * self.million_operations)
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used, reason = "a test may stop at the first surprise")]
mod tests {
    use super::*;

    #[test]
    fn an_hour_costs_its_machines_its_bytes_and_its_operations() {
        let prices =
            Prices::parse("currency: EUR\nnode_hour: {proxy: 0.5, storage: 1}\ngigabyte: 0.01\n").unwrap();
        let machines = [("proxy".to_owned(), 2), ("storage".to_owned(), 3)].into();
        assert!((prices.per_hour(&machines, 1000.0, 1e6).unwrap() - 40.0).abs() < 1e-9);
        let strange = [("gateway".to_owned(), 1)].into();
        let said = prices.per_hour(&strange, 1.0, 1.0).unwrap_err();
        assert!(said.contains("role gateway") && said.contains("which has proxy, storage"), "{said}");
    }

    #[test]
    fn a_file_of_something_else_is_refused_with_its_keys() {
        for bad in [
            "node_hour: 3",
            "price: 1",
            "gigabyte: -1",
            "gigabyte: .nan",
            "- a",
            "node_hour: {proxy: x}",
            "gigabyte: 0,01",
            "node_hour: {proxy: 0,35}",
            "node_hour: {proxy: 1e300}",
            "currency: EUR",
            "node_hour: {proxy: 0}",
            "currency: \"E\\e[31m\"\ngigabyte: 1",
            "currency: as much as it costs\ngigabyte: 1",
        ] {
            assert!(Prices::parse(bad).unwrap_err().contains("node_hour"), "{bad}");
        }
    }
}
