//! The tables of the fields of what a stage may hold beside its works: `consistency`, `fill`, `faults`.

use super::{AttributeRow, row};
use crate::keys::ValueKind;

/// `consistency:` of a workload or a stage.
pub const CONSISTENCY: &[AttributeRow] = &[
    row(
        ("", "share"),
        ValueKind::Percent,
        "1 %",
        "Requests of the prober for each operation of the load, at most; up to 10 %. Below 1000 operations per second 1 % says little.",
    ),
    row(
        ("", "readers"),
        ValueKind::Count,
        "4",
        "Connections of each driver that only read and list; up to 64.",
    ),
    row(("", "lists"), ValueKind::Bool, "true", "Listings are looked at, too, where the storage has them."),
    row(
        ("", "reach"),
        ValueKind::Duration,
        "60s",
        "Looks reach so far after an acknowledgement, as far as the runtime has room for it; from 10ms to 60s.",
    ),
    row(
        ("", "container"),
        ValueKind::Text,
        "one of its own, made before the load and taken away after it",
        "An existing container or bucket to write the probed objects to.",
    ),
];

/// `fill:` of a stage.
pub const FILL: &[AttributeRow] = &[
    row(
        ("", "dataset"),
        ValueKind::Text,
        "required",
        "Its name, by which later runs read it: small letters, digits and hyphens, up to 40.",
    ),
    row(("", "objects"), ValueKind::Count, "", "How many objects, over all containers."),
    row(
        ("", "bytes"),
        ValueKind::Bytes,
        "",
        "Instead of `objects`: about so many bytes, by the mean of `sizes`.",
    ),
    row(
        ("", "share"),
        ValueKind::Percent,
        "",
        "Instead of `objects`: so much of `capacity`; what others have stored is not known and not counted.",
    ),
    row(
        ("", "capacity"),
        ValueKind::Bytes,
        "",
        "With `share`: the bytes that the store holds for its users.",
    ),
    row(
        ("", "to"),
        ValueKind::Percent,
        "",
        "End as soon as so much of the store's whole capacity is used, by what `nodes` say of it; `objects` or `bytes` is then the \
         most that is written.",
    ),
    row(
        ("", "nodes"),
        ValueKind::Text,
        "all that say how full a store is",
        "With `to`: the names of the nodes by whose word it goes, with commas; needed where others say it of other stores.",
    ),
    row(("", "containers"), ValueKind::Numbers, "r(1,1)", "Numbers of its containers, as a range."),
    row(
        ("", "sizes"),
        ValueKind::Sizes,
        "required",
        "Object sizes: `c`, `u`, `h` or `z`, so that each follows from the number of its object.",
    ),
    row(("", "workers"), ValueKind::Count, "16", "Concurrent clients over all drivers."),
    row(("", "interval"), ValueKind::Duration, "5s", "Period of the timeline."),
    row(
        ("", "order"),
        ValueKind::Words(&["sequential", "scattered"]),
        "sequential",
        "In which order objects are written: by their numbers, or as if by chance, as users do.",
    ),
    row(
        ("", "overwrite"),
        ValueKind::Percent,
        "0",
        "Ageing: in each round this share of the objects is written again, drawn from all.",
    ),
    row(
        ("", "delete"),
        ValueKind::Percent,
        "0",
        "Ageing: in each round this share is deleted and written again, so that the data set is whole at the end.",
    ),
    row(("", "rounds"), ValueKind::Count, "1", "Rounds of ageing, up to 100."),
    row(
        ("", "acceptable_failure_ratio"),
        ValueKind::Share,
        "0",
        "Share of failures up to which its stages count as passed; what failed is written by the next run.",
    ),
    row(
        ("", "container_prefix"),
        ValueKind::Text,
        "the name of the data set and a hyphen",
        "Container names are prefix, number.",
    ),
    row(("", "object_prefix"), ValueKind::Text, "myobjects", "Object names are prefix, number."),
];

