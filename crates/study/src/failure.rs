//! What the faults of a stage cost it, as figures of its point: the means of the slots that count.

use std::collections::BTreeMap;

use cosmark_archive::StageRecord;
use cosmark_metrics::FaultResult;

use crate::metric::fault_id;

/// What faults cost.
#[derive(Debug, Default)]
pub(crate) struct FaultCost {
    /// Figures by their ids: of each fault by its name, and of the only one also without.
    pub(crate) values: BTreeMap<String, f64>,
    /// Why the point cannot be read: a fault was never there.
    pub(crate) void: Option<String>,
    /// Slots of a fault that do not count while others do.
    pub(crate) remark: Option<String>,
}

impl FaultCost {
    /// What the faults of a stage cost; nothing where it has none.
    pub(crate) fn of(stage: &StageRecord) -> Self {
        let mut cost = Self::default();
        let made: Vec<&FaultResult> = stage.faults.iter().filter(|fault| fault.kind != "none").collect();
        for fault in &stage.faults {
            let is_only = made.len() == 1 && fault.kind != "none";
            for figure in &fault.figures {
                let Some(mean) = figure.mean.filter(|mean| mean.is_finite()) else { continue };
                cost.values.insert(fault_id(&figure.figure, Some(&fault.name)), mean);
                if is_only {
                    cost.values.insert(fault_id(&figure.figure, None), mean);
                }
            }
        }
        for fault in made {
            let why = fault.slots.iter().find_map(|slot| slot.void.as_deref());
            let count = fault.slots.iter().filter(|slot| slot.void.is_none()).count();
            if count == 0 {
                let why = why.unwrap_or("none of its slots was begun");
                cost.void.get_or_insert_with(|| format!("fault {}: {why}", fault.name));
            } else if let Some(why) = why {
                let (of, name) = (fault.slots.len(), &fault.name);
                cost.remark.get_or_insert_with(|| {
                    format!("fault {name}: {count} of {of} slots count, others do not: {why}")
                });
            }
        }
        cost
    }
}
