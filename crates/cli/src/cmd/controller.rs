//! `cosmark controller`: the service, until Ctrl-C.

use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use cosmark_cluster::nats::SupervisedServer;
use cosmark_cluster::nats::config_file;
use cosmark_cluster::nats::roles::{self, Role};
use cosmark_cluster::nats::server::{LocalServer, ServerOptions};
use cosmark_driver::Origin;
use cosmark_driver::secrets::resolve_nodes;
use cosmark_service::api::types::{DriverInfo, DriverState, Role as TokenRole};
use cosmark_service::auth::tokens::{self, role_of};
use cosmark_service::{
    ClusterKey, GoOn, LocalSetup, ServiceError, Setup, StateDir, Stores, StudiesSetup, Tls, reached_at,
    run_local, run_with_nats,
};
use cosmark_wire::MESSAGE_VERSION;

use crate::args::ControllerArgs;
use crate::cmd::driver::permit;
use crate::cmd::remote::by_agents;
use crate::exit::{Exit, Outcome, Problem};
use crate::host::state_directory;
use crate::load::load_target;
use crate::registry::CATALOG;
use crate::secrets::Own;
use crate::study::go_on::go_on;
use crate::{host, nats, signals};

/// Seconds that operations in flight may take after the load has ended.
const DRAIN: Duration = Duration::from_secs(10);

impl From<ServiceError> for Problem {
    fn from(error: ServiceError) -> Self {
        match error {
            ServiceError::Archive(error) => error.into(),
            ServiceError::Start(_) | ServiceError::Bus(_) | ServiceError::NameTaken { .. } => {
                Self::ours(error.to_string())
            }
            _ => Self::usage(error.to_string()),
        }
    }
}

/// Runs the subcommand.
pub fn run(args: &ControllerArgs) -> Outcome {
    let state = state_directory(args.state.as_deref())?;
    if args.add_token.is_some() || args.remove_token.is_some() || args.tokens {
        return manage_tokens(args, &state);
    }
    if let Some(directory) = &args.write_nats_config {
        return write_nats_config(args, directory, &state);
    }
    if let Some(option) = args.reach.first_given().filter(|_| !args.local) {
        return Err(Problem::usage(format!(
            "{option} is for the driver in this process (--local); give it to each `cosmark driver` that may"
        )));
    }
    host::raise_open_files();
    let plain = |c: char| if c.is_ascii_alphanumeric() || c == '-' || c == '_' { c } else { '-' };
    let name = match &args.name {
        Some(name) if !cosmark_cluster::nats::names::is_token(name) => {
            return Err(Problem::usage(format!(
                "--name {name}: give 1 to 64 of A to Z, a to z, 0 to 9, - or _"
            )));
        }
        Some(name) => name.clone(),
        None => host::hostname().chars().map(plain).take(64).collect(),
    };
    let tls = match (&args.tls_cert, &args.tls_key) {
        (Some(cert), Some(key)) => Tls::Given { cert: cert.clone(), key: key.clone() },
        _ if args.tls => Tls::Own,
        _ => Tls::Off,
    };
    let setup = Setup {
        name,
        listen: args.listen,
        tls,
        insecure: args.insecure,
        state,
        archive: args.archive.clone(),
        concurrency: usize::from(args.concurrency),
        catalog: CATALOG,
        environment: host::environment(),
        host: host::record(),
        tell: Arc::new(|text| eprintln!("cosmark: {text}")),
        admit: admitted(&args.admit)?,
        anonymous_loopback: args.anonymous_loopback,
        stores: Arc::new(stores(&args.nodes)?),
        faults: by_agents,
        judges: cosmark_faults::judge_cut,
        studies: studies(args),
        join: None,
    };
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .worker_threads(2)
        .thread_name("service")
        .enable_all()
        .build()
        .map_err(|cause| Problem::ours(format!("cannot start: {cause}")))?;
    if args.local {
        runtime.block_on(async {
            run_local(setup, local(args)?, signals::first()).await.map_err(Problem::from)
        })?;
    } else {
        over_nats(args, setup, &runtime)?;
    }
    runtime.shutdown_timeout(Duration::from_secs(2));
    Ok(Exit::Done)
}