/// An entry of `faults:` of a stage.
pub const FAULT: &[AttributeRow] = &[
    row(("", "name"), ValueKind::Text, "required", "Its name in the results."),
    row(
        ("", "type"),
        ValueKind::Words(&["bed", "command", "signal", "cgroup", "network", "proxy", "agent", "none"]),
        "required",
        "How it is made; `none` is a slot without a fault, for comparison.",
    ),
    row(
        ("", "at"),
        ValueKind::Text,
        "steady",
        "When its first slot begins: a time after the load began (`90s`), `steady` (the rate has not moved for 30 s), or `10000 \
         objects` (so many have been written). A fault before it in the list ends first.",
    ),
    row(
        ("", "hold"),
        ValueKind::Duration,
        "required but for `none`",
        "From when it is made to when it is healed.",
    ),
    row(("", "slot"), ValueKind::Duration, "required", "How long is looked at, from when it is made on."),
    row(("", "repeats"), ValueKind::Count, "3", "Slots, one after another."),
    row(
        ("", "keep"),
        ValueKind::Duration,
        "60s, or half of what is left of the slot",
        "How long the rate has to stay in the band to be called back.",
    ),
    row(("", "within"), ValueKind::Duration, "2m", "A command that takes longer is ended."),
    row(
        ("", "noticed"),
        ValueKind::Text,
        "asks the bed, where it knows",
        "Command whose exit code 0 says that the store has noticed; asked twice a second. Of `agent` it stands in the agent's file.",
    ),
    row(
        ("", "whole"),
        ValueKind::Text,
        "asks the bed, where it knows",
        "Command whose exit code 0 says that redundancy is whole; asked once a second after healing. Of `agent` it stands in the agent's \
         file.",
    ),
    row(
        ("", "whole_within"),
        ValueKind::Duration,
        "2m",
        "How long after a slot the next fault, and reading back, wait for redundancy to be whole; slots that would begin on a \
         store that is not whole then are void. `0s`: nobody waits.",
    ),
    row(
        ("", "limit"),
        ValueKind::Duration,
        "",
        "Seconds whose 99th percentile of the response time is beyond are counted.",
    ),
    row(
        ("", "bed"),
        ValueKind::Text,
        "",
        "`bed`: directory of a test bed, whose `faults` script makes, proves and heals it.",
    ),
    row(
        ("", "verb"),
        ValueKind::Text,
        "",
        "`bed`: what the script is to do, e.g. `kill`, `pause`, `devfail`.",
    ),
    row(("", "target"), ValueKind::Text, "", "`bed`: to what, e.g. `node.2`."),
    row(("", "argument"), ValueKind::Text, "", "`bed`: and how much, e.g. the milliseconds of `delay`."),
    row(("", "inject"), ValueKind::Text, "", "`command`: makes the fault (`sh -c`)."),
    row(
        ("", "heal"),
        ValueKind::Text,
        "",
        "`command`, `signal: KILL`: heals it; is run as often as it takes, also when nothing is broken any more.",
    ),
    row(
        ("", "proof"),
        ValueKind::Text,
        "",
        "`command`: says by its exit code 0 that the fault is there; what it prints is kept.",
    ),
    row(
        ("", "host"),
        ValueKind::Text,
        "",
        "`command`, `signal`: made, proved and healed there, by ssh: `user@host`; `noticed` and `whole` run there, too.",
    ),
    row(
        ("", "node"),
        ValueKind::Text,
        "",
        "`command`, `signal`: the same with the machine of this name in `nodes:`, of type ssh.",
    ),
    row(
        ("", "agent"),
        ValueKind::Text,
        "",
        "`agent`: the machine on which it is made, by the name of its agent (`cosmark node --name`). The run goes over its NATS.",
    ),
    row(
        ("", "fault"),
        ValueKind::Text,
        "",
        "`agent`: which of the faults that the operator of that machine allows (`cosmark node --faults FILE`), by its name there.",
    ),
    row(("", "signal"), ValueKind::Words(&["STOP", "KILL"]), "", "`signal`: which one."),
    row(("", "process"), ValueKind::Text, "", "`signal`, `cgroup`: exact name of the processes."),
    row(
        ("", "pid_file"),
        ValueKind::Text,
        "",
        "`signal`, `cgroup`: the file that begins with the number of the process, instead.",
    ),
    row(
        ("", "children"),
        ValueKind::Bool,
        "false",
        "`signal`, `cgroup`: those that they have started, too, e.g. the workers of a server.",
    ),
    row(
        ("", "cpu"),
        ValueKind::PercentSign,
        "",
        "`cgroup`: percent of one processor that they may have together, e.g. `20 %`.",
    ),
    row(("", "read"), ValueKind::Bandwidth, "", "`cgroup`: what they may read from `disk`, e.g. `1MB/s`."),
    row(
        ("", "write"),
        ValueKind::Bandwidth,
        "",
        "`cgroup`: what they may write to `disk`. With version 1 of control groups direct writes and those that the process waits \
         for (`fsync`) are held up, and what stays in the page cache is not.",
    ),
    row(("", "disk"), ValueKind::Text, "", "`cgroup`: a block device, or a path that lies on it."),
    row(
        ("", "of"),
        ValueKind::Text,
        "",
        "`proxy`: host and port of the store, as in its endpoint; the load goes through a proxy that stands before it. `network`: \
         host and port whose TCP packets are meant, to and from.",
    ),
    row(("", "partition"), ValueKind::Bool, "", "`network`: every packet is dropped, in both directions."),
    row(
        ("", "loss"),
        ValueKind::PercentSign,
        "",
        "`network`: so many packets are dropped, by chance, in each direction, e.g. `2 %`.",
    ),
    row(
        ("", "netns"),
        ValueKind::Text,
        "that of cosmark",
        "`network`: the network namespace, as `ip netns` calls it, or its path.",
    ),
    row(
        ("", "delay"),
        ValueKind::Duration,
        "",
        "`proxy`: everything arrives so much later, in both directions.",
    ),
    row(("", "stall"), ValueKind::Bool, "", "`proxy`: nothing arrives any more, connections stay."),
    row(("", "reset"), ValueKind::Bool, "", "`proxy`: connections are reset, new ones too."),
    row(("", "refuse"), ValueKind::Bool, "", "`proxy`: new connections are refused, old ones reset."),
    row(
        ("", "bandwidth"),
        ValueKind::Bandwidth,
        "",
        "`proxy`: all connections together move at most so much, e.g. `1MB/s`.",
    ),
    row(
        ("", "drop"),
        ValueKind::PercentSign,
        "",
        "`proxy`: so many blocks of bytes never arrive, by chance, e.g. `2 %`; the connections stay.",
    ),
];
