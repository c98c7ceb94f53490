//! What a workload names on the machine of a driver, beside its auths and storages, whose keys say it themselves: directories
//! of file operations, files of recorded arrivals, trigger scripts. One place, in which a new field cannot be forgotten:
//! every structure is taken apart by the names of all its fields.

use crate::model::{Arrivals, Load, Operation, Stage, Trigger, Work, Workload};

/// What is named.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Place {
    /// A directory in which files are read or written.
    Directory,
    /// A file that is read.
    File,
    /// A script that is run.
    Script,
}

/// One name.
#[derive(Debug)]
pub struct Named<'a> {
    /// The key, as in native YAML.
    pub key: &'static str,
    /// What it names.
    pub place: Place,
    /// The value; whoever decides may put the real path in its place.
    pub value: &'a mut String,
}

/// What a work names.
pub fn of_work(work: &mut Work) -> impl Iterator<Item = Named<'_>> {
    let Work {
        name: _,
        kind: _,
        workers: _,
        interval: _,
        division: _,
        runtime: _,
        rampup: _,
        rampdown: _,
        total_ops: _,
        total_bytes: _,
        afr_per_million: _,
        driver: _,
        load,
        pass: _,
        histogram: _,
        // Their keys say what they reach: `cosmark_adaptor_api::Reach`.
        auth: _,
        storage: _,
        operations,
        span: _,
    } = work;
    operations.iter_mut().filter_map(of_operation).chain(of_load(load))
}

fn of_operation(operation: &mut Operation) -> Option<Named<'_>> {
    let Operation {
        id: _,
        kind: _,
        weight: _,
        division: _,
        name: _,
        containers: _,
        objects: _,
        sizes: _,
        container_name: _,
        container_prefix: _,
        container_suffix: _,
        object_prefix: _,
        object_suffix: _,
        object_names: _,
        content: _,
        chunked: _,
        hash_check: _,
        verify: _,
        create_container: _,
        delete_container: _,
        empty_container: _,
        files,
        file_selection: _,
        range: _,
        part_size_bytes: _,
        part_concurrency: _,
        page_size: _,
        list_prefix: _,
        delimiter: _,
        copy_suffix: _,
        batch: _,
        dataset: _,
        config_text: _,
        span: _,
    } = operation;
    files.as_mut().map(|value| Named { key: "files", place: Place::Directory, value })
}

fn of_load(load: &mut Load) -> Option<Named<'_>> {
    let arrivals = match load {
        Load::Closed | Load::Paced { think_time: _, rate_per_worker: _ } => return None,
        Load::Open { arrivals, when_full: _ } => arrivals,
    };
    match arrivals {
        Arrivals::Constant { rate_per_s: _ }
        | Arrivals::Poisson { rate_per_s: _ }
        | Arrivals::Ramp { from_per_s: _, to_per_s: _ }
        | Arrivals::Step { steps: _ } => None,
        Arrivals::Recorded { path, time_warp: _ } => {
            Some(Named { key: "rate.file", place: Place::File, value: path })
        }
    }
}

/// What a whole workload names: the scripts of its triggers, and what its works name.
pub fn of_workload(workload: &mut Workload) -> impl Iterator<Item = Named<'_>> {
    let Workload {
        name: _,
        description: _,
        trigger,
        seed: _,
        loss: _,
        drivers: _,
        durability: _,
        settle: _,
        nodes: _,
        stages,
    } = workload;
    let own = trigger.as_mut().map(of_trigger);
    own.into_iter().chain(stages.iter_mut().flat_map(|stage| {
        // Faults are made by who runs the workload, not by drivers; a controller has agents make them.
        let Stage {
            name: _,
            closure_delay: _,
            trigger,
            thresholds: _,
            search: _,
            faults: _,
            consistency: _,
            works,
            span: _,
        } = stage;
        let own = trigger.as_mut().map(of_trigger);
        own.into_iter().chain(works.iter_mut().flat_map(of_work))
    }))
}

fn of_trigger(trigger: &mut Trigger) -> Named<'_> {
    let Trigger { script, args: _ } = trigger;
    Named { key: "trigger", place: Place::Script, value: script }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::keys::{KEYS, ValueKind};
    use crate::{Environment, Format, parse};

    const ALL: &str = "name: all\ntrigger: before.sh\nstorage: {type: mock}\nstages:\n  - name: main\n    trigger: stage.sh(a)\n    \
        works:\n      - {name: w, workers: 1, runtime: 1s, rate: {shape: recorded, file: /arrivals.csv}, operations: [{type: \
        filewrite, containers: c(1), files: /f}, {type: mfilewrite, containers: c(1), files: /m}, {type: localwrite, \
        containers: c(1), objects: c(1), sizes: c(1)KB, files: /l}]}\n";

    #[test]
    fn every_directory_file_and_script_of_a_workload_is_named() {
        let (workload, mistakes) = parse(ALL, Format::Yaml, &Environment::default());
        let mut workload = workload.unwrap_or_else(|| panic!("{mistakes:?}"));
        let mut found: Vec<String> = of_workload(&mut workload)
            .map(|one| format!("{} {:?} {}", one.key, one.place, one.value))
            .collect();
        found.sort();
        let expected = [
            "files Directory /f",
            "files Directory /l",
            "files Directory /m",
            "rate.file File /arrivals.csv",
            "trigger Script before.sh",
            "trigger Script stage.sh",
        ];
        assert_eq!(found, expected);
    }

    #[test]
    fn a_key_of_an_operation_that_speaks_of_the_driver_is_one_of_them() {
        for key in KEYS {
            let speaks =
                key.help.contains("on the driver") || key.help.to_ascii_lowercase().contains("directory on");
            assert_eq!(speaks, key.value == ValueKind::Directory, "{}: {}", key.yaml, key.help);
        }
    }
}
