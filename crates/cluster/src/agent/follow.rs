//! The controller's side: which agents there are, and what each of them reads while a run goes on.

use std::collections::{BTreeMap, VecDeque};
use std::time::Duration;

use async_nats::StatusCode;
use cosmark_metrics::nodes::quantity::QUANTITIES;
use cosmark_metrics::nodes::reading::Reading;
use cosmark_nodes::collect::{News, now_ns};
use cosmark_nodes::watch::Agent;
use cosmark_wire::MESSAGE_VERSION;
use cosmark_wire::agent::{AgentPresence, AgentReading, LONGEST_LOOK_S, Look, LookAnswer};
use cosmark_wire::message::{decode, encode};
use cosmark_workload::model::faults::MOST_FAULTS;
use futures_util::StreamExt;
use tokio::sync::mpsc::Sender;
use tokio::time::{Instant, timeout, timeout_at};

use super::at;
use crate::nats::{Bus, BusError, Identity, names};

/// More agents than these are left out.
const MOST_AGENTS: usize = 256;
/// How long it is waited for agents to say that they are there.
const PATIENCE: Duration = Duration::from_millis(800);
/// An agent is asked again this often, and its clock compared.
const RENEW_EVERY: Duration = Duration::from_secs(5);
const ANSWER_WITHIN: Duration = Duration::from_secs(2);
/// An agent of which nothing came for so long is silent.
const SILENT: Duration = Duration::from_secs(5);
/// More of a sentence of an agent is not shown.
const LONGEST_SENTENCE: usize = 400;
/// Comparisons of clocks of which the best counts.
const COMPARED: usize = 12;
/// Two that lie further apart than their ways and this are of a clock that was set in between: none drifts so far in a
/// minute.
const DRIFT_NS: i64 = 50_000_000;
/// A reading from the future, or one from so long ago, may be by a clock that was set since it was compared.
const FUTURE_NS: u64 = 2_000_000_000;
const LONG_AGO_NS: u64 = 10_000_000_000;
/// It is compared anew after this.
const SOON: Duration = Duration::from_millis(500);

/// The agents of a NATS.
#[derive(Debug, Default)]
pub struct Joined {
    /// By name.
    pub agents: Vec<AgentPresence>,
    /// What keeps others from being used, one sentence each.
    pub troubles: Vec<String>,
}

/// Whoever says so within this time is there.
pub(super) async fn who(bus: &Bus, patience: Duration) -> Result<Vec<AgentPresence>, BusError> {
    let client = bus.client();
    let inbox = client.new_inbox();
    let mut answers =
        client.subscribe(inbox.clone()).await.map_err(|cause| bus.problem(cause.to_string()))?;
    let asked = client.publish_with_reply(names::WHO, inbox, Vec::new().into()).await;
    asked.map_err(|cause| bus.problem(cause.to_string()))?;
    let until = Instant::now() + patience;
    let mut found = Vec::new();
    while found.len() < 2 * MOST_AGENTS
        && let Ok(Some(message)) = timeout_at(until, answers.next()).await
    {
        if message.status == Some(StatusCode::NO_RESPONDERS) {
            break;
        }
        found.extend(decode::<AgentPresence>(&message.payload).ok());
    }
    Ok(found)
}

/// All agents that are there, whomever they obey, by name.
///
/// # Errors
/// When NATS does not take the question now.
pub async fn everybody(bus: &Bus) -> Result<Vec<AgentPresence>, BusError> {
    let mut found = who(bus, PATIENCE).await?;
    // Names are shown: what is none is nobody's.
    found.retain(|one| names::is_token(&one.name) && one.faults.len() <= MOST_FAULTS);
    found.sort_by(|a, b| a.name.cmp(&b.name));
    Ok(found)
}

/// The agents that are there and obey this controller.
///
/// # Errors
/// When NATS does not take the question now.
pub async fn joined(bus: &Bus) -> Result<Joined, BusError> {
    let mut by_name: BTreeMap<String, Vec<AgentPresence>> = BTreeMap::new();
    for found in who(bus, PATIENCE).await? {
        // Names and roles are shown: what is none is nobody's.
        if names::is_token(&found.name) && names::is_token(&found.role) {
            by_name.entry(found.name.clone()).or_default().push(found);
        }
    }
    let me = bus.identity().map(Identity::public).unwrap_or_default().to_owned();
    let mut joined = Joined::default();
    for (name, mut found) in by_name {
        let (Some(one), twice) = (found.pop(), !found.is_empty()) else { continue };
        let trouble = trouble(&one, twice, &me, joined.agents.len());
        match trouble {
            Some(why) => joined.troubles.push(format!("agent {name} is left out: {why}")),
            None => joined.agents.push(one),
        }
    }
    Ok(joined)
}

