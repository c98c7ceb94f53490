//! Which operations of a workload change objects, and what their samples say: names as text and numbers, so that two
//! operations that write the same names are about the same objects.

use cosmark_metrics::{Outcome, Sample};
use cosmark_workload::Workload;
use cosmark_workload::model::{Content, Effect, ObjectNames, Operation, Work};
use serde::{Deserialize, Serialize};

use crate::change::{Change, Key, Row, What};
use crate::judge::Doubt;

/// So many bytes of an object say which one and which write it is.
const LEAST_SIGNED_BYTES: u64 = 16;

/// Names with a number in them, or one name.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Template {
    /// Before the number; the whole name where there is none.
    pub prefix: String,
    /// Behind it.
    pub suffix: String,
    /// The name has a number.
    pub numbered: bool,
    /// It stands there as [`ObjectNames::Scattered`].
    #[serde(default)]
    pub scattered: bool,
}

impl Template {
    fn numbers(&self) -> ObjectNames {
        if self.scattered { ObjectNames::Scattered } else { ObjectNames::Counted }
    }

    /// The name with this number.
    #[must_use]
    pub fn name(&self, number: u64) -> String {
        if self.numbered {
            self.numbers().name(&self.prefix, number, &self.suffix)
        } else {
            self.prefix.clone()
        }
    }

    /// The number in a name that this gives.
    #[must_use]
    pub fn number_in(&self, name: &str) -> Option<u64> {
        let digits = name.strip_prefix(self.prefix.as_str())?.strip_suffix(self.suffix.as_str())?;
        if self.numbered { self.numbers().number_in(digits) } else { None }
    }

    /// Two templates may give one name in two ways; true also where they only may.
    fn may_coincide(&self, other: &Self) -> bool {
        if self == other {
            return false;
        }
        let may_have = |byte| self.numbers().may_have(byte) || other.numbers().may_have(byte);
        let digits = |rest: &str| rest.bytes().all(may_have);
        match (self.numbered, other.numbered) {
            (false, false) => self.prefix == other.prefix,
            (true, false) => self.number_in(&other.prefix).is_some(),
            (false, true) => other.number_in(&self.prefix).is_some(),
            (true, true) => {
                let begins = |long: &str, short: &str| long.strip_prefix(short).is_some_and(digits);
                let ends = |long: &str, short: &str| long.strip_suffix(short).is_some_and(digits);
                (begins(&self.prefix, &other.prefix) || begins(&other.prefix, &self.prefix))
                    && (ends(&self.suffix, &other.suffix) || ends(&other.suffix, &self.suffix))
            }
        }
    }
}

/// Where a store and its login stand in the workload: indices of the first stage and work that have them.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub struct Site {
    /// Of the stage.
    pub stage: usize,
    /// Of the work in it.
    pub work: usize,
}

/// Objects whose names are made in one way, in one store.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Space {
    /// Which store.
    pub site: Site,
    /// Names of its containers.
    pub containers: Template,
    /// Names of its objects; null where whole containers are meant.
    pub objects: Option<Template>,
    /// Some operation of the workload writes them.
    pub written: bool,
    /// Some operation of the workload deletes them.
    pub deleted: bool,
    /// Some operation leaves bytes in them that do not say of which object and write they are: copies, zeros, and what is too
    /// short for it.
    #[serde(default)]
    pub anonymous: bool,
}

impl Space {
    /// Names of the container and the object with this key.
    #[must_use]
    pub fn names(&self, key: Key) -> (String, String) {
        let object = self.objects.as_ref().map(|objects| objects.name(key.object)).unwrap_or_default();
        (self.containers.name(key.container), object)
    }

    /// What a ledger that misses changes cannot tell of its objects.
    #[must_use]
    pub fn doubt(&self) -> Doubt {
        Doubt { deletions: self.deleted, writes: self.written, anonymous: self.anonymous }
    }
}

/// What an operation does to which objects.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Role {
    space: u16,
    what: What,
    /// Objects in one request.
    batch: u32,
    has_container_number: bool,
}

/// What of a workload is kept in its ledger.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Plan {
    /// Kinds of names; those of whole containers come first.
    pub spaces: Vec<Space>,
    /// By stage, work and operation.
    roles: Vec<Vec<Vec<Option<Role>>>>,
}

