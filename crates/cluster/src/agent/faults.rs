//! Faults by agents. The agent's side answers what is asked about them ([`answer`]); the controller's side
//! ([`OverNats`]) has them made, proved and healed step by step, says every other second that its run lives, and looks
//! before a run whether they are to be had.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};
use std::time::{Duration, Instant};

use async_nats::{Message, StatusCode};
use cosmark_faults::{Agents, FaultThere, Injector, Progress, Said, Step, Wish};
use cosmark_wire::agent::{AgentFault, AgentPresence, FaultAnswer, FaultAsk, FaultStep};
use cosmark_wire::message::{decode, encode};
use cosmark_workload::Workload;
use cosmark_workload::model::faults::FaultKind;
use futures_util::{Stream, StreamExt};
use tokio::runtime::Runtime;
use tokio::time::timeout;

use super::follow::joined;
use crate::nats::{Bus, Identity, names};

/// What is printed is cut to so many bytes in an answer.
const MOST_TEXT: usize = 16 << 10;
/// Faults of an agent that a sentence names, and signs of each.
const MOST_NAMED: usize = 20;
const LONGEST_NAME: usize = 80;
/// How often an agent hears that a run lives. It bears several times as much silence.
const ALIVE_EVERY: Duration = Duration::from_secs(2);
/// How often it is asked what a step came to.
const ASK_EVERY: Duration = Duration::from_millis(250);
/// One answer takes no longer.
const ANSWER_WITHIN: Duration = Duration::from_secs(2);
/// A request that may come twice is sent again after this, at most so often within [`ANSWER_WITHIN`]. An agent looks at
/// signatures for a part of each 100 ms: of moments that lie so one falls into it.
const SENT_AGAIN: Duration = Duration::from_millis(230);
const MOST_SENT: u32 = 8;
/// An agent that has not answered for so long will not; it has healed by itself then.
const UNHEARD: Duration = Duration::from_secs(15);
/// One that is first spoken to answers sooner.
const UNHEARD_AT_FIRST: Duration = Duration::from_secs(6);
/// No step is waited for any longer.
const LONGEST_STEP: Duration = Duration::from_secs(600);

/// The agent's answer.
pub(super) fn answer(injector: &Injector, ask: FaultAsk) -> FaultAnswer {
    match ask {
        FaultAsk::Open { run, stage, slot, fault, hold_ms } => {
            let hold = Duration::from_millis(hold_ms);
            match injector.open(Wish { run, stage, slot, fault, hold }) {
                Ok(ticket) => FaultAnswer::Opened { ticket },
                Err(why) => FaultAnswer::Refused(cut(why)),
            }
        }
        FaultAsk::Step { ticket, number, step } => match injector.step(ticket, number, step_of(step)) {
            Progress::Busy => FaultAnswer::Busy,
            Progress::Refused(why) => FaultAnswer::Refused(cut(why)),
            Progress::Done(Said::Yes(text)) => FaultAnswer::Yes(cut(text)),
            Progress::Done(Said::No) => FaultAnswer::No,
            Progress::Done(Said::Failed(why)) => FaultAnswer::Failed(cut(why)),
            Progress::Done(Said::Ended { why, ago }) => FaultAnswer::Ended {
                why: cut(why),
                ago_ms: u64::try_from(ago.as_millis()).unwrap_or(u64::MAX),
            },
        },
        FaultAsk::Alive { ticket } => {
            injector.alive(ticket);
            FaultAnswer::Heard
        }
    }
}

/// What an agent says of its faults to whoever asks who is there.
pub(super) fn presence(injector: Option<&Injector>) -> (Vec<AgentFault>, Option<String>) {
    let Some(injector) = injector else { return (Vec::new(), None) };
    let allowed = injector.allowed().into_iter().map(|(name, longest)| AgentFault {
        name,
        longest_ms: u64::try_from(longest.as_millis()).unwrap_or(u64::MAX),
    });
    let held = injector.held().map(|held| {
        let since_s = held.since.elapsed().as_secs();
        format!("{} for run {} ({}) since {since_s} s", held.fault, held.run, held.slot)
    });
    (allowed.collect(), held)
}

fn cut(mut text: String) -> String {
    let mut end = MOST_TEXT.min(text.len());
    while !text.is_char_boundary(end) {
        end -= 1;
    }
    text.truncate(end);
    text
}

