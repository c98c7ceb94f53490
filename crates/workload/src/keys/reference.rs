//! The reference pages of both formats, made from the tables.

use std::fmt::Write as _;

use cosmark_metrics::results::{Metric, Unit};

use crate::Format;
use crate::keys::attributes::{self, AttributeRow};
use crate::keys::{KEYS, Key, Scope, ValueKind};
use crate::model::OpKind;
use crate::model::selector::SizeUnit;
use crate::model::threshold::figures;

/// The page of one format: `docs/reference/workload-xml.md` or `docs/reference/workload-yaml.md`.
#[must_use]
pub fn reference_markdown(format: Format) -> String {
    let mut page = Page { out: String::new(), format };
    match format {
        Format::Xml => page.xml(),
        Format::Yaml => page.yaml(),
    }
    page.out
}

struct Page {
    out: String,
    format: Format,
}

impl Page {
    fn text(&mut self, text: &str) {
        self.out.push_str(text.trim_start_matches('\n'));
    }

    fn xml(&mut self) {
        self.text(XML_HEAD);
        for (title, rows) in [
            ("`<workload>`", attributes::WORKLOAD),
            ("`<workflow>`", attributes::WORKFLOW),
            ("`<workstage>`", attributes::STAGE),
            ("`<work>`", attributes::WORK),
            ("`<operation>`", attributes::OPERATION),
            ("`<auth>`, `<storage>`", attributes::TARGET),
        ] {
            self.rows(title, rows);
        }
        self.text(XML_CONFIG);
        self.operations();
        self.keys("Keys of operations", |scope| scope == Scope::Operations);
        self.text("\nThe YAML spellings of these keys are taken as well.\n\n");
        self.keys("Keys of works, stages and the workload", |scope| scope != Scope::Operations);
        self.text(XML_WORKS);
        self.selectors();
    }

    fn yaml(&mut self) {
        self.text(YAML_HEAD);
        for (title, rows) in [
            ("Workload", attributes::WORKLOAD),
            ("Stage", attributes::STAGE),
            ("Work", attributes::WORK),
            ("Operation", attributes::OPERATION),
            ("`auth`, `storage`", attributes::TARGET),
        ] {
            self.rows(title, rows);
        }
        self.operations();
        self.keys("Keys of operations", |scope| scope == Scope::Operations);
        self.text(YAML_REST);
        self.rows("`rate`", attributes::RATE);
        self.text(YAML_RATE);
        self.rows("`pace`", attributes::PACE);
        self.text(YAML_GOALS);
        self.figures();
        self.text(YAML_JUDGED);
        self.rows("`search`", attributes::SEARCH);
        self.text(YAML_SEARCH);
        self.rows("`faults`", attributes::FAULT);
        self.text(YAML_FAULTS);
        self.rows("`consistency`", attributes::CONSISTENCY);
        self.text(YAML_CONSISTENCY);
        self.selectors();
    }

    fn name<'r>(&self, xml: &'r str, yaml: &'r str) -> &'r str {
        if self.format == Format::Xml { xml } else { yaml }
    }

    fn rows(&mut self, title: &str, rows: &[AttributeRow]) {
        let word = self.name("attribute", "field");
        let _ = write!(self.out, "## {title}\n\n| {word} | value | default | meaning |\n|---|---|---|---|\n");
        for row in rows {
            let name = self.name(row.xml, row.yaml);
            if !name.is_empty() {
                let value = value_words(row.value, self.format);
                let default = default_words(row.value, row.default, self.format);
                let _ = writeln!(self.out, "| `{name}` | {value} | {default} | {} |", escaped(row.help));
            }
        }
        self.out.push('\n');
    }

    fn operations(&mut self) {
        self.out.push_str("## Operations of a mix\n\n| type | needs | does |\n|---|---|---|\n");
        for row in OpKind::TABLE.iter().filter(|row| !row.is_special) {
            let needs = row.required.iter().map(|id| Key::of(*id)).map(|key| self.name(key.xml, key.yaml));
            let needs: Vec<String> = needs.map(|name| format!("`{name}`")).collect();
            let _ = writeln!(self.out, "| `{}` | {} | {} |", row.word, needs.join(" "), row.help);
        }
        self.out.push('\n');
    }

