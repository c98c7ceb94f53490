//! What tests of the engine are made from.

use std::time::Duration;

use cosmark_adaptor_api::{Auth, OpFuture, Session};
use cosmark_workload::diagnostics::Span;
use cosmark_workload::model::*;

/// Nobody logs in.
pub struct NoAuth;

impl Auth for NoAuth {
    fn login(&self) -> OpFuture<'_, Session> {
        Box::pin(std::future::ready(Ok(Session::default())))
    }

    fn timeout(&self) -> Duration {
        Duration::from_secs(5)
    }
}

/// An operation on these containers and objects.
pub fn operation(kind: OpKind, containers: &str, objects: &str) -> Operation {
    let selector = |text: &str| (!text.is_empty()).then(|| text.parse().unwrap());
    Operation {
        id: "op1".into(),
        kind,
        weight: 100.0,
        division: Division::None,
        name: kind.word().into(),
        containers: selector(containers),
        objects: selector(objects),
        sizes: Some("c(1)KB".parse().unwrap()),
        container_name: None,
        container_prefix: "c".into(),
        container_suffix: String::new(),
        object_prefix: "o".into(),
        object_suffix: String::new(),
        object_names: ObjectNames::default(),
        content: Content::Random,
        chunked: false,
        hash_check: false,
        verify: false,
        create_container: kind == OpKind::Init,
        delete_container: kind == OpKind::Dispose,
        empty_container: false,
        files: None,
        file_selection: FileSelection::Sequential,
        range: None,
        part_size_bytes: 5 << 20,
        part_concurrency: 1,
        page_size: None,
        list_prefix: String::new(),
        delimiter: String::new(),
        copy_suffix: "-copy".into(),
        batch: 100,
        dataset: None,
        config_text: String::new(),
        span: Span::default(),
    }
}

fn target() -> TargetSpec {
    TargetSpec { kind: "none".into(), config: Config::default(), span: Span::default() }
}

/// A work of one driver without an end.
pub fn work(kind: WorkKind, workers: u32, operations: Vec<Operation>) -> Work {
    Work {
        name: "w".into(),
        kind,
        workers,
        interval: Duration::from_secs(1),
        division: Division::None,
        runtime: Duration::ZERO,
        rampup: Duration::ZERO,
        rampdown: Duration::ZERO,
        total_ops: None,
        total_bytes: None,
        afr_per_million: 0,
        driver: None,
        load: Load::Closed,
        pass: None,
        histogram: true,
        auth: target(),
        storage: target(),
        operations,
        span: Span::default(),
    }
}
