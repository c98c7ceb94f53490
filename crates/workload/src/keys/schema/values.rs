//! What single values look like, as JSON Schema: patterns made of the units and words that the readers know. What they
//! take is not refused here, but for short forms of words (`signal: SIGSTOP`) and zeros that are taken for one; of what they
//! refuse, ranges and what depends on other values are left to them.

use cosmark_metrics::results::{METRICS, Metric, Unit};
use cosmark_units::{duration_units, speed_units};
use serde_json::{Value, json};

use crate::keys::ValueKind;
use crate::model::selector::SizeUnit;

/// Where a `${{ matrix.x }}` stands, nothing is known of the value before it is replaced.
pub(super) const REFERENCE: &str = r"\$\{\{";

const WHOLE: &str = "[0-9]+|0[xX][0-9a-fA-F]+";
/// A whole number in a selector.
const NUMBER: &str = r"\+?[0-9]+";
const DECIMAL: &str = r"[0-9]{1,20}(?:\.[0-9]{0,18})?";
/// A number that is not below 0, as a floating-point number is written.
const FLOAT: &str = r"(?:\+?(?:[0-9]+\.?[0-9]*|\.[0-9]+)|-(?:0+\.?0*|\.0+))(?:[eE][+-]?[0-9]+)?";

/// The definitions of all of them, by the name that [`reference`] leads to.
pub(super) fn definitions() -> Vec<(&'static str, Value)> {
    let rate = rate();
    let percent = format!(r"{FLOAT}\s*%?");
    vec![
        (
            "numbers",
            with_examples(text(&selector(NUMBER)), &["r(1,100)", "u(1,100)", "c(1)", "z(1,100,0.99)"]),
        ),
        ("sizes", with_examples(text(&sizes()), &["c(64)KiB", "u(1,10)MB", "64KiB"])),
        (
            "switch",
            either(
                json!({"type": "boolean"}),
                text("[tT][rR][uU][eE]|[yY][eE][sS]|[oO][nN]|[fF][aA][lL][sS][eE]|[nN][oO]|[oO][fF][fF]"),
            ),
        ),
        ("count", either(json!({"type": "integer", "minimum": 1}), text(WHOLE))),
        ("whole", either(json!({"type": "integer", "minimum": 0}), text(WHOLE))),
        ("bytes", with_examples(either(json!({"type": "integer", "minimum": 0}), text(&size())), &["5MiB"])),
        ("time", with_examples(either(json!({"const": 0}), text(&time())), &["30s", "500ms"])),
        (
            "percent",
            with_examples(
                either(json!({"type": "number", "minimum": 0, "maximum": 1}), text(&percent)),
                &["5 %"],
            ),
        ),
        ("percentSign", with_examples(text(r"\+?[0-9]+(?:\.[0-9]{1,2})?\s*%"), &["2 %"])),
        ("share", either(json!({"type": "number", "minimum": 0, "maximum": 1}), text(FLOAT))),
        ("number", either(json!({"type": "number", "minimum": 0}), text(FLOAT))),
        (
            "perSecond",
            with_examples(either(json!({"type": "number", "minimum": 0}), text(&rate)), &["5000/s", "300/m"]),
        ),
        (
            "arrivals",
            with_examples(
                either(json!({"type": "number", "exclusiveMinimum": 0}), text(&arrivals(&rate))),
                &["5000/s", "poisson,5000/s"],
            ),
        ),
        (
            "bandwidth",
            with_examples(
                either(json!({"type": "integer", "minimum": 1}), text(&format!(r"(?:{})\s*(?:/s)?", size()))),
                &["1MB/s"],
            ),
        ),
        ("speed", with_examples(text(&speed()), &["40Mbit/s", "1 Gbit/s", "5 MB/s"])),
        ("threshold", threshold()),
    ]
}

/// Where the value of this kind is defined; `None` where a row has it to itself.
pub(super) fn definition_of(kind: ValueKind) -> Option<&'static str> {
    Some(match kind {
        ValueKind::Text | ValueKind::Directory | ValueKind::Words(_) => return None,
        ValueKind::Numbers => "numbers",
        ValueKind::Sizes => "sizes",
        ValueKind::Bool => "switch",
        ValueKind::Count => "count",
        ValueKind::Integer => "whole",
        ValueKind::Bytes => "bytes",
        ValueKind::Duration => "time",
        ValueKind::Percent => "percent",
        ValueKind::PercentSign => "percentSign",
        ValueKind::Number => "number",
        ValueKind::Share => "share",
        ValueKind::Rate | ValueKind::Load => "perSecond",
        ValueKind::Bandwidth => "bandwidth",
        ValueKind::Nested(name) => name,
    })
}

/// What a value may look like.
pub(super) fn fragment(kind: ValueKind) -> Value {
    match kind {
        ValueKind::Text => json!({"type": ["string", "number", "boolean"]}),
        ValueKind::Words(words) => {
            either(json!({"enum": words}), json!({"type": "string", "pattern": REFERENCE}))
        }
        _ => definition_of(kind).map_or_else(|| json!({"type": "string"}), reference),
    }
}

/// A reference to one of the definitions.
pub(super) fn reference(name: &str) -> Value {
    json!({"$ref": format!("#/$defs/{name}")})
}

/// One of two.
pub(super) fn either(one: Value, other: Value) -> Value {
    json!({"anyOf": [one, other]})
}

