//! `w<N>-<name>.csv`: one line per stage and operation. Sources: CSVWorkloadExporter of COSBench 0.4.2, of 0.3.3, which has no
//! Avg-ProcTime, of 0.3.0 and 0.3.1, which has one line per operation of all stages, and of sine-io's fork, which has two columns
//! more.

use std::borrow::Cow;
use std::path::Path;

use csv::StringRecord;

use super::commas::{self, Effort};
use super::fields::{count, head_of, is_state, mean, number, ratio, records_of, shortened, state};
use super::{CosbenchOperation, CosbenchStage};
use crate::ArchiveError;
use crate::csv::number::NOT_AVAILABLE;
use crate::directory::counts::MOST;
use crate::directory::files::last_byte;

/// How the columns begin that all such tables have behind that of the stage.
const COMMON: &str = "Op-Name,Op-Type,Op-Count,Byte-Count,Avg-ResTime";
/// How those of 0.3.0 and 0.3.1 begin, which know of no stage, and those of builds between these and 0.3.3, of no name.
const OLDER: [&str; 2] =
    ["Op-Type,Op-Count,Byte-Count,Avg-ResTime", "Stage,Op-Type,Op-Count,Byte-Count,Avg-ResTime"];
/// They begin within so many bytes.
const MOST_HEAD: usize = 300;
/// Where Avg-ProcTime stands among the cells from Op-Type on.
const PROCESSING: usize = 4;

/// Columns before the states: Stage, Op-Name, Op-Type, 13 values, Status.
const COLUMNS: usize = 17;
/// COSBench's word for a stage that came to its end.
const COMPLETED: &str = "completed";
/// More stages than this no workload has.
const MOST_ROWS: u64 = 1_000_000;

/// Where the stage stands among the columns before the name of the operation. COSBench has no other there; sine-io's fork
/// has `Interval` and `Op-Id` behind it.
#[derive(Debug, Clone, Copy)]
struct Lead {
    /// Columns before that of the stage.
    before: usize,
    /// Columns behind it.
    behind: usize,
    /// Whether the mean time to about the first byte follows that of the response.
    has_processing: bool,
}

impl Lead {
    const COSBENCH: Self = Self { before: 0, behind: 0, has_processing: true };

    fn of(head: &str) -> Option<Self> {
        let (lead, rest) = head.split_once(COMMON)?;
        let columns: Vec<&str> = lead.strip_suffix(',')?.split(',').collect();
        let before = columns.iter().position(|column| *column == "Stage")?;
        let has_processing = !rest.starts_with(",60%-ResTime");
        Some(Self { before, behind: columns.len() - before - 1, has_processing })
    }

    /// Puts what an old table does not say where others have it.
    fn complete(self, cells: &mut Vec<Cow<'_, str>>) {
        if !self.has_processing && cells.len() >= PROCESSING {
            cells.insert(PROCESSING, Cow::Borrowed(NOT_AVAILABLE));
        }
    }
}

/// True for a result table.
pub fn is_at(path: &Path) -> bool {
    head_of(path, MOST_HEAD).is_some_and(|head| Lead::of(&head).is_some() || is_older(&head))
}

fn is_older(head: &str) -> bool {
    OLDER.iter().any(|begin| head.starts_with(*begin))
}

/// What was read of a table.
pub struct Table {
    /// Stages in order.
    pub stages: Vec<CosbenchStage>,
    /// It has the mean time to about the first byte, as all since 0.4.
    pub has_processing: bool,
    /// It ends in the middle of a line.
    pub is_cut: bool,
}

/// Reads the table.
pub fn read(path: &Path) -> Result<Table, ArchiveError> {
    if head_of(path, MOST_HEAD).is_some_and(|head| is_older(&head)) {
        return Err(ArchiveError::Unreadable {
            path: path.to_owned(),
            problem: "a table of a COSBench before 0.3.3, which does not say what each stage did".to_owned(),
            remedy: "tables of 0.3.3 and later are read; to measure it again, `cosmark run` takes the \
                     workload-config.xml beside it",
        });
    }
    let mut stages = Vec::<CosbenchStage>::new();
    let mut seen = 0_u64;
    let mut effort = Effort::default();
    let mut lead = Lead::COSBENCH;
    let mut is_short = false;
    records_of(path, |line, record| {
        seen += 1;
        if seen > MOST_ROWS {
            return Err(format!("more than {MOST_ROWS} lines are not a result table"));
        }
        if seen == 1 {
            let head = record.iter().collect::<Vec<_>>().join(",");
            lead = Lead::of(head.trim_start_matches('\u{feff}')).unwrap_or(lead);
        } else {
            let row = Row::of(record, lead, &mut effort)?;
            row.enter(&mut stages, line)?;
            // Of the last one it counts.
            is_short = stages.last().is_some_and(|stage| row.is_short(stage));
        }
        Ok(true)
    })?;
    let all = stages.iter().flat_map(|stage| &stage.operations);
    let counted: u128 = all.map(|op| u128::from(op.count) + u128::from(op.bytes)).sum();
    if counted > MOST {
        return Err(ArchiveError::Unreadable {
            path: path.to_owned(),
            problem: "its counts together are more than a run can have".to_owned(),
            remedy: "restore the file from a copy",
        });
    }
    let has_no_end = last_byte(path).is_ok_and(|last| last.is_some_and(|byte| byte != b'\n'));
    Ok(Table { stages, has_processing: lead.has_processing, is_cut: is_short || has_no_end })
}

/// The cells of one line, put where they belong.
struct Row<'a> {
    stage: String,
    label: &'a str,
    /// Op-Type to Status.
    cells: Vec<Cow<'a, str>>,
    states: Vec<&'a str>,
}

