//! Times, sizes, rates and numbers as people write them, and back: the one reader and the one writer of each, for workloads
//! and for the keys of adaptors; and how wide a text is. Pure, and without a dependency.
//!
//! Every reader gives a [`Complaint`] that says what is wrong and how to write it; what a writer writes, its reader reads
//! back exactly. What is rounded for people alone (`people.rs`) has a writer and no reader.

mod columns;
mod duration;
mod number;
mod people;
mod rate;
mod size;
mod speed;

pub use columns::columns_of;
pub use duration::{
    MAX_DURATION, Plain, duration_text, duration_units, has_no_unit, parse_duration, parse_duration_as,
    unit_hint,
};
pub use number::{grouped, parse_bool, parse_integer, parse_signed, signed_text};
pub use people::{rounded_bytes, rounded_share, rounded_speed};
pub use rate::{MAX_RATE_PER_S, parse_rate, parse_rate_or_zero, rate_text};
pub use size::{SizeUnit, bytes_text, parse_size};
pub use speed::{MAX_SPEED_BYTES_PER_S, parse_speed, speed_text, speed_units};

/// What is wrong with a value, and what to write instead.
pub type Complaint = (String, String);

/// Text of the user as it may stand in a message: one line, not too long.
#[must_use]
pub fn shown(text: &str) -> String {
    const LONGEST: usize = 80;
    let mut out: String =
        text.chars().take(LONGEST).map(|c| if c.is_control() { '\u{fffd}' } else { c }).collect();
    if text.chars().nth(LONGEST).is_some() {
        out.push_str("..");
    }
    out
}

/// `digits[.digits]` times `scale`, exact; parts below one are refused.
fn decimal_times(number: &str, scale: u64) -> Option<u128> {
    let (whole, fraction) = number.split_once('.').unwrap_or((number, ""));
    let all_digits = |s: &str| s.bytes().all(|b| b.is_ascii_digit());
    if whole.is_empty()
        || whole.len() > 20
        || fraction.len() > 18
        || !all_digits(whole)
        || !all_digits(fraction)
    {
        return None;
    }
    let tens = 10u128.pow(u32::try_from(fraction.len()).ok()?);
    let fraction = if fraction.is_empty() { 0 } else { fraction.parse().ok()? };
    let scaled = whole.parse::<u128>().ok()?.checked_mul(tens)?.checked_add(fraction)?;
    let scaled = scaled.checked_mul(u128::from(scale))?;
    (scaled % tens == 0).then_some(scaled / tens)
}
