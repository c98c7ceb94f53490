//! Another size of the objects: of those operations that move bytes of one. What a listing answers grows with the names, and what
//! deletes or asks moves nothing, however large the objects are.

use super::{Cannot, FAR, Load, Mix, Observed, Planner, SAME_SIZE};

/// Its bytes are not those of objects.
const LISTING: &str = "list";

/// How the bytes of objects become those of an operation, on average.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Carried {
    /// Share of the operations that move bytes of an object.
    share: f64,
    /// What the others move, for each operation of all.
    beside: f64,
}

impl Carried {
    /// Of kinds that are kept apart.
    pub const EACH: Self = Self { share: 1.0, beside: 0.0 };

    /// Of a mix that was always the same.
    pub fn of_mix(observed: &Observed) -> Self {
        let mix = observed.loads.last().map(Load::mix).unwrap_or_default();
        let mut found = Self { share: 0.0, beside: 0.0 };
        for (kind, (share, bytes)) in observed.classes.iter().zip(mix) {
            if moves_objects(kind, bytes) {
                found.share += share;
            } else {
                found.beside += share * bytes;
            }
        }
        found
    }

    fn of_operation(self, of_object: f64) -> f64 {
        of_object * self.share + self.beside
    }

    fn of_object(self, of_operation: f64) -> f64 {
        ((of_operation - self.beside) / self.share).max(0.0)
    }
}

fn moves_objects(kind: &str, bytes: f64) -> bool {
    bytes > 0.0 && kind != LISTING
}

impl Planner {
    /// Operations that move bytes of objects move so many; gives whether that lies beyond what was measured.
    ///
    /// # Errors
    /// Where it lies too far, or none of them moves any.
    pub(super) fn resize(&self, mix: &mut Mix, of_object: f64) -> Result<bool, Cannot> {
        let (carried, mut is_beyond, mut moves_any) = (self.carried, false, false);
        let mut without: Vec<&str> = Vec::new();
        for (one, class) in mix.iter_mut().zip(&self.model.classes).filter(|(one, _)| one.0 > 0.0) {
            let (low, high) = class.sizes;
            if carried.share <= 0.0 || !moves_objects(&class.name, high) {
                without.push(&class.name);
                continue;
            }
            moves_any = true;
            let bytes = carried.of_operation(of_object);
            let reach = if class.sized { FAR } else { SAME_SIZE };
            if bytes < low / reach || bytes > high * reach {
                let (low, high) = (carried.of_object(low), carried.of_object(high));
                return Err(Cannot::OtherSize(class.name.clone(), low, high));
            }
            is_beyond |= bytes < low / SAME_SIZE || bytes > high * SAME_SIZE;
            one.1 = bytes;
        }
        if moves_any { Ok(is_beyond) } else { Err(Cannot::NoSize(without.join(", "))) }
    }
}