/// A text that is of this grammar as a whole, blanks around it, or that the matrix is still to be put into.
pub(super) fn text(grammar: &str) -> Value {
    json!({"type": "string", "pattern": format!(r"^\s*(?:{grammar})\s*$|{REFERENCE}")})
}

/// One of the words in any case, as a pattern.
pub(super) fn in_any_case<'a>(words: impl IntoIterator<Item = &'a str>) -> String {
    let of_sign = |sign: char| match sign {
        'a'..='z' | 'A'..='Z' => format!("[{}{}]", sign.to_ascii_lowercase(), sign.to_ascii_uppercase()),
        '.' | '*' | '+' | '?' | '(' | ')' | '[' | ']' | '{' | '}' | '|' | '^' | '$' | '\\' | '/' => {
            format!("\\{sign}")
        }
        other => other.to_string(),
    };
    let words: Vec<String> = words.into_iter().map(|word| word.chars().map(of_sign).collect()).collect();
    words.join("|")
}

/// A whole number with its sign.
pub(super) fn signed_whole() -> String {
    format!("[+-]?(?:{WHOLE})")
}

/// A number with its sign.
pub(super) fn signed_number() -> String {
    format!("-?{FLOAT}")
}

/// A number of bytes.
pub(super) fn size() -> String {
    format!(r"{WHOLE}|{DECIMAL}\s*(?:{})", size_units())
}

/// A time that says its unit.
pub(super) fn time() -> String {
    let units: Vec<&str> = duration_units().collect();
    format!(r"{DECIMAL}\s*(?:{})|0+(?:\.0*)?", units.join("|"))
}

fn with_examples(mut value: Value, examples: &[&str]) -> Value {
    value["examples"] = json!(examples);
    value
}

fn size_units() -> String {
    SizeUnit::TABLE.iter().map(|row| row.1).collect::<Vec<_>>().join("|")
}

/// A selector whose numbers look like this.
fn selector(number: &str) -> String {
    let n = format!(r"\s*{number}\s*");
    let bucket = format!(r"{n}\|(?:{n}|\s*)\|\s*{FLOAT}\s*");
    format!(
        r"c\s*\({n}\)|u\s*\({n}(?:,{n})?\)|[rs]\s*\({n},{n}\)|h\s*\({bucket}(?:,{bucket})*\)|z\s*\({n},{n},\s*{FLOAT}\s*\)|{number}\s*-\s*{number}"
    )
}

/// A selector with its unit behind it or in each of its numbers.
fn sizes() -> String {
    let unit = size_units();
    let inner = selector(&format!(r"{NUMBER}\s*(?:{unit})"));
    format!(r"(?:[0-9]+|{})\s*(?:{unit})|{inner}", selector(NUMBER))
}

fn rate() -> String {
    format!(r"{FLOAT}\s*(?:/\s*[smh])?")
}

/// One line that says how operations are started.
fn arrivals(rate: &str) -> String {
    let time = time();
    format!(
        r"(?:(?:constant|poisson)\s*,\s*)?{rate}|ramp\s*,\s*{rate}\s*,\s*{rate}|step(?:\s*,\s*{rate}\s*:\s*(?:{time}))+|recorded\s*,\s*{FLOAT}\s*,.*\S.*"
    )
}

fn speed() -> String {
    let units = speed_units().map(|unit| match unit.strip_suffix("bit/s") {
        Some(_) => in_any_case([unit]),
        None => unit.replace('/', "\\/"),
    });
    format!(r"(?:[0-9]+\.?[0-9]*|\.[0-9]+)\s*(?:{})", units.collect::<Vec<_>>().join("|"))
}

/// What a stage has to reach.
fn threshold() -> Value {
    let of_figure = METRICS.iter().filter(|metric| !metric.names.threshold.is_empty()).map(condition);
    let conditions: Vec<String> = of_figure.collect();
    let mut value = text(&format!(r"(?:[^<>]*[^<>\s]\s*\.\s*)?(?:{})", conditions.join("|")));
    value["maxLength"] = json!(200);
    with_examples(
        value,
        &[
            "read.p95 <= 20 ms",
            "error_rate <= 0.1 %",
            "throughput >= 1000/s",
            "p95 <= 200 ms + size / 1 MB/s",
        ],
    )
}

/// A figure, the sign that suits it, and its limit.
fn condition(metric: &Metric) -> String {
    let sign = if metric.more_is_better() { r"\s*>=?\s*" } else { r"\s*<=?\s*" };
    let name = metric.names.threshold;
    // A fraction of a percentile may be written as such.
    let name = if name.starts_with("p99_") { name.replace('_', "[._]") } else { name.to_owned() };
    let per_s = format!(r"{FLOAT}\s*(?:{})\s*\/s", size_units());
    match metric.unit {
        Unit::Share => format!(r"{name}{sign}{FLOAT}\s*%?"),
        Unit::PerS => format!("{name}{sign}{}", rate()),
        Unit::BytesPerS => format!("{name}{sign}{per_s}"),
        Unit::Count(_) => format!("{name}{sign}{FLOAT}"),
        Unit::Bytes => format!("{name}{sign}(?:{})", size()),
        Unit::Ms => {
            let time = time();
            format!(
                r"(?:{name}_ms{sign}{FLOAT}|{name}(?:_ms)?{sign}(?:{time}))(?:\s*\+\s*size\s*\/\s*{per_s})?"
            )
        }
    }
}