/// Why an agent is left out. `twice`: of another of its name; `there`: so many that are not.
fn trouble(one: &AgentPresence, twice: bool, me: &str, there: usize) -> Option<String> {
    if twice {
        Some("two of that name are there: give each its own --name".to_owned())
    } else if one.message_version != MESSAGE_VERSION {
        Some("it is of another version of Cosmark: install the same one".to_owned())
    } else if !one.trusts.is_empty() && !one.trusts.iter().any(|key| key == me) {
        Some(format!("it does not obey this controller: start it with `--trust {me}`"))
    } else if one.faults.len() > MOST_FAULTS {
        Some(format!("it names {} faults: at most {MOST_FAULTS} of an agent", one.faults.len()))
    } else if there >= MOST_AGENTS {
        Some(format!("there are more than {MOST_AGENTS}"))
    } else {
        None
    }
}

/// The agents of this NATS as machines to look at for a run, and a sentence for each that is left out. `taken` are the names of
/// machines that are looked at in another way.
pub async fn agents(bus: &Bus, run: &str, taken: &[String]) -> (Vec<Agent>, Vec<String>) {
    let Joined { agents, mut troubles } = match joined(bus).await {
        Ok(joined) => joined,
        Err(error) => return (Vec::new(), vec![format!("agents are not asked: {error}")]),
    };
    let mut found = Vec::new();
    for presence in agents {
        let AgentPresence { name, role, .. } = &presence;
        if taken.contains(name) {
            troubles.push(format!("agent {name} is left out: `nodes:` has a machine of that name"));
            continue;
        }
        let (bus, run, who) = (bus.clone(), run.to_owned(), presence.clone());
        found.push(Agent {
            name: name.clone(),
            role: role.clone(),
            collect: Box::new(move |to| Box::pin(follow(bus, run, who, to))),
        });
    }
    (found, troubles)
}

/// The clock of an agent compared with this one: the fastest answer of the last ones says most.
#[derive(Debug, Default)]
struct Clock(VecDeque<(i64, i64)>);

impl Clock {
    fn compare(&mut self, sent_ns: i64, said_ns: i64, received_ns: i64) {
        let round_ns = received_ns.saturating_sub(sent_ns);
        let ahead_ns = said_ns.saturating_sub(sent_ns.saturating_add(round_ns / 2));
        let was_set = |(known_round_ns, known_ns): &(i64, i64)| {
            let apart_ns = ahead_ns.saturating_sub(*known_ns).saturating_abs();
            apart_ns > (round_ns / 2).saturating_add(known_round_ns / 2).saturating_add(DRIFT_NS)
        };
        if self.0.iter().any(was_set) {
            self.0.clear();
        }
        self.0.push_back((round_ns, ahead_ns));
        if self.0.len() > COMPARED {
            self.0.pop_front();
        }
    }

    fn ahead_ns(&self) -> Option<i64> {
        self.0.iter().min_by_key(|(round_ns, _)| *round_ns).map(|(_, ahead_ns)| *ahead_ns)
    }
}

/// Asks an agent again and again, and hands on what it reads, until nobody listens.
async fn follow(bus: Bus, run: String, agent: AgentPresence, to: Sender<News>) {
    let subject = names::agent(&agent.name, "reading");
    let Ok(mut readings) = bus.client().subscribe(subject).await else {
        let why = "NATS does not let this controller hear its agent".to_owned();
        return drop(to.send(News::Lost(why)).await);
    };
    let mut clock = Clock::default();
    let mut life = agent.life;
    let mut renew_at = Instant::now();
    let mut silent_at = Some(Instant::now() + SILENT);
    loop {
        tokio::select! {
            () = to.closed() => return,
            () = at(Some(renew_at)) => {
                renew_at = Instant::now() + RENEW_EVERY;
                let Some(answer) = ask(&bus, &run, &agent.name, &mut clock).await else { continue };
                life = answer.life;
                let ahead = clock.ahead_ns().map(News::Ahead);
                if let Some(ahead) = ahead && to.send(ahead).await.is_err() {
                    return;
                }
            }
            () = at(silent_at) => {
                silent_at = None;
                let why = format!(
                    "its agent said nothing for {} s; does `cosmark node --name {}` run there, and reach NATS?",
                    SILENT.as_secs(),
                    agent.name
                );
                if to.send(News::Lost(why)).await.is_err() {
                    return;
                }
            }
            Some(message) = readings.next() => {
                let read = decode::<AgentReading>(&message.payload).ok().filter(|read| read.life == life);
                let (Some(read), Some(ahead_ns)) = (read, clock.ahead_ns()) else { continue };
                silent_at = Some(Instant::now() + SILENT);
                let (reading, now_ns) = (reading_of(&read, ahead_ns), now_ns());
                if reading.at_ns > now_ns.saturating_add(FUTURE_NS) {
                    renew_at = renew_at.min(Instant::now() + SOON);
                    continue;
                }
                if reading.at_ns.saturating_add(LONG_AGO_NS) < now_ns {
                    renew_at = renew_at.min(Instant::now() + SOON);
                }
                let missing = read.missing.as_deref().map(shown);
                for news in [News::Reading(reading), News::Missing(missing)] {
                    if to.send(news).await.is_err() {
                        return;
                    }
                }
            }
            else => return,
        }
    }
}

