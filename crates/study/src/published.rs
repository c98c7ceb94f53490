//! `published.csv`: tables of published numbers. A line `# name ..` begins a table; the next line names its columns. Numbers may
//! be printed as `>600`; what has none in it, apart from names such as `R2`, stays text.

use std::collections::BTreeMap;

use crate::design::Levels;
use crate::spec::{OneOrMore, PublishedMap, Quantity, Spec, Take, Where};

/// A larger file holds no published numbers.
const MOST_BYTES: usize = 16 << 20;

/// A table.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Table {
    /// What stands behind its name, such as where it is from.
    pub remark: String,
    /// Columns.
    pub columns: Vec<String>,
    /// Rows, with the line of the file.
    pub rows: Vec<(usize, Vec<String>)>,
}

/// Tables by name.
pub type Tables = BTreeMap<String, Table>;

/// A published number, at the cells that it is about.
#[derive(Debug, Clone, PartialEq)]
pub struct Published {
    /// Levels that it says, system and operation included, several where it is a mean over them; factors that are not named
    /// were varied or stayed the same without a word.
    pub cells: Where,
    /// What differs in the cells below the line of a ratio; empty where the number is no ratio.
    pub to: Where,
    /// Which figure.
    pub metric: String,
    /// What was taken over which factor.
    pub take: Take,
    /// Factor that `take` goes over.
    pub over: Option<String>,
    /// The number in the unit of the figure.
    pub value: f64,
    /// Name of its table.
    pub table: String,
}

/// Reads the tables.
///
/// # Errors
/// The first line that does not fit, with its number.
pub fn read(text: &str) -> Result<Tables, String> {
    if text.len() > MOST_BYTES {
        return Err("published.csv is larger than 16 MiB".to_owned());
    }
    let mut tables = Tables::new();
    let mut current: Option<String> = None;
    // Spreadsheets begin a file with a mark.
    for (at, line) in text.trim_start_matches('\u{feff}').lines().enumerate() {
        let number = at + 1;
        // A row of a spreadsheet is as long as the longest of the sheet.
        let is_padding = |sign: char| sign == ',' || sign.is_whitespace();
        let wrong = |why: String| format!("published.csv, line {number}: {why}");
        let quoted =
            if line.starts_with("\"# ") { fields_of(line).map_err(wrong)?.into_iter().next() } else { None };
        if let Some(head) = quoted.as_deref().unwrap_or(line).strip_prefix('#') {
            let head = head.trim().trim_end_matches(is_padding);
            let (name, remark) = head.split_once(char::is_whitespace).unwrap_or((head, ""));
            if name.is_empty() {
                return Err(format!("published.csv, line {number}: a table needs a name: # NAME"));
            }
            if tables
                .insert(name.to_owned(), Table { remark: remark.trim().to_owned(), ..Table::default() })
                .is_some()
            {
                return Err(format!("published.csv, line {number}: the table {name} is there twice"));
            }
            current = Some(name.to_owned());
            continue;
        }
        if line.chars().all(is_padding) {
            continue;
        }
        let table = current.as_ref().and_then(|name| tables.get_mut(name));
        let table =
            table.ok_or_else(|| format!("published.csv, line {number}: no table yet: begin with # NAME"))?;
        let mut fields = fields_of(line).map_err(wrong)?;
        if table.columns.is_empty() {
            let is_again = |(at, name): &(usize, &String)| !name.is_empty() && fields[..*at].contains(*name);
            if let Some((_, name)) = fields.iter().enumerate().find(is_again) {
                return Err(format!("published.csv, line {number}: the column {name} is there twice"));
            }
            table.columns = fields;
        } else {
            while fields.len() > table.columns.len() && fields.last().is_some_and(String::is_empty) {
                fields.pop();
            }
            // A row may leave out what stands last.
            if fields.len() > table.columns.len() {
                return Err(format!(
                    "published.csv, line {number}: {} fields, the table has {} columns; put quotes around text with commas",
                    fields.len(),
                    table.columns.len()
                ));
            }
            table.rows.push((number, fields));
        }
    }
    Ok(tables)
}

