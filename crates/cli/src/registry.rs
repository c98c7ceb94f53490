//! The composition root: which adaptors and auths this binary speaks.

use cosmark_driver::{Catalog, PluginRow, ReadsPlugins};

/// All of them, for who runs a workload on this machine.
pub const CATALOG: Catalog = Catalog {
    adaptors: cosmark_adaptors::ADAPTORS,
    auths: cosmark_adaptors::AUTHS,
    not_built: cosmark_adaptors::NOT_BUILT,
    plugin: PluginRow {
        name: cosmark_adaptors::plugin::DEF.name,
        key: "path",
        row_of: cosmark_adaptors::plugin::row_of,
        declares_secret: cosmark_adaptors::plugin::declares_secret,
        reads: ReadsPlugins::Any,
    },
};

/// The same where a workload is only read: no code that it names is loaded.
pub const READING: Catalog = CATALOG.reading(ReadsPlugins::Never);
