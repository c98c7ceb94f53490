//! The routes. A route that is not here does not exist; what is here is routed, guarded and documented.

use axum::routing::{MethodRouter, delete, get, patch, post, put};

use super::{
    Shared, catalog, compare, cosbench, events, files, history, metrics, runs, session, studies, system,
};

/// Who may use a route.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Access {
    /// Everybody.
    Open,
    /// Who may look.
    View,
    /// Who may operate.
    Operate,
    /// The route looks after it itself: logins, and COSBench's own way.
    Own,
}

/// What a route answers.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Reply {
    /// JSON of this schema.
    One(&'static str),
    /// A JSON array of this schema.
    Many(&'static str),
    /// Other JSON, described by this phrase.
    Json(&'static str),
    /// Something else, by its media type.
    Media(&'static str),
    /// One of several: what it is asked by, and its media type.
    Either(&'static [(&'static str, &'static str)]),
    /// Server-sent events whose data has this schema.
    Events(&'static str),
    /// Nothing.
    Nothing,
}

/// A route.
pub struct Route {
    /// `GET`, ..
    pub method: &'static str,
    /// Its path; `{id}` stands for a value, `{*name}` for the rest.
    pub path: &'static str,
    /// Who may use it.
    pub access: Access,
    /// One sentence.
    pub summary: &'static str,
    /// Parameters of the query: name, what it does.
    pub query: &'static [(&'static str, &'static str)],
    /// Schema of the body, or its media type where it has a slash.
    pub body: Option<&'static str>,
    /// What it answers when all is well.
    pub reply: Reply,
    /// What does it.
    pub handler: fn() -> MethodRouter<Shared>,
}

macro_rules! route {
    ($method:ident $path:literal $access:ident $reply:expr, $handler:path, $summary:literal $(, query $query:expr)? $(, body $body:literal)?) => {
        Route {
            method: route!(@word $method),
            path: $path,
            access: Access::$access,
            summary: $summary,
            query: route!(@query $($query)?),
            body: route!(@body $($body)?),
            reply: $reply,
            handler: || $method($handler),
        }
    };
    (@word get) => { "GET" };
    (@word post) => { "POST" };
    (@word put) => { "PUT" };
    (@word patch) => { "PATCH" };
    (@word delete) => { "DELETE" };
    (@query) => { &[] };
    (@query $query:expr) => { $query };
    (@body) => { None };
    (@body $body:literal) => { Some($body) };
}

use Reply::{Either, Events, Json, Many, Media, Nothing, One};

/// Filters of lists of runs.
const FILTERS: &[(&str, &str)] = &[
    (
        "state",
        "only runs in this state: active, ended, queuing, processing (or running), finished, failed, terminated, killed or \
         cancelled",
    ),
    ("search", "only runs with this text in their id, name, target or tags"),
    ("tag", "only runs with this tag; several by commas = all of them"),
    ("verdict", "only runs with this verdict: true, true_with_limits, not_proven or false"),
    ("baseline", "1: only the baselines of their workloads"),
    ("since", "only runs that began on this day (UTC) or at this moment, or later"),
    ("until", "only runs that began on this day (UTC) or at this moment, or before"),
    (
        "sort",
        "by id (without it), name, target, state, verdict, started, took, throughput or p99; runs without a value come last",
    ),
    ("down", "0: the least first"),
    ("limit", "at most so many, 1 to 1000; 100 without it"),
    ("skip", "without the first so many, for the next page"),
    (
        "before",
        "only runs that stand behind this one, newest first; of its own number those with a later name",
    ),
];

/// Every route.
#[rustfmt::skip]
pub const ROUTES: &[Route] = &[
    route!(get "/api/v1/session" View One("SessionInfo"), session::show, "Who is logged in"),
    route!(post "/api/v1/session" Own One("SessionInfo"), session::begin, "Log in with a token: sets the session cookie", body "Login"),
    route!(delete "/api/v1/session" Own Nothing, session::end, "Log out"),
    route!(get "/api/v1/status" View One("Status"), system::status, "The controller at a glance"),
    route!(get "/api/v1/drivers" View Many("DriverInfo"), system::drivers, "All drivers"),
    route!(patch "/api/v1/drivers/{name}" Operate One("DriverInfo"), system::drain, "Give a driver no new work, or work again", body "Drain"),
    route!(delete "/api/v1/drivers/{name}" Operate Nothing, system::forget, "Forget a driver that is lost"),
    route!(post "/api/v1/check" View One("CheckResult"), runs::check, "What a submission would do: mistakes, stages, what can be said before any load; nothing is sent", body "Submission"),
    route!(get "/api/v1/runs" View Many("RunSummary"), history::list, "Runs, newest first: those that wait or run, and the archive", query FILTERS),
    route!(post "/api/v1/runs" Operate One("Submitted"), runs::submit, "Put a workload into the queue (201)", body "Submission"),
    route!(get "/api/v1/runs/{id}" View One("RunSummary"), runs::one, "One run"),
    route!(delete "/api/v1/runs/{id}" Operate Nothing, history::remove, "Delete a run that is over from the archive, with all its files; a baseline, and what other programs made, stay"),
    route!(get "/api/v1/runs/{id}/record" View Json("run.json, see run.schema.json"), runs::record, "The record of a run; of a running one, as it stands"),
    route!(patch "/api/v1/runs/{id}/queue" Operate One("RunSummary"), runs::reorder, "Move a run that waits", body "QueueMove"),
    route!(post "/api/v1/runs/{id}/cancel" Operate One("RunSummary"), runs::cancel, "End a run: operations in flight may end, or not", body "Cancel"),
    route!(post "/api/v1/runs/{id}/resubmit" Operate One("Submitted"), runs::resubmit, "Submit the same again (201)"),
    route!(post "/api/v1/runs/{id}/notes" Operate One("RunSummary"), runs::note, "Put a note on the timeline of a run, with the name of who says it; now, of a running run and of one that is over", body "Note"),
    route!(put "/api/v1/runs/{id}/tags" Operate One("RunSummary"), runs::tag, "Add and remove tags", body "TagChange"),
    route!(put "/api/v1/runs/{id}/baseline" Operate One("RunSummary"), runs::baseline, "Make a run the baseline of its workload, or no longer", body "Baseline"),
    route!(get "/api/v1/runs/{id}/data" View Json("the data of the report"), files::data, "What the report and the run page show; of a running run, so far"),
    route!(get "/api/v1/runs/{id}/report" View Media("text/html"), files::report, "The HTML report: one file that works offline"),
    route!(get "/api/v1/runs/{id}/files" View Many("FileInfo"), files::list, "The files of a run"),
    route!(get "/api/v1/runs/{id}/files/{*name}" View Either(files::FILES), files::one, "One file of a run"),
    route!(get "/api/v1/runs/{id}/archive.tar.gz" View Media("application/gzip"), files::archive, "All files of a run"),
    route!(get "/api/v1/runs/{id}/source" View One("SourceText"), runs::source, "The workload as it was given, and as YAML and XML; secrets are removed"),
    route!(get "/api/v1/runs/{id}/log" View Many("LogLine"), files::log, "The log of a run", query &[("tail", "only so many of its last lines, up to 10000; 1000 without it")]),
    route!(get "/api/v1/runs/{id}/export" View Either(files::EXPORTS), files::export, "A run for other programs", query &[("format", "as in `cosmark export --format`")]),
    route!(get "/api/v1/runs/{id}/plot" View Either(files::PICTURES), files::plot, "A picture of a run", query &[
        ("kind", "as in `cosmark plot --kind`"), ("format", "svg (without it), png or pdf"), ("metric", "as in `cosmark plot --metric`"),
        ("stage", "only this stage"), ("operation", "only this operation"), ("number", "which picture, from 0, where there are several"),
    ]),
    route!(get "/api/v1/runs/{id}/events" View Events("RunEvent"), events::of_run, "What happens in a run; the header Last-Event-ID resumes"),
    route!(get "/api/v1/compare" View Json("a comparison, as `cosmark compare --format json`"), compare::compare, "Runs side by side", query &[
        ("runs", "ids by commas; the first is compared with each other one; repetitions of one side are joined by +"),
        ("threshold", "per cent: smaller differences are not called differences; 1 without it"),
    ]),
    route!(get "/api/v1/matrix" View Json("rows: one per run, stage and operation"), compare::matrix, "Every result of the history in one table", query FILTERS),
    route!(get "/api/v1/studies" View Many("StudySummary"), studies::list, "Studies (`cosmark study`), those that changed last in front"),
    route!(get "/api/v1/studies/{study}" View One("Study"), studies::one, "One study without its cells: question, factors, cost so far, claims"),
    route!(get "/api/v1/studies/{study}/grid" View One("StudyGrid"), studies::grid, "The cells of a study, each point with its state and a figure of an operation", query &[
        ("metric", "the figure, as `metrics` of the study names it; the first of them without it"),
        ("operation", "of this operation, as `operations` of the study names it; the first of them without it"),
    ]),
    route!(get "/api/v1/studies/{study}/figures" View Many("StudyPart"), studies::figures, "Figures and tables of what was measured so far: those of the report"),
    route!(get "/api/v1/studies/{study}/runs/{run}/data" View Json("the data of the report"), studies::data, "What the report shows of a run of a study that is over"),
    route!(post "/api/v1/studies/{study}/stop" Operate One("Study"), studies::stop, "Ask whoever runs a study on this machine to stop: the cell that runs ends and removes what it wrote"),
    route!(post "/api/v1/studies/{study}/go-on" Operate One("Study"), studies::go_on, "Run the last command of a study again, where the operator started the controller with `--studies-go-on`"),
    route!(get "/api/v1/adaptors" View Json("storages and auths: names, capability, keys"), catalog::adaptors, "What can be spoken to"),
    route!(post "/api/v1/targets/test" Operate One("TargetTest"), catalog::test, "Let a driver log in at a target and ask it one cheap question", body "TargetText"),
    route!(get "/api/v1/library" View Many("LibraryEntry"), catalog::library, "Workloads and targets that come with Cosmark"),
    route!(post "/api/v1/convert" View One("Converted"), catalog::convert, "COSBench XML to native YAML and back", body "ConvertText"),
    route!(get "/api/v1/schema" View Json("JSON Schema of native workloads"), catalog::schema, "The schema for editors"),
    route!(get "/api/v1/secrets" View Json("names"), catalog::secrets, "Names of the secrets that the controller keeps"),
    route!(put "/api/v1/secrets/{name}" Operate Nothing, catalog::set_secret, "Keep a secret; it can never be read again", body "SecretValue"),
    route!(delete "/api/v1/secrets/{name}" Operate Nothing, catalog::remove_secret, "Forget a secret"),
    route!(get "/api/v1/events" View Events("SystemEvent"), events::of_all, "What happens in the controller; the header Last-Event-ID resumes"),
    route!(get "/api/openapi.json" Open Json("this document"), super::show_document, "The OpenAPI document"),
    route!(get "/healthz" Open Media("text/plain"), system::healthz, "Whether the controller is alive"),
    route!(get "/metrics" View Media("text/plain"), metrics::show, "Metrics for Prometheus"),
    route!(post "/controller/cli/submit.action" Own Media("text/plain"), cosbench::submit, "COSBench: submit", query cosbench::LOGIN, body "multipart/form-data"),
    route!(post "/controller/cli/config.action" Own Media("text/plain"), cosbench::submit, "COSBench: submit, its other name", query cosbench::LOGIN, body "multipart/form-data"),
    route!(get "/controller/cli/index.action" Own Media("text/plain"), cosbench::index, "COSBench: drivers and active workloads", query cosbench::LOGIN),
    route!(post "/controller/cli/index.action" Own Media("text/plain"), cosbench::index, "COSBench: the same", query cosbench::LOGIN),
    route!(get "/controller/cli/workload.action" Own Media("text/plain"), cosbench::workload, "COSBench: one workload", query cosbench::LOGIN_AND_ID),
    route!(post "/controller/cli/workload.action" Own Media("text/plain"), cosbench::workload, "COSBench: the same", query cosbench::LOGIN_AND_ID),
    route!(post "/controller/cli/cancel.action" Own Media("text/plain"), cosbench::cancel, "COSBench: cancel", query cosbench::LOGIN_AND_ID),
    route!(get "/controller/timeline.csv" Own Media("text/csv"), cosbench::timeline, "COSBench: the timeline of a stage", query &[("wid", "id of the run"), ("sid", "id of the stage")]),
    route!(get "/controller/download-log.do" Own Media("text/plain"), cosbench::log, "COSBench: the log of a workload", query cosbench::LOGIN_AND_ID),
    route!(get "/controller/download-config.do" Own Media("application/xml"), cosbench::config, "COSBench: the workload as it was understood", query cosbench::LOGIN_AND_ID),
];
