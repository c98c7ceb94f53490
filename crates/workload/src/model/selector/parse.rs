//! Reading selectors. Blanks are allowed between the parts.

use std::str::FromStr;

use super::{
    Bucket, IntSelector, MAX_BUCKETS, MAX_THETA, MAX_ZIPF_NUMBERS, OPEN_END, SelectorError, SizeSelector,
    SizeUnit,
};
use crate::diagnostics::shown;

impl FromStr for IntSelector {
    type Err = SelectorError;

    fn from_str(text: &str) -> Result<Self, SelectorError> {
        let (selector, units) = Reader::new(text, false).selector()?;
        debug_assert!(units.is_empty());
        Ok(selector)
    }
}

impl FromStr for SizeSelector {
    type Err = SelectorError;

    /// Reads `c(64)KB`, and the shorter `64KB`, `c(64KB)`, `u(4KiB,1MiB)`.
    fn from_str(text: &str) -> Result<Self, SelectorError> {
        let trimmed = text.trim_end();
        let (body, unit) = split_unit(trimmed)?;
        let size = match unit {
            Some(unit)
                if body.trim_start().bytes().all(|b| b.is_ascii_digit()) && !body.trim().is_empty() =>
            {
                let at = body.len() - body.trim_start().len();
                SizeSelector { values: IntSelector::Constant(number(body.trim(), at)?), unit }
            }
            Some(unit) => SizeSelector { values: body.parse()?, unit },
            None => Reader::new(trimmed, true).sizes_with_inner_units()?,
        };
        if size.values.bounds().1.checked_mul(size.unit.bytes()).is_none() {
            return Err(SelectorError {
                at: 0,
                message: format!("the size {size} is too large"),
                hint: "sizes end at 18446744073709551615 bytes".to_owned(),
            });
        }
        Ok(size)
    }
}

/// Cuts the unit off the end; `None` when the text ends in `)`, i.e. the unit stands inside.
fn split_unit(text: &str) -> Result<(&str, Option<SizeUnit>), SelectorError> {
    let letters = text.chars().rev().take_while(|c| c.is_alphabetic()).map(char::len_utf8).sum::<usize>();
    let at = text.len() - letters;
    let word = &text[at..];
    if let Some(unit) = SizeUnit::of_word(word) {
        return Ok((&text[..at], Some(unit)));
    }
    let inner = text.split_once('(').map_or("", |(_, inner)| inner);
    if word.is_empty() && text.ends_with(')') && inner.contains(char::is_alphabetic) {
        return Ok((text, None));
    }
    let hint = match word {
        _ if text.trim().is_empty() => "write a size such as c(64)KB".to_owned(),
        "" => format!("add a unit, e.g. {}KB; known: B KB MB GB TB KiB MiB GiB TiB", shown(text.trim())),
        _ => SizeUnit::hint(word),
    };
    Err(SelectorError { at, message: format!("unrecognized size unit: {}", shown(text.trim())), hint })
}

fn number(text: &str, at: usize) -> Result<u64, SelectorError> {
    text.parse().map_err(|_| SelectorError {
        at,
        message: format!("`{}` is not a whole number", shown(text)),
        hint: if text.is_empty() {
            "a number is missing here".to_owned()
        } else if text.bytes().all(|b| b.is_ascii_digit()) {
            "numbers end at 18446744073709551615".to_owned()
        } else if text.contains('.') {
            "write whole numbers; for a fraction of a unit use the next smaller unit".to_owned()
        } else {
            "write decimal digits only".to_owned()
        },
    })
}

/// A piece of the text with its place.
#[derive(Clone, Copy)]
struct Part<'a> {
    text: &'a str,
    at: usize,
}

impl<'a> Part<'a> {
    fn trim(self) -> Part<'a> {
        let lead = self.text.len() - self.text.trim_start().len();
        Part { text: self.text.trim(), at: self.at + lead }
    }

    fn split(self, separator: char) -> impl Iterator<Item = Part<'a>> {
        let mut at = self.at;
        self.text.split(separator).map(move |text| {
            let part = Part { text, at };
            at += text.len() + separator.len_utf8();
            part.trim()
        })
    }
}

/// Reads one selector; with `inner_units` every number may carry a unit.
struct Reader<'a> {
    whole: &'a str,
    inner_units: bool,
    units: Vec<(u64, SizeUnit)>,
}

impl<'a> Reader<'a> {
    fn new(whole: &'a str, inner_units: bool) -> Self {
        Reader { whole, inner_units, units: Vec::new() }
    }

    fn selector(mut self) -> Result<(IntSelector, Vec<(u64, SizeUnit)>), SelectorError> {
        let selector = self.read()?;
        Ok((selector, self.units))
    }