/// Where studies are: where they were said to be, or beside the results.
fn studies(args: &ControllerArgs) -> StudiesSetup {
    let beside = || {
        let parent = args.archive.parent().filter(|parent| !parent.as_os_str().is_empty());
        parent.map_or_else(|| PathBuf::from("."), Path::to_owned)
    };
    let root = args.studies.clone().unwrap_or_else(beside);
    StudiesSetup { root, go_on: args.studies_go_on.then(|| Arc::new(go_on) as GoOn) }
}

/// The driver in this process.
fn local(args: &ControllerArgs) -> Result<LocalSetup, Problem> {
    Ok(LocalSetup {
        threads: args.threads.map_or_else(host::load_threads, usize::from),
        permit: permit(&args.reach, Origin::Outside)?,
        drain: DRAIN,
        measure_ceiling: !args.no_ceiling,
        about: about(),
    })
}

/// A controller whose drivers join over NATS: the one that was named, or one that is started here.
fn over_nats(
    args: &ControllerArgs,
    mut setup: Setup,
    runtime: &tokio::runtime::Runtime,
) -> Result<(), Problem> {
    let name = format!("controller {}", setup.name);
    let mut server = None;
    let state = StateDir::open(&setup.state)?;
    let identity = ClusterKey::open(&state)?.identity()?;
    let key = identity.public();
    let options = match &args.nats {
        Some(url) => {
            let options = nats::options(url, &args.login);
            let join = join_command(&options.shown(), None, key);
            everbatim!("cosmark: drivers join with this command, each with a driver's login: {join}");
            setup.join = Some(join);
            options
        }
        None => {
            let mut wanted = ServerOptions::in_directory(&setup.state.join("nats"));
            (wanted.listen, wanted.port) = (args.nats_listen, args.nats_port);
            let started = LocalServer::start(wanted).map_err(|error| nats::problem(&error))?;
            let options = started.nats_options();
            let login = started.driver_login();
            everbatim!(
                "cosmark: NATS at {}; drivers join with: {}",
                options.shown(),
                join_command(&options.shown(), Some(&login), key)
            );
            let shown = options.shown();
            let port = shown.rsplit(':').next().and_then(|port| port.parse().ok()).unwrap_or_default();
            let listen = SocketAddr::new(args.nats_listen, port);
            let url = format!("nats://{}", reached_at(listen, &setup.host.hostname));
            setup.join = Some(join_command(&url, login.file_name().map(Path::new), key));
            let tell = Arc::clone(&setup.tell);
            let kept = SupervisedServer::keep(started, move |text| tell(text));
            server = Some(kept.map_err(|error| nats::problem(&error))?);
            options
        }
    };
    runtime.block_on(async {
        let bus = nats::connect_by(&options, &name).await?;
        run_with_nats(setup, bus, args.public_url.clone(), signals::first()).await.map_err(Problem::from)
    })?;
    drop(server);
    Ok(())
}

/// The command by which a driver joins.
fn join_command(url: &str, login: Option<&Path>, key: &str) -> String {
    let login = login.map(|file| format!(" --nats-nkey-file {}", file.display())).unwrap_or_default();
    format!("cosmark driver --join {url}{login} --trust {key}")
}

/// What others are told of the driver in this process.
fn about() -> DriverInfo {
    DriverInfo {
        name: "local".to_owned(),
        labels: Vec::new(),
        version: env!("CARGO_PKG_VERSION").to_owned(),
        message_version: MESSAGE_VERSION,
        host: host::record().hostname,
        cores: u32::try_from(host::processors()).unwrap_or(u32::MAX),
        memory_bytes: host::memory_bytes(),
        nics: Vec::new(),
        adaptors: CATALOG.adaptors.iter().map(|def| def.name.to_owned()).collect(),
        ceiling_ops_per_s: None,
        state: DriverState::Idle,
        trouble: None,
        run: None,
        doing: Vec::new(),
        load: None,
        clock_offset_ns: Some(0.0),
        clock_error_ns: Some(0.0),
        last_seen: String::new(),
        forged: 0,
        key: None,
    }
}