fn step_of(step: FaultStep) -> Step {
    match step {
        FaultStep::Inject => Step::Inject,
        FaultStep::Prove => Step::Prove,
        FaultStep::Heal => Step::Heal,
        FaultStep::Noticed => Step::Noticed,
        FaultStep::Whole => Step::Whole,
    }
}

fn message_of(step: Step) -> FaultStep {
    match step {
        Step::Inject => FaultStep::Inject,
        Step::Prove => FaultStep::Prove,
        Step::Heal => FaultStep::Heal,
        Step::Noticed => FaultStep::Noticed,
        Step::Whole => FaultStep::Whole,
    }
}

/// The faults of a workload that are made by agents: agent, fault, how long it is to be held.
fn wanted(workload: &Workload) -> impl Iterator<Item = (&str, &str, Duration)> {
    let faults = workload.stages.iter().flat_map(|stage| &stage.faults);
    faults.filter_map(|spec| match &spec.kind {
        FaultKind::Agent { agent, fault } => Some((agent.as_str(), fault.as_str(), spec.hold)),
        _ => None,
    })
}

/// Whether every fault by an agent of a workload is to be had now.
///
/// # Errors
/// The first that is not, why, and the remedy.
pub async fn all_there(bus: &Bus, workload: &Workload) -> Result<(), String> {
    if wanted(workload).next().is_none() {
        return Ok(());
    }
    let me = bus.identity().map(Identity::public).unwrap_or("KEY");
    let found = joined(bus).await.map_err(|error| format!("agents are not asked: {error}"))?;
    wanted(workload).try_for_each(|(agent, fault, hold)| {
        let there = found.agents.iter().find(|one| one.name == agent);
        let Some(there) = there else {
            let own = format!("agent {agent} is left out");
            let left_out = found.troubles.iter().find(|text| text.starts_with(&own));
            return Err(left_out.cloned().unwrap_or_else(|| nobody(agent, &found.agents, me)));
        };
        is_allowed(there, fault, hold).map_err(|why| format!("fault {fault} by agent {agent}: {why}"))
    })
}

fn nobody(agent: &str, all: &[AgentPresence], me: &str) -> String {
    let names: Vec<&str> = all.iter().map(|one| one.name.as_str()).collect();
    let names = if names.is_empty() { "none".to_owned() } else { names.join(", ") };
    format!(
        "there is no agent {agent} at this NATS; there are: {names}. Its operator starts it on that machine by `cosmark node --name \
         {agent} --faults FILE --trust {me}`"
    )
}

fn is_allowed(agent: &AgentPresence, fault: &str, hold: Duration) -> Result<(), String> {
    let Some(allowed) = agent.faults.iter().find(|one| one.name == fault) else {
        // Where there are no logins anybody may call himself an agent, and name what he likes.
        let name = |one: &AgentFault| plain(&one.name).chars().take(LONGEST_NAME).collect::<String>();
        let names: Vec<String> = agent.faults.iter().take(MOST_NAMED).map(name).collect();
        let names = if names.is_empty() { "none".to_owned() } else { names.join(", ") };
        return Err(format!(
            "the operator of that machine does not allow it; allowed are: {names} (`cosmark node --faults FILE`)"
        ));
    };
    let longest = Duration::from_millis(allowed.longest_ms);
    if hold > longest {
        return Err(format!("it may be held for {longest:?} at most, and hold: is {hold:?}"));
    }
    Ok(())
}

/// Reaches agents over NATS, with the controller's signature. Its calls block, and are made on threads of no runtime.
pub struct OverNats {
    bus: Bus,
    /// Its timers.
    runtime: Arc<Own>,
    spoken: Mutex<Vec<Spoken>>,
}

/// What is spoken of now: who with, and what of.
type Spoken = (String, Wish, Weak<Mutex<Talk>>);

/// A runtime that may go wherever its last owner does.
struct Own(Option<Runtime>);

impl Own {
    fn wait<F: Future>(&self, future: F) -> Option<F::Output> {
        self.0.as_ref().map(|runtime| runtime.block_on(future))
    }
}

impl Drop for Own {
    fn drop(&mut self) {
        // Also where nothing may block.
        if let Some(runtime) = self.0.take() {
            runtime.shutdown_background();
        }
    }
}

impl OverNats {
    /// Over this connection of a controller.
    ///
    /// # Errors
    /// When the system refuses what it needs to wait.
    pub fn new(bus: Bus) -> Result<Self, String> {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_time().build();
        let runtime = runtime.map_err(|cause| format!("cannot start: {cause}"))?;
        Ok(Self { bus, runtime: Arc::new(Own(Some(runtime))), spoken: Mutex::default() })
    }
}