impl Plan {
    /// Of a workload.
    ///
    /// # Errors
    /// One sentence: names that may be one, or a search.
    pub fn of(workload: &Workload) -> Result<Self, String> {
        if workload.stages.iter().any(|stage| stage.search.is_some()) {
            return Err("a search has no ledger: its stages are not known before the run".to_owned());
        }
        let mut plan = Self::default();
        // Whole containers first: who reads the ledger in order knows of them before their objects.
        for whole in [true, false] {
            for (stage, work, operation) in operations(workload) {
                if let Some(space) = space_of(workload, stage, work, operation)
                    && space.objects.is_none() == whole
                {
                    plan.enter(space);
                }
            }
        }
        plan.refuse_what_may_coincide()?;
        plan.tell_objects_of_emptying();
        plan.roles = workload
            .stages
            .iter()
            .enumerate()
            .map(|(stage, own)| {
                let works = own.works.iter().enumerate();
                works
                    .map(|(work, own)| {
                        own.operations.iter().map(|one| plan.role_of(workload, stage, work, one)).collect()
                    })
                    .collect()
            })
            .collect();
        if plan.spaces.is_empty() {
            return Err(
                "nothing is written or deleted by number, so there is nothing to keep a ledger of".to_owned()
            );
        }
        Ok(plan)
    }

    fn enter(&mut self, space: Space) {
        match self.spaces.iter_mut().find(|known| known.is_about_the_same(&space)) {
            Some(known) => {
                known.written |= space.written;
                known.deleted |= space.deleted;
                known.anonymous |= space.anonymous;
            }
            None => self.spaces.push(space),
        }
    }

    /// Objects of containers that are emptied are deleted, too, whatever their names are.
    fn tell_objects_of_emptying(&mut self) {
        let emptied: Vec<Space> =
            self.spaces.iter().filter(|one| one.objects.is_none() && one.deleted).cloned().collect();
        for space in self.spaces.iter_mut().filter(|one| one.objects.is_some()) {
            space.deleted |= emptied.iter().any(|whole| whole.may_share_a_container(space));
        }
    }

    fn refuse_what_may_coincide(&self) -> Result<(), String> {
        for (at, one) in self.spaces.iter().enumerate() {
            for other in &self.spaces[at + 1..] {
                let (Some(left), Some(right)) = (&one.objects, &other.objects) else { continue };
                let objects = left == right || left.may_coincide(right);
                if one.may_share_a_container(other) && objects {
                    return Err(format!(
                        "`{}/{}` and `{}/{}` may be one object, so no ledger can be kept: let their prefixes end in something \
                         else than a digit, or write them in one way",
                        one.containers.name(1),
                        left.name(1),
                        other.containers.name(1),
                        right.name(1)
                    ));
                }
            }
        }
        Ok(())
    }

    fn role_of(&self, workload: &Workload, stage: usize, work: usize, operation: &Operation) -> Option<Role> {
        let space = space_of(workload, stage, work, operation)?;
        let at = self.spaces.iter().position(|known| known.is_about_the_same(&space))?;
        let what = match operation.kind.row().effect {
            Effect::Deletes => What::Deleted,
            Effect::RemovesContainer => What::Emptied,
            Effect::Copies => What::Copied,
            _ if operation.content == Content::Zero => What::Zeros,
            _ if operation.hash_check => What::Guarded,
            _ => What::Random,
        };
        let is_batch = operation.kind == cosmark_workload::model::OpKind::BulkDelete;
        Some(Role {
            space: u16::try_from(at).ok()?,
            what,
            batch: if is_batch { operation.batch.max(1) } else { 1 },
            has_container_number: space.containers.numbered,
        })
    }

    /// What the operation with these indices does; `None` = nothing to objects with numbers.
    #[must_use]
    pub fn role(&self, stage: usize, work: usize, operation: usize) -> Option<Role> {
        *self.roles.get(stage)?.get(work)?.get(operation)?
    }
}

impl Role {
    /// Adds what a sample says. Times move by `offset_ns`, and are known to `margin_ns`.
    pub fn rows(&self, sample: &Sample, offset_ns: i64, margin_ns: i64, rows: &mut Vec<Row>) {
        let Some(acknowledged) = self.is_acknowledged(sample) else { return };
        let at = |ns: u64| i64::try_from(ns).unwrap_or(i64::MAX).saturating_add(offset_ns);
        let is_write = matches!(self.what, What::Random | What::Guarded | What::Zeros);
        let is_not_there = self.what == What::Deleted && self.batch == 1 && !acknowledged && is_404(sample);
        let change = Change {
            sent_ns: at(sample.sent_ns).saturating_sub(margin_ns),
            end_ns: at(sample.end_ns).saturating_add(margin_ns),
            what: if is_not_there { What::NotThere } else { self.what },
            acknowledged,
            version: if is_write { sample.version } else { 0 },
            bytes: if is_write { sample.asked_bytes } else { 0 },
        };
        let container = if self.has_container_number { sample.container } else { 0 };
        let mut enter = |object| rows.push(Row { key: Key { space: self.space, container, object }, change });
        match (self.what, u64::from(self.batch)) {
            (What::Emptied, _) => enter(0),
            (_, 1) => enter(sample.object),
            // As `Operation::batch_of`.
            (_, batch) => {
                let first = sample.object.saturating_sub(1) / batch * batch + 1;
                (first..first.saturating_add(batch)).for_each(enter);
            }
        }
    }

