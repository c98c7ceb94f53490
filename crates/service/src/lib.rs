//! The controller as a service: queue, history, REST, server-sent events, COSBench's endpoints, and the console's files.