impl Agents for OverNats {
    fn open(&self, agent: &str, wish: &Wish) -> Result<Box<dyn FaultThere>, String> {
        let mut spoken = self.spoken.lock().unwrap_or_else(PoisonError::into_inner);
        spoken.retain(|(.., talk)| talk.strong_count() > 0);
        let same = spoken.iter().find(|(with, of, _)| with == agent && of == wish);
        if let Some(talk) = same.and_then(|(.., talk)| talk.upgrade()) {
            return Ok(Box::new(There { talk }));
        }
        let mut talk = self.talk(agent, format!("{}/{}/fault", wish.run, wish.slot))?;
        talk.open(wish)?;
        let talk = Arc::new(Mutex::new(talk));
        let weak = Arc::downgrade(&talk);
        spoken.push((agent.to_owned(), wish.clone(), Weak::clone(&weak)));
        let beating = std::thread::Builder::new().name("alive".to_owned()).spawn(move || say_alive(&weak));
        beating.map_err(|cause| format!("no thread could be started: {cause}"))?;
        Ok(Box::new(There { talk }))
    }

    fn became(&self, agent: &str, ticket: u64) -> Result<Said, String> {
        let talk = self.talk(agent, format!("{ticket:016x}/left"))?;
        // The newest step counts, and who asks after what is left does not wait long for who is not there.
        let talk = Talk { ticket, number: u32::MAX - 1, is_lost: true, ..talk };
        let said = There { talk: Arc::new(Mutex::new(talk)) }.step(Step::Heal, &|| true)?;
        said.ok_or_else(|| format!("the answer of agent {agent} was not waited for"))
    }
}

impl OverNats {
    /// What is said to an agent by who asks under this id; nothing was said yet.
    fn talk(&self, agent: &str, id: String) -> Result<Talk, String> {
        if !names::is_token(agent) {
            return Err(format!("`{}` is no name of an agent", plain(agent)));
        }
        let (bus, runtime) = (self.bus.clone(), Arc::clone(&self.runtime));
        let agent = agent.to_owned();
        Ok(Talk { bus, runtime, agent, id, wish: None, ticket: 0, number: 0, is_lost: false })
    }
}

/// Until nobody speaks of the fault any more.
fn say_alive(talk: &Weak<Mutex<Talk>>) {
    loop {
        std::thread::sleep(ALIVE_EVERY);
        let Some(talk) = talk.upgrade() else { return };
        let talk = locked(&talk);
        // What is not heard now is heard by the next one.
        drop(talk.ask(&FaultAsk::Alive { ticket: talk.ticket }));
    }
}

fn locked(talk: &Arc<Mutex<Talk>>) -> MutexGuard<'_, Talk> {
    talk.lock().unwrap_or_else(PoisonError::into_inner)
}

/// What is said to one agent about one fault: one request after another, since the newest counts.
struct Talk {
    bus: Bus,
    runtime: Arc<Own>,
    agent: String,
    /// Who asks.
    id: String,
    /// What for.
    wish: Option<Wish>,
    ticket: u64,
    /// Of the step that was asked for last.
    number: u32,
    /// It has not answered a step: for the next one it is waited less.
    is_lost: bool,
}

impl Talk {
    fn open(&mut self, wish: &Wish) -> Result<(), String> {
        let Wish { run, stage, slot, fault, hold } = wish.clone();
        let hold_ms = u64::try_from(hold.as_millis()).unwrap_or(u64::MAX);
        let ask = FaultAsk::Open { run, stage, slot, fault, hold_ms };
        let until = Instant::now() + UNHEARD_AT_FIRST;
        loop {
            let why = match self.ask(&ask) {
                Ok(FaultAnswer::Opened { ticket }) => {
                    (self.ticket, self.number, self.wish) = (ticket, 0, Some(wish.clone()));
                    return Ok(());
                }
                Ok(FaultAnswer::Refused(why)) => {
                    return Err(format!("agent {}: {}", self.agent, plain(&why)));
                }
                Ok(_) => "it answers something else".to_owned(),
                Err(why) => why,
            };
            if Instant::now() >= until {
                return Err(self.unheard(&why));
            }
            std::thread::sleep(ASK_EVERY);
        }
    }

    fn unheard(&self, why: &str) -> String {
        let me = self.bus.identity().map(Identity::public).unwrap_or_default();
        format!(
            "agent {} does not answer ({why}): does `cosmark node --name {} --faults FILE` run there, reach NATS, and trust the \
             controller {me}?",
            self.agent, self.agent
        )
    }