    /// Scales numbers that carry units to the smallest unit that keeps all of them whole.
    fn sizes_with_inner_units(mut self) -> Result<SizeSelector, SelectorError> {
        let mut values = self.read()?;
        let mut units: Vec<SizeUnit> = self.units.iter().map(|u| u.1).collect();
        units.sort_by_key(|u| std::cmp::Reverse(u.bytes()));
        units.push(SizeUnit::B);
        let whole = |unit: &SizeUnit| self.units.iter().all(|(bytes, _)| bytes % unit.bytes() == 0);
        let smallest = self.units.iter().map(|u| u.1).min_by_key(|u| u.bytes()).unwrap_or(SizeUnit::B);
        let unit = if whole(&smallest) { smallest } else { SizeUnit::B };
        let scale = |n: &mut u64| *n /= unit.bytes();
        match &mut values {
            IntSelector::Constant(n) => scale(n),
            IntSelector::Uniform { lo, hi }
            | IntSelector::Sequential { lo, hi }
            | IntSelector::Range { lo, hi }
            | IntSelector::Zipf { lo, hi, .. } => {
                scale(lo);
                scale(hi);
            }
            IntSelector::Histogram { buckets } => {
                for bucket in buckets {
                    scale(&mut bucket.lo);
                    if bucket.hi != OPEN_END {
                        scale(&mut bucket.hi);
                    }
                }
            }
        }
        Ok(SizeSelector { values, unit })
    }

    fn read(&mut self) -> Result<IntSelector, SelectorError> {
        let part = Part { text: self.whole, at: 0 }.trim();
        let Some(open) = part.text.find('(') else { return self.bare_range(part) };
        let letter = part.text[..open].trim();
        let Some(body) = part.text[open + 1..].strip_suffix(')') else {
            return Err(self.unreadable(part.at + part.text.len(), "the closing `)` is missing at the end"));
        };
        let body = Part { text: body, at: part.at + open + 1 };
        if body.text.contains(['(', ')']) {
            return Err(self.unreadable(body.at, "one selector has one pair of parentheses"));
        }
        match letter {
            "c" => Ok(IntSelector::Constant(self.one(body)?)),
            "u" => self.pair(body, true).map(|(lo, hi)| IntSelector::Uniform { lo, hi }),
            "s" => self.pair(body, false).map(|(lo, hi)| IntSelector::Sequential { lo, hi }),
            "r" => self.pair(body, false).map(|(lo, hi)| IntSelector::Range { lo, hi }),
            "h" => self.histogram(body),
            "z" => self.zipf(body),
            _ => {
                let lower = letter.to_ascii_lowercase();
                let hint = if ["c", "u", "s", "r", "h", "z"].contains(&lower.as_str()) {
                    format!("did you mean {lower}(..)? letters are lower case")
                } else {
                    KNOWN.to_owned()
                };
                Err(self.unreadable(part.at, &hint))
            }
        }
    }

    fn unreadable(&self, at: usize, hint: &str) -> SelectorError {
        SelectorError {
            at,
            message: format!("unrecognized selection expression: {}", shown(self.whole.trim())),
            hint: hint.to_owned(),
        }
    }

    fn bare_range(&mut self, part: Part<'_>) -> Result<IntSelector, SelectorError> {
        let parts: Vec<_> = part.split('-').collect();
        if let [lo, hi] = parts[..]
            && !lo.text.is_empty()
            && !hi.text.is_empty()
        {
            let (lo_at, lo, hi) = (lo.at, self.number(lo)?, self.number(hi)?);
            self.ordered(lo_at, lo, hi, true)?;
            return Ok(IntSelector::Range { lo, hi });
        }
        let hint = match part.text.parse::<u64>() {
            Ok(n) => format!("did you mean c({n}) or r(1,{n})?"),
            Err(_) => KNOWN.to_owned(),
        };
        Err(self.unreadable(part.at, &hint))
    }

    fn number(&mut self, part: Part<'_>) -> Result<u64, SelectorError> {
        if !self.inner_units {
            return number(part.text, part.at);
        }
        let (digits, unit) = split_unit(part.text).map_err(|e| SelectorError { at: part.at + e.at, ..e })?;
        let unit = unit.unwrap_or(SizeUnit::B);
        let count = number(digits.trim(), part.at)?;
        let bytes = count.checked_mul(unit.bytes()).ok_or_else(|| SelectorError {
            at: part.at,
            message: format!("the size {} is too large", shown(part.text)),
            hint: "sizes end at 18446744073709551615 bytes".to_owned(),
        })?;
        self.units.push((bytes, unit));
        Ok(bytes)
    }

