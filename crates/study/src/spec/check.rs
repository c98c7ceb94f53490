//! What is wrong with a study that can be read: names that are not there, sizes that nobody can run, tests that test nothing.

mod figures;

use std::collections::BTreeSet;

use cosmark_workload::diagnostics::{Diagnostic, Span};
use cosmark_workload::document::{Node, NodeKind};
use cosmark_workload::model::OpKind;

use super::{Block, Claim, Condition, Quantity, Scale, Spec, System, Take, Where};
use crate::metric::is_figure;
use crate::selected::{self, FactorAtScale};
use crate::template::names_in;

/// Names of scales.
pub const SCALES: [&str; 3] = ["quick", "scaled", "full"];
/// More cells nobody waits for.
const MOST_CELLS: usize = 100_000;
/// A part is taken of no more: each has to be looked at.
const MOST_COMBINATIONS: usize = 1 << 24;
/// What of a target a study may change: nothing that says where requests or logins go.
const SETTINGS: [&str; 3] = ["storage.payload", "storage.policy", "storage.pool"];
/// What stands as an operation beside those of a mix: the sum of all, a search in which none was made, and a work that prepares.
const BESIDE_OPERATIONS: [&str; 3] = ["all", "search", "mprepare"];
/// What stands for itself in a template.
const GIVEN: [&str; 3] = ["prefix", "system", "study"];

struct Check<'a> {
    spec: &'a Spec,
    root: &'a Node,
    found: Vec<Diagnostic>,
}

/// Every mistake.
pub(super) fn check(spec: &Spec, root: &Node) -> Vec<Diagnostic> {
    let mut check = Check { spec, root, found: Vec::new() };
    check.names();
    check.systems();
    check.factors();
    check.scales();
    check.what_is_run();
    check.variables();
    check.published_and_limits();
    check.figures();
    check.flaws();
    check.efficiencies();
    check.claims();
    check.found
}

/// A name that may be part of a file's name, a container's name and a stage's name.
fn plain(name: &str) -> bool {
    !name.is_empty()
        && name.len() <= 60
        && name.chars().all(|sign| sign.is_ascii_alphanumeric() || matches!(sign, '-' | '_' | '.'))
        && !name.starts_with(['.', '-'])
}

