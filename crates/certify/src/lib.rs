//! What a store answers to the questions that who builds on it takes for granted: every operation and error, integrity, conditional
//! writes, writes in parts, listings, names, limits, concurrency. One row a question in one table ([`QUESTIONS`]), from which the
//! pages, `certify.json` and the comparison of two stores derive.
//!
//! Sources of what is right: Amazon S3's API reference and user guide, OpenStack's Object Storage API reference. What is asked was
//! chosen after what Elasticsearch's repository analysis and Ceph's s3-tests look for.
//!
//! Everything is written below a prefix of this certification's own; nothing else is changed or deleted. Every request has a time
//! limit, every question one, and the whole one.

mod certificate;
mod compare;
mod moment;
mod page;
mod picture;
mod questions;
mod request;
mod restart;
mod room;
mod run;
mod xml;

pub use certificate::{Answer, Asked, Certificate, Counts, Exchange, SCHEMA, Target};
pub use compare::{Difference, compare, comparison_markdown};
pub use page::{html, markdown};
pub use questions::{Group, Of, QUESTIONS, Question};
pub use restart::Restart;
pub use run::{Certifying, Progress};