    fn one(&mut self, body: Part<'_>) -> Result<u64, SelectorError> {
        if body.text.contains(',') {
            return Err(
                self.unreadable(body.at, "c() takes one number; for a range use u(lo,hi) or r(lo,hi)")
            );
        }
        self.number(body.trim())
    }

    fn pair(&mut self, body: Part<'_>, open_end: bool) -> Result<(u64, u64), SelectorError> {
        let parts: Vec<_> = body.split(',').collect();
        let (lo, hi) = match parts[..] {
            [lo] if open_end => (self.number(lo)?, OPEN_END),
            [lo, hi] => (self.number(lo)?, self.number(hi)?),
            _ => return Err(self.unreadable(body.at, "two numbers are needed: (lo,hi)")),
        };
        self.ordered(parts[0].at, lo, hi, self.whole.trim_start().starts_with('r'))?;
        Ok((lo, hi))
    }

    fn ordered(&self, at: usize, lo: u64, hi: u64, may_be_nothing: bool) -> Result<(), SelectorError> {
        if may_be_nothing && lo == 0 && hi == 0 {
            return Ok(());
        }
        if lo == 0 {
            let hint = "numbers start at 1; r(0,0) alone means nothing, c(0) is the size 0";
            return Err(self.wrong(at, "the lower end must be at least 1", hint));
        }
        if hi < lo {
            return Err(self.wrong(
                at,
                &format!("the upper end {hi} is below the lower end {lo}"),
                "swap them",
            ));
        }
        Ok(())
    }

    fn wrong(&self, at: usize, what: &str, hint: &str) -> SelectorError {
        SelectorError { at, message: format!("{}: {what}", shown(self.whole.trim())), hint: hint.to_owned() }
    }

    fn histogram(&mut self, body: Part<'_>) -> Result<IntSelector, SelectorError> {
        let mut buckets = Vec::new();
        for part in body.split(',') {
            if buckets.len() == MAX_BUCKETS {
                return Err(self.wrong(part.at, "too many buckets", &format!("at most {MAX_BUCKETS}")));
            }
            buckets.push(self.bucket(part)?);
        }
        let total: f64 = buckets.iter().map(|b: &Bucket| b.weight).sum();
        if !total.is_finite() {
            return Err(self.wrong(body.at, "the weights are too large", "use weights that sum to 100"));
        }
        buckets.sort_by_key(|b| b.lo);
        Ok(IntSelector::Histogram { buckets })
    }

    fn bucket(&mut self, part: Part<'_>) -> Result<Bucket, SelectorError> {
        let fields: Vec<_> = part.split('|').collect();
        let [lo, hi, weight] = fields[..] else {
            return Err(self.unreadable(part.at, "a bucket is lo|hi|weight, or lo||weight with an open end"));
        };
        let lo_at = lo.at;
        let lo = self.number(lo)?;
        let hi = if hi.text.is_empty() { OPEN_END } else { self.number(hi)? };
        self.ordered(lo_at, lo, hi, false)?;
        let weight_value = weight.text.parse::<f64>().ok().filter(|w| w.is_finite() && *w > 0.0);
        let Some(weight_value) = weight_value else {
            let what = format!("the weight `{}` is not a number above 0", shown(weight.text));
            return Err(self.wrong(weight.at, &what, "drop a bucket that has no weight"));
        };
        Ok(Bucket { lo, hi, weight: weight_value })
    }

    fn zipf(&mut self, body: Part<'_>) -> Result<IntSelector, SelectorError> {
        let parts: Vec<_> = body.split(',').collect();
        let [lo, hi, theta] = parts[..] else {
            return Err(self.unreadable(body.at, "z() is z(lo,hi,theta), e.g. z(1,1000,0.99)"));
        };
        let (lo_at, lo, hi) = (lo.at, self.number(lo)?, self.number(hi)?);
        self.ordered(lo_at, lo, hi, false)?;
        if hi - lo >= MAX_ZIPF_NUMBERS {
            let what = format!("z() covers at most {MAX_ZIPF_NUMBERS} numbers");
            return Err(self.wrong(lo_at, &what, "use a smaller range"));
        }
        let value = theta.text.parse::<f64>().ok().filter(|t| *t > 0.0 && *t <= MAX_THETA);
        let Some(theta) = value else {
            let what = format!("theta `{}` is not a number above 0 and up to {MAX_THETA}", shown(theta.text));
            return Err(self.wrong(
                theta.at,
                &what,
                "0.99 is usual; a larger theta makes the hot set smaller",
            ));
        };
        Ok(IntSelector::Zipf { lo, hi, theta })
    }
}

const KNOWN: &str = "known: c(n) u(lo,hi) r(lo,hi) s(lo,hi) h(lo|hi|weight,..) z(lo,hi,theta) and lo-hi";