impl Check<'_> {
    fn wrong(&mut self, span: Span, message: impl Into<String>, hint: impl Into<String>) {
        self.found.push(Diagnostic::error(span, message).with_hint(hint));
    }

    /// The place of an entry: of a key, of its n-th item, and in that of the scalar or key `word`.
    fn at(&self, key: &str, item: Option<usize>, word: &str) -> Span {
        let NodeKind::Mapping(pairs) = &self.root.kind else { return self.root.span };
        let Some(pair) = pairs.iter().find(|pair| pair.key == key) else { return self.root.span };
        let part = match (&pair.value.kind, item) {
            (NodeKind::Sequence(items), Some(item)) => items.get(item).unwrap_or(&pair.value),
            _ => &pair.value,
        };
        let first = Span { start: part.span.start, len: 1 };
        if word.is_empty() {
            return if item.is_some() { first } else { pair.key_span };
        }
        find(part, word).unwrap_or(first)
    }

    fn names(&mut self) {
        if !plain(&self.spec.name) || self.spec.name.len() > 30 {
            let span = self.at("name", None, "");
            self.wrong(span, "this cannot be a study's name", "up to 30 letters, digits, - and _");
        }
    }

    fn systems(&mut self) {
        let mut seen = BTreeSet::new();
        if self.spec.systems.is_empty() {
            let span = self.at("systems", None, "");
            self.wrong(
                span,
                "there is no system",
                "a study compares at least one system with itself or others",
            );
        }
        for (at, system) in self.spec.systems.iter().enumerate() {
            let span = self.at("systems", Some(at), "name");
            if !plain(&system.name) || !seen.insert(system.name.as_str()) {
                self.wrong(
                    span,
                    format!("{}: no good name, or there twice", system.name),
                    "letters, digits, - and _",
                );
            }
            if system.bed.as_deref().is_some_and(|bed| !plain(bed)) {
                let span = self.at("systems", Some(at), "bed");
                self.wrong(span, "this is no test bed's name", "name a folder of testbeds/, such as swift");
            }
            if system.target.as_deref().is_some_and(|target| !plain(target)) {
                let span = self.at("systems", Some(at), "target");
                self.wrong(
                    span,
                    "this is no file of the bed",
                    "name a file in the bed's folder, such as target.yaml",
                );
            }
            if system.target.is_some() && system.bed.is_none() {
                let span = self.at("systems", Some(at), "target");
                self.wrong(
                    span,
                    "a target file of no bed",
                    "use bed:, or `--system NAME=target.yaml` when it is run",
                );
            }
            self.variant(at, system);
            if system.copies == 0 {
                let span = self.at("systems", Some(at), "copies");
                self.wrong(span, "a system keeps at least one copy", "copies: 3");
            }
        }
    }

    /// What a system changes in its bed and target, and what it has followed.
    fn variant(&mut self, at: usize, system: &System) {
        let prefix = system.bed.as_deref().unwrap_or_default().to_ascii_uppercase().replace('-', "_");
        for key in system.environment.keys() {
            let good = !prefix.is_empty()
                && key.starts_with(&format!("{prefix}_"))
                && key.chars().all(|sign| sign.is_ascii_uppercase() || sign.is_ascii_digit() || sign == '_');
            if !good {
                let span = self.at("systems", Some(at), key);
                let hint = format!("the knobs of this bed begin with {prefix}_; its README.md lists them");
                self.wrong(span, format!("{key}: no knob of this bed"), hint);
            }
        }
        for key in system.settings.keys().filter(|key| !SETTINGS.contains(&key.as_str())) {
            let span = self.at("systems", Some(at), key);
            let hint = format!("a study may change {}", SETTINGS.join(", "));
            self.wrong(span, format!("{key}: a study may not change that of a target"), hint);
        }
        let inside = |path: &str| {
            !path.is_empty()
                && !path.starts_with('/')
                && path.split('/').all(|part| !part.is_empty() && part != ".." && plain(part))
        };
        if system.follow.as_deref().is_some_and(|path| system.bed.is_none() || !inside(path)) {
            let span = self.at("systems", Some(at), "follow");
            self.wrong(
                span,
                "this is no directory of a bed's data",
                "such as srv/1/c1, of a system with bed:",
            );
        }
        let has_file = system.bed.is_some() && system.block == Some(Block::File);
        if system.place.as_deref().is_some_and(|path| !has_file || !inside(path)) {
            let span = self.at("systems", Some(at), "place");
            self.wrong(
                span,
                "this is no directory of a bed's data for a file of fio",
                "such as images, of a system with bed: and block: file",
            );
        }
    }

    fn factors(&mut self) {
        let mut seen = BTreeSet::new();
        for (at, factor) in self.spec.factors.iter().enumerate() {
            let span = self.at("factors", Some(at), "name");
            let taken =
                ["system", "op"].contains(&factor.name.as_str()) || GIVEN.contains(&factor.name.as_str());
            if !plain(&factor.name) || taken || !seen.insert(factor.name.as_str()) {
                self.wrong(
                    span,
                    format!("{}: no good name, or there twice", factor.name),
                    "letters, digits, - and _; not system, op, prefix or study",
                );
            }
            let mut levels = BTreeSet::new();
            for level in &factor.levels {
                if !plain(level.name()) || !levels.insert(level.name()) {
                    let span = self.at("factors", Some(at), level.name());
                    let message = format!("{}: no good name of a level, or there twice", level.name());
                    self.wrong(span, message, "up to 60 letters, digits, . - and _");
                }
            }
            if factor.levels.is_empty() {
                self.wrong(span, format!("{} has no levels", factor.name), "levels: [1, 16, 64]");
            }
        }
    }

    fn scales(&mut self) {
        if self.spec.scales.is_empty() {
            let span = self.at("scales", None, "");
            self.wrong(span, "there is no scale", "scales: {quick: {}}");
        }
        let spec = self.spec;
        for (name, scale) in &spec.scales {
            if !SCALES.contains(&name.as_str()) {
                let span = self.at("scales", None, name);
                self.wrong(span, format!("{name}: no scale"), "quick, scaled or full");
            }
            for (factor, levels) in &scale.levels {
                let chosen = Where::from([(factor.clone(), levels.clone())]);
                self.cells(&chosen, "scales", None, false);
            }
            for adjust in &scale.adjust {
                self.cells(&adjust.when, "scales", None, false);
            }
            let repetitions = scale.repetitions;
            let most = repetitions.most.unwrap_or(repetitions.least);
            if repetitions.least == 0 || most < repetitions.least || most > 1000 {
                let span = self.at("scales", None, "repetitions");
                self.wrong(span, "least and most do not fit each other", "1 <= least <= most <= 1000");
            }
            if most > repetitions.least && repetitions.within_percent.is_none() {
                let span = self.at("scales", None, "most");
                let hint = "within_percent: 5 says up to when cells are repeated; for a fixed number give least alone";
                self.wrong(span, "most needs within_percent", hint);
            }
            if repetitions.within_percent.is_some_and(|within| !(within > 0.0 && within <= 100.0)) {
                let span = self.at("scales", None, "within_percent");
                self.wrong(span, "this is no width of an interval", "percent above 0 and at most 100");
            }
            self.fraction(name, scale);
            let cells = spec.factors.iter().fold(spec.systems.len(), |cells, factor| {
                let levels = scale.levels.get(&factor.name).map_or(factor.levels.len(), |some| some.0.len());
                cells.saturating_mul(levels)
            });
            if scale.fraction.is_some() && cells > MOST_COMBINATIONS {
                let span = self.at("scales", None, name);
                let hint = format!("at most {MOST_COMBINATIONS}; choose levels for this scale");
                self.wrong(span, format!("{name} takes a part of {cells} combinations"), hint);
            }
            // Each generator leaves a half.
            let halves = scale.fraction.as_ref().map_or(0, |fraction| fraction.generators.len().min(31));
            let cells = cells >> halves;
            if cells.saturating_mul(most as usize) > MOST_CELLS {
                let span = self.at("scales", None, name);
                let hint = format!("at most {MOST_CELLS}; choose levels for this scale");
                self.wrong(span, format!("{name} has {cells} cells, {most} times each"), hint);
            }
        }
        for (at, skip) in spec.skip.iter().enumerate() {
            self.cells(&skip.when, "skip", Some(at), false);
        }
    }

    /// A fraction from which effects can be read.
    fn fraction(&mut self, name: &str, scale: &Scale) {
        let Some(fraction) = &scale.fraction else { return };
        let factors: Vec<FactorAtScale> =
            self.spec.factors.iter().map(|factor| factor.at_scale(scale)).collect();
        if let Err(why) = selected::check(&factors, fraction) {
            let own = fraction.generators.iter().chain(&fraction.blocks).find(|text| why.starts_with(*text));
            let span = self.at("scales", None, own.map_or("fraction", String::as_str));
            self.wrong(span, format!("{name}: {why}"), "docs/guide/own-study.md has examples");
        }
    }

    /// Names of factors and levels.
    fn cells(&mut self, cells: &Where, key: &str, item: Option<usize>, with_op: bool) {
        let spec = self.spec;
        for (factor, levels) in cells {
            let known: Vec<&str> = if factor == "op" && with_op {
                OpKind::TABLE.iter().map(|row| row.word).chain(BESIDE_OPERATIONS).collect()
            } else if factor == "system" {
                spec.systems.iter().map(|system| system.name.as_str()).collect()
            } else if let Some(factor) = spec.factors.iter().find(|one| one.name == *factor) {
                factor.levels.iter().map(super::Level::name).collect()
            } else {
                let names: Vec<&str> = spec.factors.iter().map(|factor| factor.name.as_str()).collect();
                let span = self.at(key, item, factor);
                self.wrong(
                    span,
                    format!("{factor}: no factor"),
                    format!("factors are system, {}", names.join(", ")),
                );
                continue;
            };
            let names: BTreeSet<&str> = known.iter().copied().collect();
            for level in levels.0.iter().filter(|level| !names.contains(level.as_str())) {
                let span = self.at(key, item, level);
                self.wrong(
                    span,
                    format!("{level}: no level of {factor}"),
                    format!("its levels are {}", known.join(", ")),
                );
            }
        }
    }

    fn what_is_run(&mut self) {
        match (&self.spec.workload, &self.spec.fio) {
            (Some(template), None) => {
                if !template.point.lines().any(|line| line.trim_start().starts_with("- name:")) {
                    let span = self.at("workload", None, "point");
                    self.wrong(span, "point has no stage", "a list of stages: - name: main ..");
                }
                if self.spec.systems.iter().any(|system| system.block.is_some()) {
                    let span = self.at("systems", None, "block");
                    self.wrong(span, "block: is for fio", "a workload runs on object stores");
                }
            }
            (None, Some(_)) => {
                for (at, system) in self.spec.systems.iter().enumerate() {
                    if system.block.is_none() {
                        let span = self.at("systems", Some(at), "name");
                        self.wrong(span, "fio needs to know how to reach it", "block: file or block: rbd");
                    }
                }
                if self.spec.factors.iter().any(|factor| factor.within) {
                    let span = self.at("factors", None, "within");
                    self.wrong(span, "within: is for workloads", "each job of fio is a cell of its own");
                }
            }
            _ => {
                let span = self.root.span;
                let hint = "a study runs either stages of a workload or jobs of fio";
                self.wrong(Span { start: span.start, len: 1 }, "give one of workload: and fio:", hint);
            }
        }
    }

    /// Names that templates refer to.
    fn variables(&mut self) {
        let spec = self.spec;
        let mut known: BTreeSet<&str> = spec.variables.keys().map(String::as_str).collect();
        known.extend(GIVEN);
        known.extend(spec.factors.iter().map(|factor| factor.name.as_str()));
        let mut sets: Vec<&super::Values> = vec![&spec.variables];
        sets.extend(spec.systems.iter().map(|system| &system.set));
        sets.extend(
            spec.factors.iter().flat_map(|factor| factor.levels.iter().filter_map(super::Level::set)),
        );
        for scale in spec.scales.values() {
            sets.push(&scale.variables);
            sets.extend(scale.adjust.iter().map(|adjust| &adjust.set));
        }
        sets.extend(spec.as_published.iter().map(|variant| &variant.set));
        known.extend(sets.iter().flat_map(|set| set.keys().map(String::as_str)));
        let mut texts: Vec<(&str, String)> =
            sets.iter().flat_map(|set| set.values().map(|value| ("variables", value.0.clone()))).collect();
        if let Some(template) = &spec.workload {
            for text in
                [&template.head, &template.before, &template.point, &template.after, &template.measured]
            {
                texts.push(("workload", text.clone()));
            }
        }
        if let Some(fio) = &spec.fio {
            let all = [Some(&fio.rw), Some(&fio.bs), Some(&fio.iodepth), Some(&fio.size), Some(&fio.runtime)];
            let more = [fio.rwmixread.as_ref(), fio.rampup.as_ref()];
            texts.extend(all.into_iter().chain(more).flatten().map(|text| ("fio", text.0.clone())));
        }
        if let Some(prefill) = &spec.prefill {
            let all = [&prefill.prefix, &prefill.containers, &prefill.rows];
            texts.extend(all.into_iter().map(|text| ("prefill", text.0.clone())));
        }
        let refers: Vec<(&str, String)> =
            texts.iter().flat_map(|(key, text)| names_in(text).map(|name| (*key, name.to_owned()))).collect();
        let lists = [("data_bytes", &spec.data_bytes), ("objects", &spec.objects), ("keys", &spec.keys)];
        let mut names: Vec<(&str, String)> =
            lists.iter().flat_map(|(key, list)| list.iter().map(|name| (*key, name.clone()))).collect();
        names.extend(spec.workers.iter().map(|name| ("workers", name.clone())));
        for (key, name) in refers.into_iter().chain(names) {
            if !known.contains(name.as_str()) {
                let span = self.reference(key, &name);
                let list: Vec<&str> = known.iter().copied().collect();
                self.wrong(span, format!("{name}: no variable"), format!("there are {}", list.join(", ")));
            }
        }
    }

    /// Where a template refers to a name.
    fn reference(&self, key: &str, name: &str) -> Span {
        let NodeKind::Mapping(pairs) = &self.root.kind else { return self.root.span };
        let found = pairs.iter().find(|pair| pair.key == key).and_then(|pair| containing(&pair.value, name));
        found.unwrap_or_else(|| self.at(key, None, ""))
    }

    fn metric(&mut self, id: &str, key: &str, item: Option<usize>) {
        if !is_figure(id) {
            let span = self.at(key, item, id);
            let hint = "such as throughput_per_s, bandwidth_bytes_per_s, response_ms.p95, success_ratio";
            self.wrong(span, format!("{id}: no figure of a run"), hint);
        }
    }

    fn over(&mut self, take: Take, over: Option<&str>, key: &str, item: Option<usize>) {
        let Some(over) = over else {
            if take != Take::Each {
                let span = self.at(key, item, "take");
                self.wrong(span, "take needs over", "over: names the factor that it goes over");
            }
            return;
        };
        if !self.spec.factors.iter().any(|factor| factor.name == over) {
            let span = self.at(key, item, over);
            self.wrong(span, format!("{over}: no factor"), "over: names the factor that take goes over");
        }
    }

    fn published_and_limits(&mut self) {
        let spec = self.spec;
        for (at, map) in spec.published.iter().enumerate() {
            self.cells(&map.cells, "published", Some(at), true);
            self.cells(&map.to, "published", Some(at), true);
            if !map.to.is_empty()
                && map.to.iter().all(|(factor, levels)| map.cells.get(factor) == Some(levels))
            {
                let span = self.at("published", Some(at), "to");
                self.wrong(
                    span,
                    "a ratio to the same cells",
                    "to: names other levels than where:, such as another system",
                );
            }
            self.metric(&map.metric, "published", Some(at));
            self.over(map.take, map.over.as_deref(), "published", Some(at));
            for factor in map.keys.keys() {
                if factor != "system" && factor != "op" && !spec.factors.iter().any(|one| one.name == *factor)
                {
                    let span = self.at("published", Some(at), factor);
                    self.wrong(span, format!("{factor}: no factor"), "keys: {FACTOR: COLUMN}");
                }
            }
        }
        for (at, sla) in spec.slas.iter().enumerate() {
            self.cells(&sla.cells, "slas", Some(at), true);
            self.over(Take::Best, Some(&sla.over), "slas", Some(at));
            if !sla.p95_ms.is_finite() || sla.p95_ms <= 0.0 {
                let span = self.at("slas", Some(at), "p95_ms");
                self.wrong(span, "a limit is above 0", "p95_ms: 325");
            }
        }
        for (at, table) in spec.effects.iter().enumerate() {
            self.cells(&table.cells, "effects", Some(at), true);
            self.metric(&table.metric, "effects", Some(at));
        }
    }

    fn efficiencies(&mut self) {
        let spec = self.spec;
        for (at, one) in spec.efficiencies.iter().enumerate() {
            for quantity in [Some(&one.of), one.plus.as_ref(), Some(&one.to)].into_iter().flatten() {
                self.quantity("efficiencies", at, quantity);
            }
            self.over(Take::First, Some(&one.over), "efficiencies", Some(at));
        }
    }

    fn claims(&mut self) {
        let spec = self.spec;
        let mut seen = BTreeSet::new();
        for (at, claim) in spec.claims.iter().enumerate() {
            if !seen.insert(&claim.id) {
                let span = self.at("claims", Some(at), "id");
                self.wrong(span, format!("{} is there twice", claim.id), "each claim has an id of its own");
            }
            self.claim(at, claim);
        }
    }

    fn claim(&mut self, at: usize, claim: &Claim) {
        if claim.test.is_empty() == claim.not_testable.is_none() {
            let span = self.at("claims", Some(at), "id");
            self.wrong(
                span,
                format!("{}: give one of test and not_testable", claim.id),
                "a claim is tested, or says why not",
            );
        }
        for condition in &claim.test {
            // No figure is below 0.
            if condition.least.is_none_or(|least| least <= 0.0) && condition.most.is_none() {
                let span = self.at("claims", Some(at), "test");
                self.wrong(
                    span,
                    format!("{}: every value would agree", claim.id),
                    "give least: above 0, most: or both",
                );
            }
            if let (Some(least), Some(most)) = (condition.least, condition.most)
                && least > most
            {
                let span = self.at("claims", Some(at), "least");
                self.wrong(
                    span,
                    format!("{}: no value agrees", claim.id),
                    "least is at most as large as most",
                );
            }
            self.quantities(at, condition);
        }
    }

    /// The quantities of a condition, and of what it is divided by.
    fn quantities(&mut self, at: usize, condition: &Condition) {
        for quantity in std::iter::once(&condition.of).chain(&condition.to) {
            self.quantity("claims", at, quantity);
        }
        let Some(than) = &condition.than else { return };
        if than.least.is_some() || than.most.is_some() {
            let span = self.at("claims", Some(at), "than");
            self.wrong(
                span,
                "what a condition is divided by has no limits",
                "least and most stand beside than:",
            );
        }
        self.quantities(at, than);
    }

    fn quantity(&mut self, key: &str, at: usize, quantity: &Quantity) {
        self.cells(&quantity.cells, key, Some(at), true);
        self.metric(&quantity.metric, key, Some(at));
        self.over(quantity.take, quantity.over.as_deref(), key, Some(at));
        let needs_sla = matches!(quantity.take, Take::Best | Take::ArgBest);
        let known =
            quantity.sla.as_ref().is_some_and(|name| self.spec.slas.iter().any(|sla| sla.name == *name));
        if needs_sla != quantity.sla.is_some() || (needs_sla && !known) {
            let span = self.at(key, Some(at), quantity.sla.as_deref().unwrap_or("take"));
            self.wrong(span, "best needs the name of a limit", "sla: names one of slas:");
        }
    }
}

fn find(node: &Node, word: &str) -> Option<Span> {
    match &node.kind {
        NodeKind::Mapping(pairs) => pairs
            .iter()
            .find_map(|pair| if pair.key == word { Some(pair.key_span) } else { find(&pair.value, word) }),
        NodeKind::Sequence(items) => items.iter().find_map(|item| find(item, word)),
        NodeKind::Scalar(text) => (text == word).then_some(node.span),
        NodeKind::Null => None,
    }
}

/// The scalar that refers to a variable.
fn containing(node: &Node, name: &str) -> Option<Span> {
    match &node.kind {
        NodeKind::Mapping(pairs) => pairs.iter().find_map(|pair| containing(&pair.value, name)),
        NodeKind::Sequence(items) => items.iter().find_map(|item| containing(item, name)),
        NodeKind::Scalar(text) => {
            names_in(text).any(|one| one == name).then_some(Span { start: node.span.start, len: 1 })
        }
        NodeKind::Null => None,
    }
}
