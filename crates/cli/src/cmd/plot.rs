//! `cosmark plot`: pictures of runs.

use std::collections::BTreeSet;
use std::fs;
use std::io::Read;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use cosmark_report::plot::{
    AxisWish, Drawn, PlotError, PlotRun, Sheet, Typeface, Wishes, each_once, named, pictures, typeface_of,
};

use crate::args::{AxisName, Bounds, LookArgs, PictureFormat, PlotArgs};
use crate::exit::{Exit, Outcome, Problem};
use crate::output;
use crate::runs::{find, say_that_intervals_are_damaged, say_what_is_lost};
use crate::units;

/// More runs than this do not fit into a picture.
const MOST_RUNS: usize = 500;

/// Runs the subcommand.
pub fn run(args: &PlotArgs) -> Outcome {
    let look = &args.look;
    check_limits("--xlim", look.xlim, look.logs.contains(&AxisName::X))?;
    check_limits("--ylim", look.ylim, look.logs.contains(&AxisName::Y))?;
    let mut runs = Vec::new();
    for given in &args.runs {
        runs.extend(open(given, &args.archive)?);
        if runs.len() > MOST_RUNS {
            return Err(Problem::usage(format!("more than {MOST_RUNS} runs; draw fewer at a time")));
        }
    }
    let (runs, again) = each_once(runs);
    again.iter().for_each(|text| eprintln!("cosmark: {text}"));
    runs.iter().filter_map(PlotRun::record).for_each(say_what_is_lost);
    runs.iter().filter_map(PlotRun::record).for_each(say_that_intervals_are_damaged);
    let sheet = sheet_of(look)?;
    let axis = |name: AxisName, bounds: Option<Bounds>, label: &Option<String>| AxisWish {
        log: match (look.logs.contains(&name), look.linears.contains(&name)) {
            (true, _) => Some(true),
            (false, true) => Some(false),
            _ => None,
        },
        bounds: bounds.unwrap_or_default(),
        label: label.clone(),
    };
    let options = Wishes {
        metrics: args.metrics.iter().filter_map(|name| named(name)).collect(),
        stages: args.stages.clone(),
        operations: args.operations.clone(),
        only_fit: args.only_fit,
        no_title: look.no_title,
        title: look.title.clone(),
        typeface: typeface(&look.fonts)?,
        x: axis(AxisName::X, look.xlim, &look.xlabel),
        y: axis(AxisName::Y, look.ylim, &look.ylabel),
    };
    let kinds: Vec<&str> = args.kinds.iter().map(String::as_str).collect();
    let drawn = pictures(&runs, &kinds, &options)?;
    fs::create_dir_all(&args.output).map_err(|cause| cannot_write(&args.output, &cause))?;
    write(args, sheet, &drawn)?;
    Ok(Exit::Done)
}

/// Writes every picture in every format, and says what was written and what is not as it was asked for.
fn write(args: &PlotArgs, sheet: Sheet, drawn: &Drawn) -> Result<(), Problem> {
    let (mut written, mut too_large) = (0_u64, 0_usize);
    let is_drawn = |format: &PictureFormat| {
        matches!(format, PictureFormat::Svg | PictureFormat::Pdf | PictureFormat::Png)
    };
    for picture in &drawn.pictures {
        if let Some(size_pt) = picture.smaller_text_pt(sheet).filter(|_| args.formats.iter().any(is_drawn)) {
            eprintln!(
                "cosmark: {} has text of {size_pt:.1} points, so that it is {:.1} cm wide; give a larger --width, fewer runs, \
                 stages or operations, or --format tex",
                picture.name, args.look.width
            );
        }
        for format in &args.formats {
            let (ending, bytes) = match format {
                PictureFormat::Svg => ("svg", Some(picture.svg(sheet).into_bytes())),
                PictureFormat::Pdf => ("pdf", Some(picture.pdf(sheet)?)),
                PictureFormat::Png => ("png", Some(picture.png(sheet, f32::from(args.look.dpi))?)),
                PictureFormat::Csv => ("csv", Some(picture.data().into_bytes())),
                PictureFormat::Md => ("md", picture.markdown().map(String::into_bytes)),
                PictureFormat::Tex => ("tex", picture.latex().map(String::into_bytes)),
            };
            match bytes {
                Some(bytes) => {
                    put(&args.output, &format!("{}.{ending}", picture.name), &bytes)?;
                    written += 1;
                }
                None => too_large += 1,
            }
        }
        if let (Some(csv), false) = (&picture.csv, args.formats.contains(&PictureFormat::Csv)) {
            put(&args.output, &format!("{}.csv", picture.name), csv.as_bytes())?;
            written += 1;
        }
    }
    drawn.left_out.iter().for_each(|why| eprintln!("cosmark: nothing to draw: {why}"));
    if args.formats.iter().any(|format| matches!(format, PictureFormat::Pdf | PictureFormat::Png))
        && let Some(signs) = shapeless(drawn, sheet)
    {
        eprintln!(
            "cosmark: no font has {signs}: boxes stand for them in PNG and PDF; give --font a font that has them, or --format svg"
        );
    }
    if too_large > 0 {
        eprintln!(
            "cosmark: {} with too many values for a table: --format csv has them",
            units::count(too_large as u64, "picture")
        );
    }
    println!("{} in {}", units::count(written, "file"), args.output.display());
    Ok(())
}

/// The signs of all pictures that no font has; `None` where there are none.
fn shapeless(drawn: &Drawn, sheet: Sheet) -> Option<String> {
    const MOST: usize = 20;
    let signs: BTreeSet<char> = drawn.pictures.iter().flat_map(|picture| picture.shapeless(sheet)).collect();
    let more = if signs.len() > MOST { " and others" } else { "" };
    let shown: String = signs.iter().take(MOST).collect();
    (!signs.is_empty()).then(|| format!("{shown}{more}"))
}

