//! The arguments of `cosmark certify`.

use std::path::PathBuf;

use clap::Args as ClapArgs;

/// `cosmark certify`
#[derive(ClapArgs)]
#[command(after_help = "Examples:
  cosmark certify testbeds/swift/s3.yaml                  a target file (auth: and storage:), as for `cosmark run --target`
  cosmark certify s3+http://KEY:SECRET@host:9000 --quick  a URL, as for `cosmark quick`; at most 5 minutes
  cosmark certify target.yaml --restart 'systemctl restart minio'
  cosmark certify compare certify/a/certify.json certify/b/certify.json
  cosmark certify questions                               lists the questions and the right answers, sends nothing

It takes 15 minutes at most. It makes a container and removes it; with --container everything is written to yours, below a prefix of \
its own, and nothing else is touched. Answers: yes (as the protocol's documents say), differs (not as documented, but nothing is lost), \
no, not asked. The results are certify.json, certify.md and certify.html in --output, with history.edn and history.jsonl for Jepsen's \
checkers and Porcupine if consistency was tested; they contain no secrets.")]
pub struct CertifyArgs {
    /// Target file or URL of the store; or compare A.json B.json; or questions
    #[arg(value_name = "TARGET", num_args = 1..=3, required = true)]
    pub what: Vec<String>,
    /// Name of the store on the pages; default: from the file or the host
    #[arg(long, value_name = "NAME")]
    pub name: Option<String>,
    /// Use this existing container; nothing in it is touched except what this command writes
    #[arg(long, value_name = "NAME")]
    pub container: Option<String>,
    /// Leave out what moves many bytes or takes long
    #[arg(long)]
    pub quick: bool,
    /// Ask only questions whose names begin with one of these, such as s3.multipart,any.
    #[arg(long, value_name = "BEGIN", value_delimiter = ',')]
    pub only: Vec<String>,
    /// Command that restarts the store, run on this machine, for the question about restarts; it has three minutes
    #[arg(long, value_name = "COMMAND")]
    pub restart: Option<String>,
    /// Directory for the pages; default: certify/NAME
    #[arg(long, short, value_name = "DIR")]
    pub output: Option<PathBuf>,
    /// Accept any TLS certificate (with a URL; a target file has its own key for this)
    #[arg(long)]
    pub insecure: bool,
    /// Print certify.json on stdout and nothing else there
    #[arg(long)]
    pub json: bool,
    /// Show no progress
    #[arg(long, short)]
    pub quiet: bool,
    /// End with exit code 6 when a question is answered no
    #[arg(long)]
    pub strict: bool,
}
