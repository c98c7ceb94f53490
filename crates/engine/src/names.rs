//! Names of containers and objects, built into reused buffers: no allocation per operation.

use cosmark_workload::model::{ObjectNames, Operation};

/// Prefix, number, suffix; or one name for all numbers. Holds the name written last: the prefix stays where it is.
#[derive(Debug, Clone)]
pub struct NameTemplate {
    text: String,
    /// Length of the prefix in `text`; `None` = the name has no number.
    prefix: Option<usize>,
    suffix: String,
    numbers: ObjectNames,
}

impl NameTemplate {
    pub fn containers(operation: &Operation) -> Self {
        match &operation.container_name {
            Some(name) => Self {
                text: name.clone(),
                prefix: None,
                suffix: String::new(),
                numbers: ObjectNames::Counted,
            },
            None => {
                Self::numbered(&operation.container_prefix, &operation.container_suffix, ObjectNames::Counted)
            }
        }
    }

    pub fn objects(operation: &Operation) -> Self {
        Self::numbered(&operation.object_prefix, &operation.object_suffix, operation.object_names)
    }

    fn numbered(prefix: &str, suffix: &str, numbers: ObjectNames) -> Self {
        let mut text = String::with_capacity(prefix.len() + 20 + suffix.len());
        text.push_str(prefix);
        Self { text, prefix: Some(prefix.len()), suffix: suffix.to_owned(), numbers }
    }

    /// Writes the name of `number` in place of the last one.
    #[expect(
        clippy::inline_always,
        reason = "twice for each operation, and called it costs twice as many instructions"
    )]
    #[inline(always)]
    pub fn write(&mut self, number: u64) -> &str {
        if let Some(prefix) = self.prefix {
            self.text.truncate(prefix);
            match self.numbers {
                ObjectNames::Counted => self.text.push_str(itoa::Buffer::new().format(number)),
                ObjectNames::Scattered => push_scattered(number, &mut self.text),
            }
            if !self.suffix.is_empty() {
                self.text.push_str(&self.suffix);
            }
        }
        &self.text
    }

    /// The name written last.
    #[inline]
    pub fn last(&self) -> &str {
        &self.text
    }
}

/// Out of line, so that `write` stays small enough to stand in the loop of a worker.
#[cold]
#[inline(never)]
fn push_scattered(number: u64, text: &mut String) {
    ObjectNames::Scattered.push(number, text);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_written_in_decimal() {
        let mut template = NameTemplate::numbered("p", "-s", ObjectNames::Counted);
        for (number, expected) in [(u64::MAX, "p18446744073709551615-s"), (0, "p0-s"), (7, "p7-s")] {
            assert_eq!(template.write(number), expected);
            assert_eq!(template.last(), expected);
        }
        let mut fixed = NameTemplate {
            text: "one".into(),
            prefix: None,
            suffix: String::new(),
            numbers: ObjectNames::Counted,
        };
        assert_eq!(fixed.write(7), "one");
    }
}