impl<'a> Row<'a> {
    /// COSBench quotes nothing: a comma in the name of a stage moves all cells to the right, and only the distance from
    /// the first state tells where they are.
    fn of(record: &'a StringRecord, lead: Lead, effort: &mut Effort) -> Result<Self, String> {
        let all: Vec<&str> = record.iter().skip(lead.before).collect();
        let fixed = all.iter().position(|cell| is_state(cell)).unwrap_or(all.len());
        let (head, states) = all.split_at(fixed);
        let columns = COLUMNS + lead.behind - usize::from(!lead.has_processing);
        let surplus = head.len().checked_sub(columns).ok_or_else(|| {
            format!("{} cells instead of {columns} before the states; the line was cut short", head.len())
        })?;
        let (names, cells) = head.split_at(surplus + lead.behind + 2);
        let (label, names) = names.split_last().ok_or("no name of a stage")?;
        let stage = names.get(..=surplus).unwrap_or_default();
        let op = cells.first().copied().unwrap_or_default();
        if surplus > 0 && op != NOT_AVAILABLE && !op.bytes().all(|byte| byte.is_ascii_lowercase()) {
            let row = Self::with_commas(head, lead, states, effort);
            return row.ok_or_else(|| effort.problem().unwrap_or_else(|| of_commas(head.len(), columns)));
        }
        let mut cells: Vec<Cow<'a, str>> = cells.iter().map(|cell| Cow::Borrowed(*cell)).collect();
        lead.complete(&mut cells);
        Ok(Self { stage: stage.join(","), label, cells, states: states.to_vec() })
    }

    /// A line whose numbers have decimal commas, and whose names have none.
    fn with_commas(head: &[&'a str], lead: Lead, states: &[&'a str], effort: &mut Effort) -> Option<Self> {
        let (stage, behind) = head.split_first()?;
        let [label, op, numbers @ .., status] = behind.get(lead.behind..)? else { return None };
        let numbers = commas::results(numbers, lead.has_processing, effort)?;
        let cells = [Cow::Borrowed(*op)].into_iter().chain(numbers.into_iter().map(Cow::Owned));
        let mut cells: Vec<Cow<'a, str>> = cells.chain([Cow::Borrowed(*status)]).collect();
        lead.complete(&mut cells);
        Some(Self { stage: (*stage).to_owned(), label, cells, states: states.to_vec() })
    }

    fn cell(&self, at: usize) -> &str {
        self.cells.get(at).map_or("", AsRef::as_ref)
    }

    fn enter(&self, stages: &mut Vec<CosbenchStage>, line: u64) -> Result<(), String> {
        // A stage without results has its bare name and no values.
        let bare =
            self.label == NOT_AVAILABLE && self.cells.iter().take(14).all(|cell| *cell == NOT_AVAILABLE);
        if bare || stages.last().is_none_or(|last| last.id != self.stage) {
            let history = self.states.iter().map(|cell| state(cell)).collect::<Result<_, _>>()?;
            let number = stages.len() + 1;
            let (id, name) = if bare {
                (format!("s{number}-{}", self.stage), self.stage.clone())
            } else {
                let name = name_of(&self.stage).ok_or_else(|| {
                    format!("`{}` is not the id of a stage, such as s1-main", shortened(&self.stage))
                })?;
                (self.stage.clone(), name.to_owned())
            };
            stages.push(CosbenchStage {
                id,
                name,
                state: self.cell(14).to_owned(),
                history,
                operations: Vec::new(),
            });
        }
        if !bare && let Some(stage) = stages.last_mut() {
            stage.operations.push(self.operation(line)?);
        }
        Ok(())
    }

    /// It ends before the states that the first line of its stage has, or before the one that it calls its last.
    fn is_short(&self, stage: &CosbenchStage) -> bool {
        let last = self.states.last().and_then(|cell| state(cell).ok());
        let lacks_end = self.cell(14) == COMPLETED && last.is_some_and(|last| last.state != COMPLETED);
        lacks_end || self.states.len() < stage.history.len()
    }

    fn operation(&self, line: u64) -> Result<CosbenchOperation, String> {
        Ok(CosbenchOperation {
            label: self.label.to_owned(),
            op: self.cell(0).to_owned(),
            count: count(self.cell(1))?,
            bytes: count(self.cell(2))?,
            response_ms: mean(self.cell(3))?,
            processing_ms: mean(self.cell(4))?,
            p60_ms: number(self.cell(5))?,
            p80_ms: number(self.cell(6))?,
            p90_ms: number(self.cell(7))?,
            p95_ms: number(self.cell(8))?,
            p99_ms: number(self.cell(9))?,
            max_ms: number(self.cell(10))?,
            throughput_per_s: number(self.cell(11))?,
            bandwidth_bytes_per_s: number(self.cell(12))?,
            success_ratio: ratio(self.cell(13))?,
            workers: None,
            config_info: None,
            line,
        })
    }
}

/// What is wrong with a line of so many cells whose numbers cannot be put together.
fn of_commas(cells: usize, columns: usize) -> String {
    format!(
        "{cells} cells instead of {columns}: either a name has commas, or the numbers have decimal commas (a locale) \
         and can be read in more than one way; write the numbers with points"
    )
}

/// `main` of `s3-main`.
pub fn name_of(id: &str) -> Option<&str> {
    let (number, name) = id.strip_prefix('s')?.split_once('-')?;
    (!number.is_empty() && number.bytes().all(|byte| byte.is_ascii_digit())).then_some(name)
}