    /// One request and its answer. A step and a sign of life mean the same however often they come, and are sent until
    /// one of them is answered.
    fn ask(&self, ask: &FaultAsk) -> Result<FaultAnswer, String> {
        let bytes = encode(ask).map_err(|error| error.to_string())?;
        let most = match ask {
            // Each has a ticket of its own.
            FaultAsk::Open { .. } => 1,
            FaultAsk::Step { .. } | FaultAsk::Alive { .. } => MOST_SENT,
        };
        // The time begins where the runtime is.
        let answer = self.runtime.wait(async { timeout(ANSWER_WITHIN, self.answer_to(&bytes, most)).await });
        match answer.ok_or("the run is over")? {
            Ok(Ok(Some(answer))) if answer.status == Some(StatusCode::NO_RESPONDERS) => {
                Err("nobody of that name makes faults".to_owned())
            }
            Ok(Ok(Some(answer))) => decode(&answer.payload).map_err(|error| error.to_string()),
            Ok(Err(why)) => Err(plain(&why)),
            Ok(Ok(None)) | Err(_) => Err("no answer".to_owned()),
        }
    }

    async fn answer_to(&self, ask: &[u8], most: u32) -> Result<Option<Message>, String> {
        let client = self.bus.client();
        let (subject, inbox) = (names::agent(&self.agent, "fault"), client.new_inbox());
        let mut answers = client.subscribe(inbox.clone()).await.map_err(|error| error.to_string())?;
        let send = async || {
            // Signed anew: what an agent has followed it does not follow again.
            let message = self.bus.signed_fault(&self.agent, &self.id, ask)?;
            let sent = client.publish_with_reply(subject.clone(), inbox.clone(), message.into()).await;
            sent.map_err(|error| error.to_string())
        };
        first_answer(most, send, &mut answers).await
    }
}

/// Sends a request until it is answered, so often at most; the answer that came first.
async fn first_answer<T>(
    most: u32,
    mut send: impl AsyncFnMut() -> Result<(), String>,
    answers: &mut (impl Stream<Item = T> + Unpin),
) -> Result<Option<T>, String> {
    for number in 1..=most {
        send().await?;
        let patience = if number < most { SENT_AGAIN } else { ANSWER_WITHIN };
        if let Ok(answer) = timeout(patience, answers.next()).await {
            return Ok(answer);
        }
    }
    Ok(None)
}

/// A fault that is spoken of.
struct There {
    talk: Arc<Mutex<Talk>>,
}

impl FaultThere for There {
    fn ticket(&self) -> Option<u64> {
        Some(locked(&self.talk).ticket)
    }

    fn step(&mut self, step: Step, wanted: &dyn Fn() -> bool) -> Result<Option<Said>, String> {
        let (began, mut heard) = (Instant::now(), Instant::now());
        let (ask, patience) = {
            let mut talk = locked(&self.talk);
            talk.number = talk.number.saturating_add(1);
            let ask = FaultAsk::Step { ticket: talk.ticket, number: talk.number, step: message_of(step) };
            (ask, if talk.is_lost { ANSWER_WITHIN } else { UNHEARD })
        };
        loop {
            // The lock is not held while an answer is waited for between two questions: others say that the run lives.
            let answer = locked(&self.talk).ask(&ask);
            match answer {
                Ok(FaultAnswer::Yes(text)) => return Ok(Some(Said::Yes(text))),
                Ok(FaultAnswer::No) => return Ok(Some(Said::No)),
                Ok(FaultAnswer::Failed(why)) => return Ok(Some(Said::Failed(plain(&why)))),
                Ok(FaultAnswer::Ended { why, ago_ms }) => {
                    let ago = Duration::from_millis(ago_ms);
                    return Ok(Some(Said::Ended { why: plain(&why), ago }));
                }
                Ok(FaultAnswer::Refused(why)) => {
                    let mut talk = locked(&self.talk);
                    // Started again: its next start is asked by the next question, for which nothing is in force any more.
                    if let Some(wish) = talk.wish.clone().filter(|_| step == Step::Whole) {
                        drop(talk.open(&wish));
                    }
                    return Err(format!("agent {}: {}", talk.agent, plain(&why)));
                }
                Ok(_) => {
                    heard = Instant::now();
                    locked(&self.talk).is_lost = false;
                }
                Err(why) if heard.elapsed() >= patience => {
                    let mut talk = locked(&self.talk);
                    talk.is_lost = true;
                    return Err(talk.unheard(&why));
                }
                Err(_) => {}
            }
            if !wanted() {
                return Ok(None);
            }
            if began.elapsed() >= LONGEST_STEP {
                return Err(format!("agent {} was not done in {LONGEST_STEP:?}", locked(&self.talk).agent));
            }
            std::thread::sleep(ASK_EVERY);
        }
    }
}

