//! What the machines of a store can do without it: disks by fio, the network by iperf3, processors by openssl, run where the
//! one at the command line may run programs, or read from files that somebody else made.

pub mod import;
pub mod measure;
pub mod shell;