    fn keys(&mut self, title: &str, wanted: fn(Scope) -> bool) {
        let _ = write!(
            self.out,
            "## {title}\n\n| key | value | default | read by | meaning |\n|---|---|---|---|---|\n"
        );
        for key in KEYS.iter().filter(|key| wanted(key.scope)) {
            let (value, by) = (value_words(key.value, self.format), readers(key));
            let default = default_words(key.value, key.default, self.format);
            let name = self.name(key.xml, key.yaml);
            let _ = writeln!(self.out, "| `{name}` | {value} | {default} | {by} | {} |", escaped(key.help));
        }
        self.out.push('\n');
    }

    /// Every figure that a threshold may name, those of one kind in one row.
    fn figures(&mut self) {
        self.out.push_str("| metric | is | limit |\n|---|---|---|\n");
        let mut kinds: Vec<&str> = figures().map(kind_of).collect();
        kinds.dedup();
        for kind in kinds {
            let of_kind = || figures().filter(move |figure| kind_of(figure) == kind);
            let names = of_kind().map(|figure| format!("`{}`", figure.names.threshold.replace("99_", "99.")));
            let names = names.collect::<Vec<_>>().join(" ");
            if let Some(figure) = of_kind().next() {
                let (is, limit) = (figure_words(figure), limit_words(figure.unit));
                let _ = writeln!(self.out, "| {names} | {is} | {limit} |");
            }
        }
        self.out.push('\n');
    }

    fn selectors(&mut self) {
        self.text(SELECTORS);
        for (_, word, bytes) in SizeUnit::TABLE.iter().rev() {
            let _ = writeln!(self.out, "| `{word}` | {bytes} |");
        }
    }
}

fn readers(key: &Key) -> String {
    match key.scope {
        Scope::Operations => {
            let readers: Vec<&str> =
                OpKind::TABLE.iter().filter(|row| key.is_read_by(row.kind)).map(|row| row.word).collect();
            if readers.len() == OpKind::TABLE.len() { "all".to_owned() } else { readers.join(", ") }
        }
        Scope::Mix => "operation".to_owned(),
        Scope::Work => "work".to_owned(),
        Scope::Stage => "stage".to_owned(),
        Scope::Workload => "workload".to_owned(),
    }
}

fn value_words(kind: ValueKind, format: Format) -> String {
    match kind {
        ValueKind::Text => "text".to_owned(),
        ValueKind::Directory => "path of a directory".to_owned(),
        ValueKind::Numbers => "selector".to_owned(),
        ValueKind::Sizes => "size selector".to_owned(),
        ValueKind::Bool => "true or false".to_owned(),
        ValueKind::Count => "whole number above 0".to_owned(),
        ValueKind::Integer => "whole number".to_owned(),
        ValueKind::Bytes => "bytes, e.g. `5MiB`".to_owned(),
        ValueKind::Duration if format == Format::Yaml => "duration, e.g. `30s`".to_owned(),
        ValueKind::Duration => "seconds".to_owned(),
        ValueKind::Number => "number".to_owned(),
        ValueKind::Share if format == Format::Yaml => "share of 1".to_owned(),
        ValueKind::Share => "whole number, per million".to_owned(),
        ValueKind::Percent => "share, e.g. `5 %`".to_owned(),
        ValueKind::PercentSign => "percent, e.g. `2 %`".to_owned(),
        ValueKind::Bandwidth => "bytes per second, e.g. `1MB/s`".to_owned(),
        ValueKind::Load => "rate or workers".to_owned(),
        ValueKind::Rate => "rate, e.g. `5000/s`".to_owned(),
        ValueKind::Words(words) => words.iter().map(|word| format!("`{word}`")).collect::<Vec<_>>().join(" "),
        ValueKind::Nested("steps" | "loads") => "list".to_owned(),
        ValueKind::Nested("auth" | "storage") if format == Format::Yaml => "see target".to_owned(),
        ValueKind::Nested(name) if format == Format::Yaml => format!("see {name}"),
        ValueKind::Nested(_) => "text".to_owned(),
    }
}