/// One request, and its answer if it comes.
async fn ask(bus: &Bus, run: &str, agent: &str, clock: &mut Clock) -> Option<LookAnswer> {
    let plain = encode(&Look { run: run.to_owned(), for_s: LONGEST_LOOK_S }).ok()?;
    let message = bus.signed_look(agent, run, &plain).ok()?;
    let sent_ns = now_ns().cast_signed();
    let asked = bus.client().request(names::agent(agent, "look"), message.into());
    let answer = timeout(ANSWER_WITHIN, asked).await.ok()?.ok()?;
    let received_ns = now_ns().cast_signed();
    let answer: LookAnswer = decode(&answer.payload).ok()?;
    clock.compare(sent_ns, answer.unix_ns, received_ns);
    Some(answer)
}

/// What another machine says, as far as it can be shown.
fn shown(text: &str) -> String {
    text.chars().filter(|sign| !sign.is_control()).take(LONGEST_SENTENCE).collect()
}

/// On the clock of the controller. What has a name that nobody knows is of a newer agent.
fn reading_of(read: &AgentReading, ahead_ns: i64) -> Reading {
    let at_ns = u64::try_from(read.unix_ns.saturating_sub(ahead_ns)).unwrap_or(0);
    let mut reading = Reading { at_ns, samples: Vec::new() };
    for (id, unit, value) in &read.samples {
        let plain = unit.len() <= 200 && !unit.chars().any(char::is_control);
        if let Some(quantity) = QUANTITIES.iter().find(|quantity| quantity.id == id).filter(|_| plain) {
            reading.add(quantity, unit, *value);
        }
    }
    reading
}

#[cfg(test)]
mod tests {
    use cosmark_wire::agent::AgentFault;

    use super::*;

    #[test]
    fn the_fastest_comparison_says_how_far_the_clock_is_ahead() {
        let mut clock = Clock::default();
        assert_eq!(clock.ahead_ns(), None);
        clock.compare(1_000, 2_001_000, 3_000);
        // A slow answer lies: it was held up on its way back.
        clock.compare(10_000, 2_010_500, 900_000);
        assert_eq!(clock.ahead_ns(), Some(1_999_000));
        (0..20).for_each(|at| clock.compare(at, at - 500, at));
        assert_eq!(clock.ahead_ns(), Some(-500), "old comparisons go: clocks drift");
    }

    #[test]
    fn a_clock_that_was_set_is_compared_anew() {
        let mut clock = Clock::default();
        clock.compare(1_000_000, 1_500_000, 2_000_000);
        assert_eq!(clock.ahead_ns(), Some(0));
        let hour_ns = 3_600_000_000_000;
        // By a slower answer than those of before.
        clock.compare(10_000_000, hour_ns + 15_000_000, 20_000_000);
        assert_eq!(clock.ahead_ns(), Some(hour_ns));
        clock.compare(30_000_000, 130_000_000, 50_000_000);
        assert_eq!(clock.ahead_ns(), Some(90_000_000));
        // What may be the way of an answer says nothing.
        clock.compare(60_000_000, 140_000_000, 160_000_000);
        assert_eq!(clock.ahead_ns(), Some(90_000_000));
        clock.compare(0, i64::MAX, i64::MAX);
        clock.compare(i64::MIN, i64::MIN, i64::MAX);
    }

    #[test]
    fn an_agent_that_names_more_faults_than_a_file_of_it_may_have_is_left_out() {
        let fault = AgentFault { name: "stop".to_owned(), longest_ms: 1 };
        let of = |faults: usize| AgentPresence {
            name: "a".to_owned(),
            role: "storage".to_owned(),
            message_version: MESSAGE_VERSION,
            version: String::new(),
            host: String::new(),
            life: 1,
            trusts: Vec::new(),
            faults: vec![fault.clone(); faults],
            held: None,
        };
        let me = "";
        assert_eq!(trouble(&of(MOST_FAULTS), false, me, 0), None);
        let why = trouble(&of(MOST_FAULTS + 1), false, me, 0).unwrap();
        assert_eq!(why, "it names 51 faults: at most 50 of an agent");
        assert!(trouble(&of(0), true, me, 0).is_some() && trouble(&of(0), false, me, MOST_AGENTS).is_some());
    }

    #[test]
    fn readings_come_to_our_clock_and_what_is_none_is_left_out() {
        let samples =
            [("cpu_busy_s", "cpu0", 2.5), ("unheard_of", "", 1.0), ("cpu_busy_s", "a\u{1b}[31m", 1.0)];
        let samples = samples.map(|(id, unit, value)| (id.to_owned(), unit.to_owned(), value)).to_vec();
        let read = AgentReading { life: 1, unix_ns: 5_000_000_000, samples, left_out: 0, missing: None };
        let reading = reading_of(&read, 2_000_000_000);
        assert_eq!(reading.at_ns, 3_000_000_000);
        assert_eq!(reading.samples.len(), 1, "{reading:?}");
        assert_eq!(shown(&format!("osd.1\u{1b}[31m{}", "x".repeat(9_000))).chars().count(), LONGEST_SENTENCE);
        assert_eq!(reading_of(&AgentReading { unix_ns: i64::MIN, ..read }, i64::MAX).at_ns, 0);
    }
}