/// What an agent says is shown on terminals.
fn plain(text: &str) -> String {
    text.replace(char::is_control, " ")
}

#[cfg(test)]
mod tests {
    use super::super::admission::{SPENT, STRETCH};
    use super::*;

    #[test]
    fn what_an_agent_prints_is_cut_at_a_sign_and_steps_come_back_as_they_were() {
        let text = cut("\u{e4}".repeat(MOST_TEXT));
        assert!(text.len() <= MOST_TEXT && text.len() > MOST_TEXT - 4, "{}", text.len());
        assert_eq!(cut("short".to_owned()), "short");
        for step in [Step::Inject, Step::Prove, Step::Heal, Step::Noticed, Step::Whole] {
            assert_eq!(step_of(message_of(step)), step);
        }
    }

    #[tokio::test]
    async fn a_request_that_is_not_heard_is_sent_again_and_the_first_answer_counts() {
        for (most, heard) in [(MOST_SENT, Some(3)), (1, None)] {
            let (to, from) = tokio::sync::mpsc::channel(1);
            let next =
                |mut from: tokio::sync::mpsc::Receiver<i32>| async move { Some((from.recv().await?, from)) };
            let mut answers = Box::pin(futures_util::stream::unfold(from, next));
            let mut sent = 0;
            let began = Instant::now();
            let send = async || {
                sent += 1;
                // The first two are not looked at.
                if sent == 3 {
                    to.send(sent).await.map_err(|error| error.to_string())?;
                }
                Ok::<(), String>(())
            };
            let answered = timeout(ANSWER_WITHIN, first_answer(most, send, &mut answers)).await;
            assert_eq!(answered.ok().and_then(|answer| answer.unwrap()), heard, "{most}");
            assert!(began.elapsed() < Duration::from_secs(20), "{:?}", began.elapsed());
        }
    }

    #[test]
    fn of_the_moments_at_which_a_request_is_sent_one_falls_into_the_time_for_signatures() {
        let [stretch, spent, again] = [STRETCH, SPENT, SENT_AGAIN].map(|time| time.as_millis());
        let last = SENT_AGAIN * (MOST_SENT - 1);
        assert!(last < ANSWER_WITHIN, "{last:?}");
        for begins in 0..stretch {
            let is_heard = |number: u128| (number * again + stretch - begins) % stretch < spent;
            assert!((0..u128::from(MOST_SENT)).any(is_heard), "{begins}");
            // One alone is not.
            assert_eq!(is_heard(0), begins == 0 || begins > stretch - spent, "{begins}");
        }
    }

    #[test]
    fn what_is_not_to_be_had_is_said_with_the_remedy() {
        let faults = vec![AgentFault { name: "hangs".to_owned(), longest_ms: 60_000 }];
        let agent = AgentPresence {
            name: "s1".to_owned(),
            role: "storage".to_owned(),
            message_version: cosmark_wire::MESSAGE_VERSION,
            version: String::new(),
            host: String::new(),
            life: 1,
            trusts: Vec::new(),
            faults,
            held: None,
        };
        assert_eq!(is_allowed(&agent, "hangs", Duration::from_secs(60)), Ok(()));
        let why = is_allowed(&agent, "hangs", Duration::from_secs(61)).unwrap_err();
        assert!(why.contains("for 60s at most"), "{why}");
        let why = is_allowed(&agent, "rm", Duration::from_secs(1)).unwrap_err();
        assert!(why.contains("allowed are: hangs") && why.contains("cosmark node --faults"), "{why}");
        let hostile = AgentFault { name: format!("\u{1b}[2J{}", "x".repeat(5000)), longest_ms: 1 };
        let many = AgentPresence { faults: vec![hostile; 1000], ..agent.clone() };
        let why = is_allowed(&many, "rm", Duration::from_secs(1)).unwrap_err();
        assert!(!why.contains(char::is_control) && why.len() < 2500, "{} {why}", why.len());
        let why = nobody("s2", &[agent], "UABC");
        assert!(
            why.contains("there are: s1") && why.contains("--name s2 --faults FILE --trust UABC"),
            "{why}"
        );
    }
}