/// The machines of the stores whose targets these files are. Secrets of theirs come from this user's environment and files.
fn stores(files: &[std::path::PathBuf]) -> Result<Stores, Problem> {
    let mut stores = Stores::default();
    for file in files {
        let wrong = |why: String| Problem::usage(format!("--nodes {}: {why}", file.display()));
        let mut target = load_target(&CATALOG, file)?;
        resolve_nodes(&CATALOG, &mut target.nodes, &Own).map_err(wrong)?;
        let name = file.file_stem().unwrap_or_default().to_string_lossy();
        stores.add(&CATALOG, &name, &target).map_err(wrong)?;
    }
    Ok(stores)
}

/// Names of drivers and their keys.
fn admitted(pairs: &[String]) -> Result<Vec<(String, String)>, Problem> {
    let one = |pair: &String| {
        let (name, key) = pair.split_once('=').filter(|(name, key)| {
            cosmark_cluster::nats::names::is_token(name) && cosmark_cluster::nats::is_public_key(key)
        })?;
        Some((name.to_owned(), key.to_owned()))
    };
    let read = |pair| {
        one(pair).ok_or_else(|| {
            let remedy = "write NAME=KEY, as `cosmark drivers --json` shows name and key";
            Problem::usage(format!("--admit {pair}: {remedy}"))
        })
    };
    pairs.iter().map(read).collect()
}

/// The configuration of a nats-server, and how to use it.
fn write_nats_config(args: &ControllerArgs, directory: &Path, state: &Path) -> Outcome {
    for (flag, names) in [("--nats-driver", &args.nats_driver), ("--nats-node", &args.nats_node)] {
        if let Some(wrong) = names.iter().find(|name| !cosmark_cluster::nats::names::is_token(name)) {
            return Err(Problem::usage(format!(
                "{flag} {wrong}: give 1 to 64 of A to Z, a to z, 0 to 9, - or _"
            )));
        }
    }
    let identity = ClusterKey::open(&StateDir::open(state)?)?.identity()?;
    std::fs::create_dir_all(directory).map_err(|cause| {
        Problem::place(format!("--write-nats-config {}: {cause}", directory.display()), &cause)
    })?;
    let drivers = args.nats_driver.iter().cloned().map(|name| Role::Driver(Some(name)));
    let agents = args.nats_node.iter().cloned().map(|name| Role::Agent(Some(name)));
    let named: Vec<Role> = drivers.chain(agents).collect();
    let wanted = SocketAddr::new(args.nats_listen, args.nats_port.unwrap_or(4222));
    let written = config_file::write_config(directory, &named, &wanted.to_string())
        .map_err(|error| nats::problem(&error))?;
    let listen = written.listen.as_deref().and_then(|text| text.parse().ok()).unwrap_or(wanted);
    let is_said = !args.nats_listen.is_loopback() || args.nats_port.is_some();
    if is_said && listen != wanted {
        let path = written.path.display();
        everbatim!("cosmark: {path} keeps its line `listen: {listen}`; for {wanted} change it there");
    }
    for gone in &written.gone {
        everbatim!(
            "cosmark: the login that {gone} had until now is taken away, since {gone}.nk was not in {}",
            directory.display()
        );
    }
    let members = Members { directory, state: args.state.as_deref(), listen, key: identity.public() };
    for command in members.commands(&written.path, &written.roles, &host::hostname()) {
        verbatim!("{command}");
    }
    Ok(Exit::Done)
}

/// What the commands that start the members of a NATS have to say.
struct Members<'a> {
    directory: &'a Path,
    /// The state directory, where one was given.
    state: Option<&'a Path>,
    listen: SocketAddr,
    key: &'a str,
}

