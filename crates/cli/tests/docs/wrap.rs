//! Lines of the documents: a paragraph or an item of a list with a line of more than 120 signs is filled again. Tables, code,
//! headings, HTML and whatever has no blank to break at stay as they are.

/// Signs in a line of prose.
pub const WIDTH: usize = 120;

/// What a line of Markdown is.
#[derive(PartialEq)]
enum Kind {
    /// Begins an item: the signs up to its text.
    Item(usize),
    /// Goes on with what the line above began.
    Text,
    /// Neither joined nor broken.
    Fixed,
}

fn kind(line: &str) -> Kind {
    let text = line.trim_start();
    let indent = line.len() - text.len();
    if text.is_empty()
        || text.starts_with(['|', '#', '<', '>'])
        || text.starts_with("---")
        || line.ends_with("  ")
    {
        return Kind::Fixed;
    }
    let digits = text.bytes().take_while(u8::is_ascii_digit).count();
    let marker = if text.starts_with("- ") || text.starts_with("* ") {
        2
    } else if digits > 0 && text[digits..].starts_with(". ") {
        digits + 2
    } else {
        0
    };
    if marker > 0 { Kind::Item(indent + marker) } else { Kind::Text }
}

/// Words of a paragraph; a piece of code, and what would begin another block at the head of a line, stay with what is before
/// them.
fn words(lines: &[&str]) -> Vec<String> {
    let text = lines.iter().map(|line| line.trim()).collect::<Vec<_>>().join(" ");
    let (mut words, mut is_code) = (vec![String::new()], false);
    for word in text.split(' ').filter(|word| !word.is_empty()) {
        let last = words.last_mut().unwrap();
        let number = word.strip_suffix(['.', ')']).unwrap_or_default();
        let begins_block = word.starts_with(['#', '|', '<', '>'])
            || ["-", "+", "*", "="].contains(&word)
            || word.starts_with("---")
            || !number.is_empty() && number.bytes().all(|sign| sign.is_ascii_digit());
        if last.is_empty() {
            last.push_str(word);
        } else if is_code || begins_block {
            last.push(' ');
            last.push_str(word);
        } else {
            words.push(word.to_owned());
        }
        is_code ^= word.matches('`').count() % 2 == 1;
    }
    words
}

fn fill(block: &[&str], out: &mut Vec<String>) {
    let first = block[0];
    let indent = match kind(first) {
        Kind::Item(width) => width,
        _ => first.len() - first.trim_start().len(),
    };
    let head = &first[..indent];
    let mut lines = vec![first[indent..].to_owned()];
    lines.extend(block[1..].iter().map(|line| (*line).to_owned()));
    let lines: Vec<&str> = lines.iter().map(String::as_str).collect();
    let mut line = head.to_owned();
    let mut is_empty = true;
    for word in words(&lines) {
        if !is_empty && line.chars().count() + 1 + word.chars().count() > WIDTH {
            out.push(std::mem::replace(&mut line, " ".repeat(indent)));
            is_empty = true;
        }
        if !is_empty {
            line.push(' ');
        }
        line.push_str(&word);
        is_empty = false;
    }
    out.push(line);
}

/// The page with its prose filled.
pub fn wrap(page: &str) -> String {
    let lines: Vec<&str> = page.lines().collect();
    let (mut out, mut at, mut fence): (Vec<String>, usize, Option<&str>) = (Vec::new(), 0, None);
    let mut is_in_list = false;
    while at < lines.len() {
        let line = lines[at];
        let text = line.trim_start();
        let mark = ["```", "~~~"].into_iter().find(|mark| text.starts_with(mark));
        if fence.is_some() || mark.is_some() {
            fence = match fence {
                Some(open) if mark == Some(open) => None,
                Some(open) => Some(open),
                None => mark,
            };
            out.push(line.to_owned());
            at += 1;
            continue;
        }
        let is_code = line.starts_with("    ") && !is_in_list;
        is_in_list =
            matches!(kind(line), Kind::Item(_)) || is_in_list && (text.is_empty() || line.starts_with("  "));
        if is_code || kind(line) == Kind::Fixed {
            out.push(line.to_owned());
            at += 1;
            continue;
        }
        let more = lines[at + 1..].iter().take_while(|next| {
            kind(next) == Kind::Text && !["```", "~~~"].iter().any(|mark| next.trim_start().starts_with(mark))
        });
        let block = &lines[at..=at + more.count()];
        if block.iter().any(|line| line.chars().count() > WIDTH) {
            fill(block, &mut out);
        } else {
            out.extend(block.iter().map(|line| (*line).to_owned()));
        }
        at += block.len();
    }
    out.join("\n") + if page.ends_with('\n') { "\n" } else { "" }
}

#[test]
fn prose_is_filled_and_tables_code_and_headings_stay() {
    let long = "word ".repeat(30).trim_end().to_owned();
    for fixed in [
        format!("| {long} |\n"),
        format!("# {long}\n"),
        format!("```\n{long}\n```\n"),
        format!("text:\n\n    {long}\n"),
        format!("<a href=\"{long}\">\n"),
        "short\nlines stay\nas they are\n".to_owned(),
        format!("https://{}\n", "x".repeat(200)),
    ] {
        assert_eq!(wrap(&fixed), fixed);
    }
    let page = format!("{long}\nend of it\n\n- {long}\n  more\n- next\n1. {long}\n");
    let filled = wrap(&page);
    assert!(filled.lines().all(|line| line.chars().count() <= WIDTH), "{filled}");
    assert_eq!(filled.split_whitespace().collect::<Vec<_>>(), page.split_whitespace().collect::<Vec<_>>());
    assert!(
        filled.contains("\n- word")
            && filled.contains("\n  word")
            && filled.contains("more\n- next\n1. word"),
        "{filled}"
    );
    assert!(filled.contains("\n   word"), "{filled}");
    assert_eq!(wrap(&filled), filled);
}

#[test]
fn no_break_makes_another_block_or_cuts_code() {
    let before = "w".repeat(110);
    for (rest, kept) in [
        ("is `a b c d e f`", "`a b c d e f`"),
        ("than 1234 1. or", "1234 1. or"),
        ("range from - to it", "from - to"),
        ("as C # is", "C # is"),
    ] {
        let filled = wrap(&format!("{before} {rest} and more of the same\n"));
        assert!(filled.lines().any(|line| line.contains(kept)), "{filled}");
    }
}