fn fields_of(line: &str) -> Result<Vec<String>, String> {
    // What is behind such a quote would be one field, and each column behind it without a number.
    if !line.matches('"').count().is_multiple_of(2) {
        return Err("a quote without its end; write \"\" for one within a quoted field".to_owned());
    }
    let mut reader = csv::ReaderBuilder::new().has_headers(false).flexible(true).from_reader(line.as_bytes());
    let record = reader.records().next().ok_or("an empty line")?.map_err(|cause| cause.to_string())?;
    Ok(record.iter().map(|field| field.trim().to_owned()).collect())
}

/// A number as papers print it: `1880.78`, `>600`, `~60`, `20000`.
fn number(text: &str) -> Option<f64> {
    bare(text).parse::<f64>().ok().filter(|value| value.is_finite())
}

/// A field without the signs that papers print before a number.
fn bare(text: &str) -> &str {
    text.trim().trim_start_matches(['>', '<', '=', '~', '≈', '≥', '≤']).trim()
}

/// Whether a field has a number that nobody would find: with its unit behind it, with thousands apart, in brackets or with words
/// before it. A word whose first digit is right behind its alphabetic beginning is a name, such as `R2` or `p99.9`.
fn has_number(text: &str) -> bool {
    let is_number = |word: &str| {
        let word = word.trim_start_matches(|sign: char| !sign.is_alphanumeric());
        let behind = word.trim_start_matches(char::is_alphabetic);
        let is_name = behind.len() < word.len() && behind.starts_with(char::is_numeric);
        word.contains(char::is_numeric) && !is_name
    };
    text.split_whitespace().any(is_number)
}

/// The published numbers at their cells.
///
/// # Errors
/// A table or column that is not there; a value that is no number or below 0, two values at the same cells, and an entry of the
/// study that comes to no number: each would be missing from the report, or stand for another, without a word.
pub fn numbers(spec: &Spec, tables: &Tables) -> Result<Vec<Published>, String> {
    let mut all = Vec::new();
    for map in &spec.published {
        let table =
            tables.get(&map.table).ok_or_else(|| format!("published.csv has no table {}", map.table))?;
        let column = |name: &str| {
            table.columns.iter().position(|one| one == name).ok_or_else(|| {
                format!("table {}: no column {name}; it has {}", map.table, table.columns.join(", "))
            })
        };
        let value = column(&map.column)?;
        let keys = map
            .keys
            .iter()
            .map(|(factor, name)| Ok((factor, column(name)?)))
            .collect::<Result<Vec<_>, String>>()?;
        let filters = map
            .rows
            .iter()
            .map(|(name, text)| Ok((column(name)?, &text.0)))
            .collect::<Result<Vec<_>, String>>()?;
        let (before, mut seen) = (all.len(), BTreeMap::new());
        for (line, row) in &table.rows {
            let field = |at: usize| row.get(at).map_or("", String::as_str);
            if filters.iter().any(|(at, text)| field(*at) != text.as_str()) {
                continue;
            }
            let said: Vec<(&String, &str)> = keys.iter().map(|(factor, at)| (*factor, field(*at))).collect();
            let text = field(value);
            let known = number(text);
            let Some(one) = placed(spec, map, &said, known.unwrap_or_default()) else { continue };
            let wrong = |why: String| Err(format!("published.csv, line {line}: {why}"));
            if known.is_none() && has_number(text) {
                return wrong(format!(
                    "{} is no number: {text}; write it without unit and with a point, such as 1234.5, or ~60 for about 60",
                    map.column
                ));
            }
            if known.is_none() {
                continue;
            }
            // No figure is below 0.
            if one.value < 0.0 || !one.value.is_finite() {
                return wrong(format!("{} comes to {}, which no figure does", map.column, one.value));
            }
            if let Some(first) = seen.insert(format!("{:?}", one.cells), *line) {
                return wrong(format!(
                    "{} is that of the same cells as in line {first}; `rows:` of the entry chooses one of them",
                    map.column
                ));
            }
            all.push(one);
        }
        if all.len() == before {
            return Err(format!(
                "table {}: no row has a number in {} at a level of this study; levels are written as in study.yaml",
                map.table, map.column
            ));
        }
    }
    Ok(all)
}