impl Members<'_> {
    /// How the server, the controller, drivers and agents are started.
    fn commands(&self, config: &Path, roles: &[Role], hostname: &str) -> Vec<String> {
        let url = format!("nats://{}", reached_at(self.listen, hostname));
        let member = |role: &Role| {
            let file = roles::seed_file(self.directory, role);
            let login = format!("--nats-nkey-file {}", file.display());
            let (what, name) = match role {
                Role::Controller => {
                    let state = self.state.map(|state| format!(" --state {}", state.display()));
                    return Some(format!(
                        "cosmark controller --nats {url} {login}{}",
                        state.unwrap_or_default()
                    ));
                }
                Role::Driver(name) => ("driver", name),
                Role::Agent(name) => ("node", name),
                Role::Observer => return None,
            };
            let name = name.as_ref().map_or_else(String::new, |name| format!(" --name {name}"));
            Some(format!("cosmark {what} --join {url}{name} {login} --trust {}", self.key))
        };
        let server = format!("nats-server -c {}", config.display());
        std::iter::once(server).chain(roles.iter().filter_map(member)).collect()
    }
}

fn role_word(role: TokenRole) -> &'static str {
    if role == TokenRole::Operate { "operate" } else { "view" }
}

fn manage_tokens(args: &ControllerArgs, state: &Path) -> Outcome {
    let state = StateDir::open(state)?;
    if let Some(name) = &args.add_token {
        let role = role_of(&args.role).unwrap_or(TokenRole::View);
        if let Some(there) = tokens::list(&state)?.iter().find(|who| who.name == *name) {
            return Err(Problem::usage(format!(
                "there is a token called {name} already (role {}), and its owner would be shut out: give another name, or first \
                 remove it with --remove-token {name}",
                role_word(there.role)
            )));
        }
        verbatim!("{}", tokens::add(&state, name, role)?);
    }
    if let Some(name) = &args.remove_token
        && !tokens::remove(&state, name)?
    {
        return Err(Problem::usage(format!("no token is called {name}; --tokens lists them")));
    }
    if args.tokens {
        for who in tokens::list(&state)? {
            println!("{:<20} {}", who.name, role_word(who.role));
        }
    }
    Ok(Exit::Done)
}

#[cfg(test)]
mod tests {
    use std::fs;

    use clap::{CommandFactory, Parser};

    use super::*;
    use crate::args::Args;

    fn is_understood(command: &str) -> bool {
        Args::try_parse_from(command.split_whitespace()).is_ok()
    }

    #[test]
    fn the_line_that_brings_a_driver_is_one_that_the_command_line_understands() {
        let everywhere = format!("nats://{}", reached_at("0.0.0.0:4333".parse().unwrap(), "lab-7"));
        assert_eq!(everywhere, "nats://lab-7:4333");
        for login in [None, Some(Path::new("driver.nkey"))] {
            let line = join_command(&everywhere, login, "UDXU4RCSJNZOIQHZNWXHXORD");
            assert!(is_understood(&line), "{line}");
        }
        assert!(!is_understood("cosmark driver --nats nats://lab-7:4222"));
    }