/// A default as the format spells it: in XML times are whole seconds, and shares are per million.
fn default_words(kind: ValueKind, default: &str, format: Format) -> String {
    if format == Format::Yaml {
        return default.to_owned();
    }
    let word = |word: &str| match kind {
        ValueKind::Duration => {
            word.strip_suffix('s').filter(|number| number.parse::<u64>().is_ok()).map(str::to_owned)
        }
        ValueKind::Share => {
            let (number, comma) = word.strip_suffix(',').map_or((word, ""), |number| (number, ","));
            number.parse::<f64>().ok().map(|share| format!("{:.0}{comma}", share * 1e6))
        }
        _ => None,
    };
    default.split(' ').map(|one| word(one).unwrap_or_else(|| one.to_owned())).collect::<Vec<_>>().join(" ")
}

/// What it is a mean or a percentile of; else itself.
fn kind_of(figure: &Metric) -> &'static str {
    figure.id.split('.').next().unwrap_or(figure.id)
}

/// What the figures of its kind are.
fn figure_words(figure: &Metric) -> &'static str {
    match kind_of(figure) {
        "response_ms" => "response time, from the moment the operation was due",
        "wire_ms" => "time on the wire, of the operations that the system [stamped](wire-time.md)",
        "client_added_ms" => "what the client itself added to 99 % of these at most",
        "error_rate" => "failures of all that ended",
        "throughput_per_s" => "successes per second",
        "bandwidth_bytes_per_s" => "body bytes of successes per second",
        _ => figure.help,
    }
}

/// How a limit of a figure is written.
fn limit_words(unit: Unit) -> &'static str {
    match unit {
        Unit::Ms => {
            "upper: `20 ms`, `1.5 s`; plain milliseconds with `_ms` behind the name: `p95_ms <= 20`; one that grows with the mean \
             size of the objects: `200 ms + size / 1 MB/s`"
        }
        Unit::Share => "upper: `0.1 %`, `0.001`",
        Unit::PerS => "lower: `1000/s`",
        Unit::BytesPerS => "lower: `100 MB/s`",
        Unit::Bytes => "a size with its unit: `64 KiB`",
        Unit::Count(_) => "a number above 0",
    }
}

/// A bar would end a cell.
fn escaped(text: &str) -> String {
    text.replace('|', "\\|")
}

const XML_HEAD: &str = r#"
# Workloads in XML

This is COSBench's format. Cosmark reads the files that COSBench read; where it does otherwise,
[cosbench-compatibility.md](cosbench-compatibility.md) says what and why. This page is made from the tables that the
reader uses.

```xml
<workload name="mixed">
  <storage type="s3" config="accesskey=ID;secretkey=${env:S3_SECRET};endpoint=http://127.0.0.1:9000"/>
  <workflow>
    <workstage name="init"><work type="init" workers="1" config="containers=r(1,4)"/></workstage>
    <workstage name="prepare">
      <work type="prepare" workers="8" config="containers=r(1,4);objects=r(1,100);sizes=c(64)KB"/>
    </workstage>
    <workstage name="main">
      <work name="main" workers="8" rampup="5" runtime="30">
        <operation type="read" ratio="80" config="containers=u(1,4);objects=u(1,100)"/>
        <operation type="write" ratio="20" config="containers=u(1,4);objects=u(101,200);sizes=c(64)KB"/>
      </work>
    </workstage>
    <workstage name="cleanup"><work type="cleanup" workers="8" config="containers=r(1,4);objects=r(1,200)"/></workstage>
    <workstage name="dispose"><work type="dispose" workers="1" config="containers=r(1,4)"/></workstage>
  </workflow>
</workload>
```

Stages (`workstage`) run one after another, the works of a stage at the same time. The order of elements inside their
parent does not matter, except that of stages, works and operations among themselves. Unknown elements, attributes and
keys are reported and ignored. A document type and entities other than `&lt; &gt; &amp; &quot; &apos;` and character
references are refused.

"#;

const XML_CONFIG: &str = r#"
## The `config` list