/// Refuses ends that an axis in decades cannot have.
fn check_limits(option: &str, bounds: Option<Bounds>, is_log: bool) -> Result<(), Problem> {
    let (from, to) = bounds.unwrap_or_default();
    match from.into_iter().chain(to).find(|end| is_log && *end <= 0.0) {
        None => Ok(()),
        Some(end) => Err(Problem::usage(format!(
            "{option}: an axis in decades never reaches {end}; give ends above 0, or leave out the one that is not"
        ))),
    }
}

/// No font is larger.
const MOST_FONT_BYTES: u64 = 128 << 20;

/// The typeface that `--font` gives.
fn typeface(fonts: &[PathBuf]) -> Result<Option<Arc<Typeface>>, Problem> {
    if fonts.is_empty() {
        return Ok(None);
    }
    let mut files = Vec::new();
    for path in fonts {
        let cannot = |why: String| Problem::usage(format!("--font {}: {why}", path.display()));
        let file = fs::File::open(path).map_err(|cause| cannot(format!("cannot read it: {cause}")))?;
        let mut bytes = Vec::new();
        file.take(MOST_FONT_BYTES + 1)
            .read_to_end(&mut bytes)
            .map_err(|cause| cannot(format!("cannot read it: {cause}")))?;
        if bytes.len() as u64 > MOST_FONT_BYTES {
            return Err(cannot("larger than any font".to_owned()));
        }
        files.push(bytes);
    }
    let typeface = typeface_of(files)
        .map_err(|why| Problem::usage(format!("--font: {why}; give files .ttf or .otf")))?;
    Ok(Some(Arc::new(typeface)))
}

/// Narrower pictures have smaller text, unless a size is given.
const NARROW_CM: f64 = 12.0;
const NARROW_TEXT_PT: f64 = 8.0;

fn sheet_of(look: &LookArgs) -> Result<Sheet, Problem> {
    let usual = if look.width < NARROW_CM { NARROW_TEXT_PT } else { Sheet::default().text_pt() };
    let size = look.font_size.unwrap_or(usual);
    Sheet::new(look.width, size).ok_or_else(|| {
        Problem::usage(format!(
            "text of {size:.1} points does not fit beside its axes at a width of {:.1} cm; give a smaller --font-size or a \
             larger --width",
            look.width
        ))
    })
}

/// The runs of `[NAME=]RUN[,RUN..]`.
fn open(given: &str, archive: &Path) -> Result<Vec<PlotRun>, Problem> {
    // A path may have `=` and `,` in it; what exists is taken as it stands.
    let (name, list) = match given.split_once('=') {
        Some((name, list)) if !Path::new(given).exists() => (Some(name), list),
        _ => (None, given),
    };
    let parts: Vec<&str> = if Path::new(list).exists() { vec![list] } else { list.split(',').collect() };
    let several = parts.len() > 1;
    let mut runs = Vec::new();
    for part in parts {
        let mut run = PlotRun::open(&find(part, archive)?, if several { None } else { name })?;
        if several {
            let series = name.unwrap_or(list);
            run.label = format!("{series} {}", run.label);
            run.series = series.to_owned();
        }
        runs.push(run);
    }
    Ok(runs)
}

impl From<PlotError> for Problem {
    fn from(error: PlotError) -> Self {
        match error {
            PlotError::Archive(error) => error.into(),
            PlotError::Render { .. } => Self::ours(error.to_string()),
            _ => Self::usage(error.to_string()),
        }
    }
}

fn put(dir: &Path, file: &str, bytes: &[u8]) -> Result<(), Problem> {
    output::write_bytes(Some(&dir.join(file)), bytes)
}

fn cannot_write(path: &Path, cause: &std::io::Error) -> Problem {
    let text = format!("cannot write {}: {cause}; give another directory with --output", path.display());
    Problem::place(text, cause)
}

#[cfg(test)]
mod tests {
    use clap::Parser;

    use super::*;
    use crate::args::{Args, Command};

    #[test]
    fn a_full_disk_that_takes_no_directory_for_pictures_is_no_bad_usage() {
        let of = |kind: std::io::ErrorKind| cannot_write(Path::new("pictures"), &kind.into()).exit();
        assert_eq!(of(std::io::ErrorKind::StorageFull), Exit::Ours);
        assert_eq!(of(std::io::ErrorKind::PermissionDenied), Exit::Usage);
    }

    #[test]
    fn text_is_as_large_as_it_was_asked_for_and_in_a_column_smaller_than_in_a_page() {
        let text_pt = |look: &[&str]| {
            let args = ["cosmark", "plot", "w1"].into_iter().chain(look.iter().copied());
            let Command::Plot(args) = Args::parse_from(args).command else { panic!("another subcommand") };
            sheet_of(&args.look).ok().map(|sheet| sheet.text_pt())
        };
        let cases: [(&[&str], f64); 5] = [
            (&[], 9.2),
            (&["--width", "12cm"], 9.2),
            (&["--width", "8.5cm"], 8.0),
            (&["--width", "8.5cm", "--font-size", "6.5"], 6.5),
            (&["--font-size", "14pt"], 14.0),
        ];
        for (look, wanted_pt) in cases {
            let size_pt = text_pt(look).unwrap();
            assert!((size_pt - wanted_pt).abs() < 0.05, "{look:?}: {size_pt} points");
        }
        assert_eq!(text_pt(&["--width", "3cm", "--font-size", "30"]), None, "no room for axes");
    }
}