/// A number at its levels; `None` where its level is none of the study's.
fn placed(spec: &Spec, map: &PublishedMap, said: &[(&String, &str)], number: f64) -> Option<Published> {
    let mut cells = map.cells.clone();
    for (factor, level) in said {
        let level = if *factor == "system" {
            let found = spec
                .systems
                .iter()
                .find(|system| system.name == *level || system.published_as.as_deref() == Some(*level));
            found.map(|system| system.name.clone())
        } else if *factor == "op" {
            Some((*level).to_owned())
        } else {
            let factor = spec.factors.iter().find(|one| one.name == **factor);
            factor
                .and_then(|factor| factor.levels.iter().find(|one| one.name() == *level))
                .map(|one| one.name().to_owned())
        };
        cells.insert((*factor).clone(), OneOrMore(vec![level?]));
    }
    Some(Published {
        cells,
        to: map.to.clone(),
        metric: map.metric.clone(),
        take: map.take,
        over: map.over.clone(),
        value: number * map.times + map.plus,
        table: map.table.clone(),
    })
}

impl Published {
    /// The levels of a number that is no ratio and no mean over levels.
    #[must_use]
    pub fn levels(&self) -> Option<Levels> {
        let one = |(factor, some): (&String, &OneOrMore)| match some.0.as_slice() {
            [level] => Some((factor.clone(), level.clone())),
            _ => None,
        };
        if self.to.is_empty() { self.cells.iter().map(one).collect() } else { None }
    }

    /// What is read of a system here.
    #[must_use]
    pub fn quantity(&self, system: &str) -> Quantity {
        let mut cells = self.cells.clone();
        cells.insert("system".to_owned(), OneOrMore(vec![system.to_owned()]));
        Quantity { metric: self.metric.clone(), cells, take: self.take, over: self.over.clone(), sla: None }
    }