    /// Whether the store said that it was done; `None` = certainly nothing was done.
    fn is_acknowledged(&self, sample: &Sample) -> Option<bool> {
        if sample.outcome.is_ok() {
            // A write that was only taken is no promise, and nor is the deletion of what the store says it does not have.
            let is_none = sample.accepted_only || (self.what.takes_away() && sample.status == 404);
            return Some(!is_none);
        }
        // Of several requests some may have been done.
        let is_several = self.batch > 1 || self.what == What::Emptied || sample.retries > 0;
        if is_refused(sample.outcome, self.what) && !is_several { None } else { Some(false) }
    }
}

/// The only request of a sample was answered 404; one that was sent again may have been done before.
fn is_404(sample: &Sample) -> bool {
    sample.retries == 0 && (sample.status == 404 || sample.outcome.code() == 404)
}

/// The store has certainly not done it: it said so, or was never asked.
fn is_refused(outcome: Outcome, what: What) -> bool {
    const NEVER_SENT: [&str; 5] = ["connect", "tls", "unsupported", "config", "denied"];
    match outcome.code() {
        // A deletion of what is not found may still leave a mark that hides what comes late.
        404 => !what.takes_away(),
        // No answer in time, two at once, too many at once, client gone: said by somebody who may not know.
        408 | 409 | 429 | 499 => false,
        code @ 400..500 => code != 0,
        _ => NEVER_SENT.iter().any(|label| outcome == Outcome::failed(label)),
    }
}

impl Space {
    fn may_share_a_container(&self, other: &Self) -> bool {
        let containers =
            self.containers == other.containers || self.containers.may_coincide(&other.containers);
        self.site == other.site && containers
    }

    fn is_about_the_same(&self, other: &Self) -> bool {
        self.site == other.site && self.containers == other.containers && self.objects == other.objects
    }
}

fn operations(workload: &Workload) -> impl Iterator<Item = (usize, usize, &Operation)> {
    workload.stages.iter().enumerate().flat_map(|(stage, own)| {
        let works = own.works.iter().enumerate();
        works
            .flat_map(move |(work, own)| own.operations.iter().map(move |operation| (stage, work, operation)))
    })
}

/// The first work with the same store and login.
fn site_of(workload: &Workload, stage: usize, work: usize) -> Option<Site> {
    let own = workload.stages.get(stage)?.works.get(work)?;
    let same = |other: &Work| is_same(other, own);
    workload
        .stages
        .iter()
        .enumerate()
        .find_map(|(stage, one)| one.works.iter().position(same).map(|work| Site { stage, work }))
}

fn is_same(one: &Work, other: &Work) -> bool {
    let same = |a: &cosmark_workload::model::TargetSpec, b: &cosmark_workload::model::TargetSpec| {
        let entries = |spec: &cosmark_workload::model::TargetSpec| {
            spec.config
                .entries
                .iter()
                .map(|entry| (entry.key.clone(), entry.value.clone()))
                .collect::<Vec<_>>()
        };
        a.kind == b.kind && entries(a) == entries(b)
    };
    same(&one.auth, &other.auth) && same(&one.storage, &other.storage)
}

/// Whether an object may have less bytes than say which write it was.
fn may_be_short(operation: &Operation) -> bool {
    operation.sizes.as_ref().is_none_or(|sizes| sizes.bounds_bytes().0 < LEAST_SIGNED_BYTES)
}