    #[test]
    fn printed_commands_name_an_address_that_others_reach_and_the_state_directory_that_was_given() {
        let named = |name: &str| Some(name.to_owned());
        let roles = [
            Role::Controller,
            Role::Observer,
            Role::Driver(named("d1")),
            Role::Driver(None),
            Role::Agent(named("s1")),
        ];
        let commands = |listen: &str, state: Option<&'static str>| {
            let listen = listen.parse().unwrap();
            let members =
                Members { directory: Path::new("n"), state: state.map(Path::new), listen, key: "UDX" };
            members.commands(Path::new("n/nats.conf"), &roles, "lab-7")
        };
        for listen in ["0.0.0.0:4222", "[::]:4222"] {
            let expected = [
                "nats-server -c n/nats.conf",
                "cosmark controller --nats nats://lab-7:4222 --nats-nkey-file n/controller.nk --state /srv/s",
                "cosmark driver --join nats://lab-7:4222 --name d1 --nats-nkey-file n/driver-d1.nk --trust UDX",
                "cosmark driver --join nats://lab-7:4222 --nats-nkey-file n/driver.nk --trust UDX",
                "cosmark node --join nats://lab-7:4222 --name s1 --nats-nkey-file n/agent-s1.nk --trust UDX",
            ];
            let said = commands(listen, Some("/srv/s"));
            assert_eq!(said, expected, "{listen}");
            assert!(said.iter().skip(1).all(|command| is_understood(command)), "{said:?}");
        }
        let said = commands("10.0.0.7:4333", None).join("\n");
        assert!(said.contains("--nats nats://10.0.0.7:4333 ") && !said.contains("--state"), "{said}");
    }

    /// Words behind `cosmark` in the texts of the console.
    fn named_commands(text: &str) -> Vec<&str> {
        let ends = [' ', '`', '"', '<', ',', '.'];
        let words = text.split("cosmark ").skip(1).filter_map(|rest| rest.split(ends).next());
        words.filter(|word| word.bytes().all(|byte| byte.is_ascii_lowercase()) && !word.is_empty()).collect()
    }

    /// Whole commands to copy: what stands between two marks, or ends a text in which it is written out, such as in an error.
    fn whole_commands(text: &str) -> Vec<&str> {
        const MARKS: [(&str, &str); 3] = [("<code>", "</code>"), ("`", "`"), (": ", "\"")];
        let between = |(open, close): (&'static str, &'static str)| {
            let begins = text.match_indices("cosmark ").filter(move |(at, _)| text[..*at].ends_with(open));
            begins.filter_map(move |(at, _)| text[at..].split_once(close).map(|(command, _)| command))
        };
        MARKS.into_iter().flat_map(between).collect()
    }

    /// Options that a page speaks of; what begins with two hyphens elsewhere is a name of CSS.
    fn named_options(text: &str) -> Vec<&str> {
        let begins = text.match_indices("--").filter(|(at, _)| text[..*at].ends_with([' ', '>']));
        let words = begins.map(|(at, sign)| {
            let rest = &text[at + sign.len()..];
            rest.split(|sign: char| !sign.is_ascii_lowercase() && sign != '-').next().unwrap_or_default()
        });
        words.filter(|word| !word.is_empty()).collect()
    }

    #[test]
    fn every_command_that_the_console_names_is_one_of_the_command_line() {
        let known = Args::command();
        let has = |option: &str| {
            let mut all = known.get_subcommands().flat_map(clap::Command::get_arguments);
            all.any(|one| one.get_long() == Some(option))
        };
        let console = Path::new(concat!(env!("CARGO_MANIFEST_DIR"), "/../../console"));
        let mut waiting = vec![console.join("src"), console.join("index.html"), console.join("report.html")];
        let (mut named, mut whole, mut options) = (0, 0, 0);
        while let Some(path) = waiting.pop() {
            if path.is_dir() {
                waiting.extend(fs::read_dir(&path).unwrap().map(|entry| entry.unwrap().path()));
                continue;
            }
            let text = fs::read_to_string(&path).unwrap();
            for line in text.lines().filter(|line| !line.trim_start().starts_with("//")) {
                for word in named_commands(line) {
                    named += 1;
                    assert!(known.find_subcommand(word).is_some(), "{}: cosmark {word}", path.display());
                }
                // Comments of types name commands by halves.
                let is_text = !line.trim_start().starts_with('*');
                for command in whole_commands(line).into_iter().filter(|_| is_text) {
                    whole += 1;
                    assert!(is_understood(command), "{}: {command}", path.display());
                }
                let is_page = path.extension().is_some_and(|extension| extension == "tsx");
                for option in named_options(line).into_iter().filter(|_| is_page) {
                    options += 1;
                    assert!(has(option), "{}: --{option}", path.display());
                }
            }
        }
        assert!(named >= 5 && whole >= 3 && options >= 3, "{named}, {whole} and {options}");
        assert_eq!(named_commands("<code>cosmark drive --join</code>, cosmark list."), ["drive", "list"]);
        let text = "<code>cosmark study --fast</code>, `cosmark list`, (\"make it: cosmark report RUN\")";
        assert_eq!(whole_commands(text), ["cosmark study --fast", "cosmark list", "cosmark report RUN"]);
        assert_eq!(named_options("its --nats-x, <code>--y</code>, var(--z)"), ["nats-x", "y"]);
        assert!(!has("nats-x") && has("nats-listen"));
        assert!(!is_understood("cosmark study slides --fast") && !is_understood("cosmark report"));
    }
}