    /// What that is compared with, where the number is a ratio.
    #[must_use]
    pub fn below(&self, system: &str) -> Option<Quantity> {
        let mut below = self.quantity(system);
        below.cells.extend(self.to.clone());
        (!self.to.is_empty()).then_some(below)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tables_are_read_as_papers_print_them_and_mistakes_have_their_line() {
        let text = "# a.b  src=T\nn,x\n5,>600\n\n10,none\n# c src=V\nn,note\n1,\"one, two\"\n";
        let tables = read(text).unwrap();
        assert_eq!(tables["a.b"].remark, "src=T");
        assert_eq!(tables["a.b"].rows[1], (5, vec!["10".to_owned(), "none".to_owned()]));
        assert_eq!(tables["c"].rows[0].1[1], "one, two");
        assert_eq!(
            (number(">600"), number("88.5"), number("no significant difference")),
            (Some(600.0), Some(88.5), None)
        );
        for (text, words) in [
            ("1,2\n", "line 1: no table"),
            ("# a\nx\n1,2\n", "line 3: 2 fields"),
            ("# a\nx\n# a\n", "line 3: the table a is there twice"),
            ("#\n", "line 1: a table needs a name"),
            ("# a\nn,x,x\n", "line 2: the column x is there twice"),
            ("# a\nn,x\n\"5,7\n", "line 3: a quote without its end"),
            ("# a\nn,x,note\n5,7,3.5\" disk\n", "line 3: a quote without its end"),
            ("# a\nn,x\n5,7,,8\n", "line 3: 4 fields"),
        ] {
            assert!(read(text).is_err_and(|why| why.contains(words)), "{text}");
        }
        // As spreadsheets write it.
        let marked = read("\u{feff}# a\r\nn,x,,\r\n5,7,,\r\n").unwrap();
        assert_eq!(
            (&marked["a"].columns[..2], &marked["a"].rows[0].1[1]),
            (&["n", "x"].map(str::to_owned)[..], &"7".to_owned())
        );
        let padded = read(
            "# a.b,,\r\nn,x,\r\n5,7,,,\r\n,,\r\n\"# c  T, and V\",,\r\n,,\r\nx,\"a \"\"note\"\"\",n\r\n7,,5\r\n",
        );
        let padded = padded.unwrap();
        assert_eq!(padded.keys().collect::<Vec<_>>(), ["a.b", "c"]);
        assert_eq!((padded["a.b"].rows.len(), padded["c"].remark.as_str()), (1, "T, and V"));
        assert_eq!(padded["c"].columns, ["x", "a \"note\"", "n"]);
        assert_eq!(padded["c"].rows, [(8, ["7", "", "5"].map(str::to_owned).to_vec())]);
    }

    #[test]
    fn a_published_value_that_would_be_missed_or_stand_for_another_is_named_with_its_line() {
        let text = "
name: t
title: t
question: q
systems: [{name: a}]
factors: [{name: n, within: true, levels: [1, 8]}]
scales: {quick: {}}
workload: {point: '- name: p-${{ n }}', measured: 'p-${{ n }}'}
published: [{table: t, column: x, keys: {n: n}}]
";
        let (spec, mistakes) = crate::spec::read(text);
        let spec = spec.unwrap_or_else(|| panic!("{mistakes:#?}"));
        let found = |csv: &str| numbers(&spec, &read(csv).unwrap());
        // Another study has more levels, and papers leave out values.
        let all = found("# t\nn,x\n1,>600\n8,no difference\n512,5 to 10\n").unwrap();
        assert_eq!(all.iter().map(|one| one.value).collect::<Vec<_>>(), [600.0]);
        assert_eq!(found("# t\nn,x\n1,0\n8,\n").unwrap().len(), 1);
        // Names have digits, too.
        for text in ["R2", "as with p99.9", "(M1)", "none in table T2b", "n/a", "-", "n.s."] {
            assert_eq!(found(&format!("# t\nn,x\n1,5\n8,{text}\n")).unwrap().len(), 1, "{text}");
        }
        for signs in ["~", "≈ ", "<=", "≥"] {
            assert_eq!(found(&format!("# t\nn,x\n1,{signs}60\n")).unwrap()[0].value, 60.0, "{signs}");
        }
        for (csv, words) in [
            ("# t\nn,x\n1,5\n8,100 op/s\n", "line 4: x is no number: 100 op/s"),
            ("# t\nn,x\n1,\"1,234\"\n", "line 3: x is no number: 1,234"),
            ("# t\nn,x\n1,~5-10\n", "line 3: x is no number: ~5-10"),
            ("# t\nn,x\n1,about 60\n", "line 3: x is no number: about 60"),
            ("# t\nn,x\n1,at most ~60\n", "line 3: x is no number: at most ~60"),
            ("# t\nn,x\n1,(60)\n", "line 3: x is no number: (60)"),
            ("# t\nn,x\n1,ca.60\n", "line 3: x is no number: ca.60"),
            ("# t\nn,x\n1,approx.60 %\n", "line 3: x is no number: approx.60 %"),
            ("# t\nn,x\n1,n=60\n", "line 3: x is no number: n=60"),
            ("# t\nn,x\n1,R2 [0.9]\n", "line 3: x is no number: R2 [0.9]"),
            ("# t\nn,x\n1,½\n", "line 3: x is no number: ½"),
            ("# t\nn,x\n1,-5\n", "line 3: x comes to -5"),
            ("# t\nn,x\n1,5\n8,7\n1,6\n", "line 5: x is that of the same cells as in line 3"),
            ("# t\nn,x\n1 worker,5\n", "table t: no row has a number in x"),
            ("# t\nn,x\n", "table t: no row has a number in x"),
        ] {
            let why = found(csv).err();
            assert!(why.as_ref().is_some_and(|why| why.contains(words)), "{csv}: {why:?}");
        }
    }
}