`key=value;key=value`. Each entry is split at its first `=`, both sides are trimmed, the last of equal keys wins. No
quoting: a value cannot contain `;`. Lists of workload, workflow, workstage, work and operation are put together, the inner
one wins. `auth` and `storage` are replaced as a whole by an inner one; their lists are not put together.

`${other}` is replaced by the value of another key of the same list as it is in effect there; `${sys:user.name}` by a system
property that COSBench would have taken from Java, if Cosmark knows it. In `auth` and `storage` a value `${env:NAME}` is
taken from the environment, `${file:PATH}` from a file and `${secret:NAME}` from the secrets that a controller keeps when the
run starts, and is never written anywhere.
A truth value is true, yes or on, or false, no or off. Whole numbers may be written as `0x10`.

"#;

const XML_WORKS: &str = r#"
## Rates

`rate` takes `5000/s`, `poisson,5000/s`, `ramp,100/s,5000/s`, `step,100/s:10s,200/s:20s` or `recorded,2,/path` (a file on the
driver with one offset in seconds per line, here twice as fast).

## Special works

`init` creates containers, `prepare` writes every object of its ranges once, `cleanup` deletes every object once, `dispose`
deletes containers. Each makes one pass: limits have no effect. Their keys stand on the work; an `<operation>` inside is
discarded. Containers and objects are ranges, `r(1,100)` or `1-100`. init and dispose are divided by containers, prepare
and cleanup by objects. `mprepare` is prepare with multipart writes. A stage whose only works are of type `delay` waits
for its `closuredelay`.

A normal work has at least one of runtime, totalOps and totalBytes above 0; the first that is reached ends the work.
Operations with ratio 0 are dropped; the others sum to 100, unless `weight` keys are used.

"#;

const YAML_HEAD: &str = r#"
# Workloads in YAML

Cosmark's own format: the words of COSBench in snake_case, with durations, open loops, references to secrets and a stage
matrix. This page is made from the tables that the reader uses, and so is the JSON Schema for editors that
`cosmark schema` prints.

```yaml
name: mixed
description: reads and writes on four buckets
seed: 42                          # the same seed and workers give the same requests
storage:
  type: s3
  endpoint: http://127.0.0.1:9000
  accesskey: ID
  secretkey: {env: S3_SECRET}     # or {file: PATH}, {secret: NAME}
defaults:                         # keys of operations, inherited; also allowed on stage and work
  containers: r(1,4)
  objects: r(1,100)
  container_prefix: cosmark-
  sizes: c(64)KiB
stages:
  - name: init
    works:
      - {type: init, workers: 1}
  - name: prepare
    works:
      - {type: prepare, workers: 8}
  - name: main
    closure_delay: 5s
    matrix:
      workers: [1, 8, 64]
    works:
      - name: main
        workers: ${{ matrix.workers }}
        rampup: 5s
        runtime: 30s
        operations:
          - type: read
            ratio: 80
            objects: u(1,100)
          - type: write
            ratio: 20
            objects: u(101,200)
  - name: pause
    delay: 30s
  - name: cleanup
    works:
      - {type: cleanup, workers: 8, objects: "r(1,200)"}
  - name: dispose
    works:
      - {type: dispose, workers: 1}
```

Unknown fields are errors. A duration says its unit, in stages and works as in a storage or auth: `5s`, `2m`, `500ms`,
`1h`; only `0` needs none. `runtime: 30` is refused, and so is `--set runtime=30`. Inside `{..}` and `[..]` YAML ends a
plain value at a comma; Cosmark puts `u(1,4)` together again, other tools need quotes.

"#;

const YAML_REST: &str = r#"
These keys stand in an operation, in the `defaults` of workload, stage and work, and directly in a special work. `list` takes
`objects` only when they are its own.

## `trigger`

`trigger: {script: before.sh, args: [a, b]}` or `trigger: before.sh(a,b)`.

"#;

const YAML_RATE: &str = r#"
`rate: 5000/s` is a constant rate. The one-line forms of XML are taken as well: `rate: poisson,5000/s`,
`rate: step,100/s:10s,200/s:20s`.

"#;

const YAML_GOALS: &str = r#"
## `matrix`