fn space_of(workload: &Workload, stage: usize, work: usize, operation: &Operation) -> Option<Space> {
    let effect = operation.kind.row().effect;
    let numbered = |prefix: &str, suffix: String, numbers: ObjectNames| Template {
        prefix: prefix.to_owned(),
        suffix,
        numbered: true,
        scattered: numbers == ObjectNames::Scattered,
    };
    let (counted, of_objects) = (ObjectNames::Counted, operation.object_names);
    let containers = match &operation.container_name {
        Some(name) => {
            Template { prefix: name.clone(), suffix: String::new(), numbered: false, scattered: false }
        }
        None => {
            operation.containers.as_ref().filter(|numbers| !numbers.is_nothing())?;
            numbered(&operation.container_prefix, operation.container_suffix.clone(), counted)
        }
    };
    let mut space = Space {
        site: site_of(workload, stage, work)?,
        containers,
        objects: None,
        written: matches!(effect, Effect::Writes | Effect::Copies),
        deleted: matches!(effect, Effect::Deletes | Effect::RemovesContainer),
        anonymous: match effect {
            Effect::Copies => true,
            Effect::Writes => operation.content == Content::Zero || may_be_short(operation),
            _ => false,
        },
    };
    let has_objects = operation.objects.as_ref().is_some_and(|numbers| !numbers.is_nothing());
    match effect {
        Effect::Writes | Effect::Deletes if has_objects => {
            space.objects =
                Some(numbered(&operation.object_prefix, operation.object_suffix.clone(), of_objects));
        }
        Effect::Copies if has_objects => {
            let suffix = format!("{}{}", operation.object_suffix, operation.copy_suffix);
            space.objects = Some(numbered(&operation.object_prefix, suffix, of_objects));
        }
        Effect::RemovesContainer if operation.empty_container => {}
        _ => return None,
    }
    Some(space)
}

#[cfg(test)]
mod tests {
    use super::*;
    use cosmark_workload::{Environment, Format, parse_what_is_there};

    fn plan(stages: &str) -> Result<Plan, String> {
        let text = format!("name: x\nstorage: {{type: mock}}\nstages:\n{stages}");
        let (workload, mistakes) = parse_what_is_there(&text, Format::Yaml, &Environment::default());
        Plan::of(&workload.unwrap_or_else(|| panic!("{mistakes:?}")))
    }

    const MAIN: &str = "- {name: prepare, works: [{type: prepare, containers: 'r(1,2)', container_prefix: c, objects: 'r(1,9)', \
        object_prefix: o-, sizes: c(1)KB}]}\n\
        - {name: main, works: [{name: w, workers: 1, runtime: 1s, operations: [\
        {type: read, containers: 'u(1,2)', container_prefix: c, objects: 'u(1,9)', object_prefix: o-}, \
        {type: write, containers: 'u(1,2)', container_prefix: c, objects: 'u(5,12)', object_prefix: o-, sizes: c(1)KB}, \
        {type: delete, containers: 'u(1,2)', container_prefix: c, objects: 'u(5,12)', object_prefix: o-}]}]}\n";

    fn sample(outcome: Outcome) -> Sample {
        Sample {
            container: 1,
            object: 7,
            sent_ns: 100,
            end_ns: 200,
            version: 9,
            asked_bytes: 1000,
            outcome,
            ..Sample::default()
        }
    }

    fn rows(role: Role, sample: &Sample) -> Vec<Row> {
        let mut rows = Vec::new();
        role.rows(sample, 10, 3, &mut rows);
        rows
    }

    #[test]
    fn operations_on_the_same_names_are_about_the_same_objects() {
        let plan = plan(MAIN).unwrap();
        assert_eq!(plan.spaces.len(), 1, "{:?}", plan.spaces);
        assert!(plan.spaces[0].written && plan.spaces[0].deleted);
        assert!(plan.role(1, 0, 0).is_none(), "reads change nothing");
        let write = rows(plan.role(1, 0, 1).unwrap(), &sample(Outcome::OK));
        let prepare = rows(plan.role(0, 0, 0).unwrap(), &sample(Outcome::OK));
        let delete = rows(plan.role(1, 0, 2).unwrap(), &sample(Outcome::OK));
        assert_eq!((write[0].key, write[0].key), (prepare[0].key, delete[0].key));
        assert_eq!((write[0].change.sent_ns, write[0].change.end_ns), (107, 213));
        assert_eq!((write[0].change.version, write[0].change.bytes), (9, 1000));
        assert_eq!(plan.spaces[0].names(write[0].key), ("c1".to_owned(), "o-7".to_owned()));
    }

