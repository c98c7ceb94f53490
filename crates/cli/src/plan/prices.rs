//! What machines, bytes and operations cost, from a file.

use std::collections::BTreeMap;
use std::path::Path;

use serde::Deserialize;

use crate::exit::Problem;
use crate::load::read_text;

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
        let wrong = |amount: &f64| !amount.is_finite() || *amount < 0.0;
        if prices.node_hour.values().chain(&own).any(wrong) {
            return Err(format!("a price is a number from 0 on; {KEYS}"));
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
            None => Err(format!("no price for a machine of role {role}: add it under node_hour")),
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
        assert!(prices.per_hour(&strange, 1.0, 1.0).unwrap_err().contains("gateway"));
    }

    #[test]
    fn a_file_of_something_else_is_refused_with_its_keys() {
        for bad in
            ["node_hour: 3", "price: 1", "gigabyte: -1", "gigabyte: .nan", "- a", "node_hour: {proxy: x}"]
        {
            assert!(Prices::parse(bad).unwrap_err().contains("node_hour"), "{bad}");
        }
    }
}
