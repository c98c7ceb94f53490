//! Names of containers and objects, built into reused buffers: no allocation per operation.

use cosmark_workload::model::Operation;

/// Prefix, number, suffix; or one name for all numbers.
#[derive(Debug, Clone)]
pub struct NameTemplate {
    prefix: String,
    numbered: bool,
    suffix: String,
}

impl NameTemplate {
    pub fn containers(operation: &Operation) -> Self {
        match &operation.container_name {
            Some(name) => Self { prefix: name.clone(), numbered: false, suffix: String::new() },
            None => Self {
                prefix: operation.container_prefix.clone(),
                numbered: true,
                suffix: operation.container_suffix.clone(),
            },
        }
    }

    pub fn objects(operation: &Operation) -> Self {
        Self {
            prefix: operation.object_prefix.clone(),
            numbered: true,
            suffix: operation.object_suffix.clone(),
        }
    }

    /// Writes the name of `number` into `out`, replacing what was there.
    pub fn write(&self, number: u64, out: &mut String) {
        out.clear();
        out.push_str(&self.prefix);
        if self.numbered {
            push_decimal(number, out);
        }
        out.push_str(&self.suffix);
    }
}

fn push_decimal(mut number: u64, out: &mut String) {
    let mut digits = [0u8; 20];
    let mut at = digits.len();
    loop {
        at -= 1;
        digits[at] = b'0' + u8::try_from(number % 10).unwrap_or(0);
        number /= 10;
        if number == 0 {
            break;
        }
    }
    // At once: pushed one by one, the digits cost more than all other work on a name.
    out.push_str(std::str::from_utf8(&digits[at..]).unwrap_or_default());
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_written_in_decimal() {
        let template = NameTemplate { prefix: "p".into(), numbered: true, suffix: "-s".into() };
        let mut out = String::from("old");
        for (number, expected) in [(0, "p0-s"), (7, "p7-s"), (u64::MAX, "p18446744073709551615-s")] {
            template.write(number, &mut out);
            assert_eq!(out, expected);
        }
    }
}