    #[test]
    fn what_the_store_refused_is_no_change_and_what_it_did_not_answer_may_be_one() {
        let plan = plan(MAIN).unwrap();
        let (write, delete) = (plan.role(1, 0, 1).unwrap(), plan.role(1, 0, 2).unwrap());
        let said = |role: Role, label: &str| {
            rows(role, &sample(Outcome::failed(label))).first().map(|row| row.change.acknowledged)
        };
        for label in ["http_403", "http_400", "http_412", "connect", "denied"] {
            assert_eq!(said(write, label), None, "{label}");
        }
        for label in
            ["http_500", "http_503", "http_408", "http_409", "timeout", "reset", "given_up", "protocol"]
        {
            assert_eq!(said(write, label), Some(false), "{label}");
        }
        assert_eq!((said(write, "http_404"), said(delete, "http_404")), (None, Some(false)));
        // What was not there is another thing than what got no answer; not where the first of several requests may have been done.
        let ok_404 = Sample { status: 404, ..sample(Outcome::OK) };
        let again = Sample { retries: 1, ..sample(Outcome::failed("http_404")) };
        for (sample, what) in [
            (sample(Outcome::failed("http_404")), What::NotThere),
            (ok_404, What::NotThere),
            (again, What::Deleted),
            (sample(Outcome::failed("http_503")), What::Deleted),
        ] {
            let change = rows(delete, &sample)[0].change;
            assert_eq!((change.what, change.acknowledged), (what, false), "{sample:?}");
        }
        let taken = Sample { accepted_only: true, ..sample(Outcome::OK) };
        assert!(!rows(write, &taken)[0].change.acknowledged);
        let retried = Sample { retries: 1, ..sample(Outcome::failed("http_403")) };
        assert!(!rows(write, &retried)[0].change.acknowledged);
    }

    #[test]
    fn a_ledger_that_misses_changes_knows_that_objects_of_emptied_containers_may_be_gone() {
        let deletions = |disposed: &str| {
            let plan = plan(&format!(
                "- {{name: prepare, works: [{{type: prepare, containers: 'r(1,2)', container_prefix: c, objects: 'r(1,9)', sizes: \
                 c(1)KB}}]}}\n\
                 - {{name: dispose, works: [{{type: dispose, containers: 'r(1,2)', container_prefix: '{disposed}', empty_container: \
                 true}}]}}\n"
            ))
            .unwrap();
            let objects = plan.spaces.iter().find(|space| space.objects.is_some()).unwrap().doubt();
            assert!(objects.writes);
            objects.deletions
        };
        assert!(deletions("c"));
        assert!(deletions("c1"), "c11 and c1 may be one");
        assert!(!deletions("other"));
    }

    #[test]
    fn names_that_may_be_one_in_two_ways_are_refused() {
        let two = |first: &str, second: &str| {
            plan(&format!(
                "- {{name: main, works: [{{name: w, workers: 1, runtime: 1s, operations: [\
                 {{type: write, containers: c(1), objects: 'u(1,99)', object_prefix: '{first}', sizes: c(1)KB}}, \
                 {{type: write, containers: c(1), objects: 'u(1,99)', object_prefix: '{second}', sizes: c(1)KB}}]}}]}}\n"
            ))
        };
        assert_eq!(two("a", "b").unwrap().spaces.len(), 2);
        assert_eq!(two("a", "a").unwrap().spaces.len(), 1);
        assert!(two("a", "a1").unwrap_err().contains("may be one object"));
        assert!(two("a", "a-1").is_ok());
    }

    #[test]
    fn a_batch_of_deletions_is_that_of_the_operation_and_a_copy_has_its_own_name() {
        let plan = plan(
            "- {name: main, works: [{name: w, workers: 1, runtime: 1s, operations: [\
             {type: bulkdelete, containers: c(1), objects: 'u(1,99)', object_prefix: o, batch: 10}, \
             {type: copy, containers: c(1), objects: 'u(1,99)', object_prefix: o, copy_suffix: -x}]}]}\n",
        )
        .unwrap();
        let deleted = rows(plan.role(0, 0, 0).unwrap(), &Sample { object: 17, ..sample(Outcome::OK) });
        let numbers: Vec<u64> = deleted.iter().map(|row| row.key.object).collect();
        assert_eq!(numbers, (11..=20).collect::<Vec<_>>());
        let copy = rows(plan.role(0, 0, 1).unwrap(), &sample(Outcome::OK));
        let space = &plan.spaces[usize::from(copy[0].key.space)];
        let (_, name) = space.names(copy[0].key);
        assert_eq!(name, "o7-x");
        assert!(plan_of_nothing().unwrap_err().contains("nothing is written"));
    }

    fn plan_of_nothing() -> Result<Plan, String> {
        plan(
            "- {name: main, works: [{name: w, workers: 1, runtime: 1s, operations: [{type: read, containers: c(1), objects: c(1)}]}]}\n",
        )
    }
}