A map of axes and their values. The stage is repeated for every combination, the last axis moving fastest, with
`${{ matrix.AXIS }}` replaced in every value of the stage. `exclude` is a list of maps: combinations that agree with one
are dropped. `include` is a list of maps: one that contradicts no axis of a combination extends it, one that fits none is
added. Without a reference in its name a stage is called `main-workers8-size4KiB`. At most 10000 stages.
Signs `${{` that are meant as they stand are written `${{ '${{' }}` inside of a stage.
Stages without a matrix, such as `init` and `prepare`, are run once and serve all combinations.

## `repeat`

`repeat: 5` runs the stage, or every combination of its matrix, five times. Each round has all combinations in an order
that is drawn with the workload's seed, so that a slow hour does not hit one of them alone. The stages are called
`main-workers8-r1`, `main-workers8-r2` and so on; `cosmark show` puts them together.

## `thresholds`

A list of conditions of a stage, or of the workload, where they hold for every stage with normal works:

```yaml
thresholds:
  - read.p95 <= 20 ms
  - error_rate <= 0.1 %
  - throughput >= 1000/s
  - p95 <= 200 ms + size / 1 MB/s
```

Before the dot stands the name or the type of an operation; without one, times are asked of every operation, the others of
all together.

"#;

const YAML_JUDGED: &str = r#"
A percentile or an error rate is met when its 95 % bound lies on the good side too, missed when the other bound lies on the
bad side, and *not decided* otherwise, also where there are too few operations. Failed operations count as beyond any limit of a
percentile. A run with a threshold that is missed or not decided ends with exit code 6.

"#;

const YAML_FAULTS: &str = r#"
```yaml
    faults:
      - {name: quiet, type: none, at: 60s, slot: 60s, repeats: 1}
      - name: node.2 killed
        type: bed
        bed: testbeds/swift
        verb: kill
        target: node.2
        hold: 20s
        slot: 90s
        repeats: 3
```

What comes out is described in [What a fault costs](../guide/faults.md).

"#;
const YAML_CONSISTENCY: &str = r#"
```yaml
consistency: true                  # above the stages: of every stage with normal works
```

What comes out is described in [How soon writes are seen](../guide/consistency.md).

"#;
const YAML_SEARCH: &str = r#"
A search looks for the highest load that meets the thresholds of the stage. The stage has one normal work with a runtime;
each trial is a stage of the run, called `main-rate400` or `main-w64`.
[finding-the-knee.md](../guide/finding-the-knee.md) explains how it goes.

## Special works

`init` creates containers, `prepare` writes every object of its ranges once, `cleanup` deletes every object once, `dispose`
deletes containers. Each makes one pass: limits have no effect. Containers and objects are ranges, `r(1,100)` or `1-100`.
init and dispose are divided by containers, prepare and cleanup by objects. `mprepare` is prepare with multipart writes.

A normal work has at least one of runtime, total_ops and total_bytes above 0; the first that is reached ends the work.

## Targets

A target file has `auth:`, `storage:` or both, as above. `--target FILE` replaces those of every work. What it does not
name stays; a login that stays and that the new storage never uses is refused before anything is sent: add
`auth: {type: none}`. One that the new storage uses goes where that is: of a host that only the target names is warned,
and where it is another store the target needs the `auth` of that one.

"#;

const SELECTORS: &str = r#"
## Selectors

| selector | chooses |
|---|---|
| `c(5)` | always 5 |
| `u(1,100)` | uniformly, both ends included; `u(5)` ends at 2147483647 |
| `r(1,100)`, `1-100` | in order; with a division each worker walks its own slice, without one the workers share the range so that each number is used once per round |
| `s(1,100)` | in order, as `r` without a division |
| `h(1\|64\|10,64\|512\|70)` | a bucket by weight, then uniformly inside it; `64\|\|20` has no upper end |
| `z(1,100,0.99)` | Zipf with this exponent; the hot numbers are scattered over the range, the same ones in every run |
| `r(0,0)`, `0-0` | nothing (special works) |

Numbers start at 1; only `c(0)` may be 0. Sizes are a selector and a unit: `c(64)KB`, `u(1,10)MiB`, and also `64KiB` and
`c(64KiB)`.

| unit | bytes |
|---|---|
"#;
