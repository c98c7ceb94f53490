//! The tables of an archive in comma-separated values: COSBench's own, and those that lie beside them.

pub(crate) mod clients;
pub(crate) mod cosbench;
pub(crate) mod events;
pub(crate) mod intervals;
pub(crate) mod layout;
pub(crate) mod line;
pub(crate) mod number;
pub(crate) mod probes;
pub(crate) mod table;
pub(crate) mod timeline;
