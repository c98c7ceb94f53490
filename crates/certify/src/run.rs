//! A certification from its first request to its last: container, questions one after the other within the time there is, what is
//! left is removed.

use std::collections::BTreeSet;
use std::future::Future;
use std::rc::Rc;
use std::sync::Arc;
use std::time::{Duration, Instant};

use cosmark_adaptor_api::{Adaptor, Asker, Capability, Client, Marks, ObjectName, Protocol, Session, Stars};

use crate::certificate::{Answer, Asked, Certificate, SCHEMA, Target};
use crate::questions::{Of, QUESTIONS, Question, swift_versions, unlocking, versions};
use crate::request::{Finding, Request, says_busy};
use crate::restart::Restart;
use crate::room::{LITTLE_PATIENCE, PATIENCE, Room, within};

/// The whole, in full and quickly; what was not asked by then is not asked.
const MOST: [Duration; 2] = [Duration::from_secs(14 * 60), Duration::from_secs(5 * 60)];
/// Questions in a row to which no request had an answer: the store is not asked any more.
const MOST_SILENT: usize = 8;
/// What is left behind is removed within this.
const CLEANING: Duration = Duration::from_secs(60);
/// What a listing shows too late is looked for again after this.
const LAG: Duration = Duration::from_secs(2);
/// By so many connections side by side.
const CLEANERS: usize = 8;
/// The question that is asked of a store which may be busy when it comes back.
const RESTARTED: &str = "any.restart";
/// Names of what stays that are told.
const MOST_NAMED: usize = 5;

/// What is to be asked.
pub struct Certifying {
    /// The store.
    pub adaptor: Arc<dyn Adaptor>,
    /// Its login.
    pub session: Arc<Session>,
    /// What the page says of it; the server's name is found out.
    pub target: Target,
    /// A container that is there already; only names below a prefix of this certification's own are touched. Without one a container
    /// is made and removed.
    pub container: Option<String>,
    /// A word that nobody else has, for names: small letters and digits.
    pub id: String,
    /// Leave out what moves many bytes or takes long.
    pub quick: bool,
    /// Ask only questions whose ids begin with one of these; empty: all.
    pub only: Vec<String>,
    /// Restarts the store, if its operator allows that.
    pub restart: Option<Rc<dyn Restart>>,
    /// Texts that no page may show.
    pub hidden: Stars,
    /// Version of Cosmark.
    pub version: String,
    /// When it begins, RFC 3339.
    pub began: String,
}

/// How far it is.
pub struct Progress<'a> {
    /// Questions answered.
    pub done: usize,
    /// Questions in all.
    pub of: usize,
    /// The last answer.
    pub last: &'a Asked,
}

impl Certifying {
    /// The questions that are put to this store.
    ///
    /// # Errors
    /// One sentence, when the adaptor cannot send requests with this session.
    pub fn questions(&self) -> Result<Vec<&'static Question>, String> {
        let protocol = self.protocol()?;
        let capability = self.adaptor.capability();
        let fits = |question: &&Question| match question.of {
            Of::Any(needs) => capability.has(needs),
            Of::Only(own) => protocol == Some(own),
        };
        let wanted = |question: &&Question| {
            self.only.is_empty() || self.only.iter().any(|begin| question.id.starts_with(begin.as_str()))
        };
        Ok(QUESTIONS.iter().copied().flatten().filter(fits).filter(wanted).collect())
    }

    fn protocol(&self) -> Result<Option<Protocol>, String> {
        let asker = self.adaptor.asker(&self.session).map_err(|error| error.to_string())?;
        Ok(asker.as_deref().map(Asker::protocol))
    }

    /// Asks everything. `report_to` hears of each answer; what `ended` gives when it comes first is why it ends early.
    ///
    /// # Errors
    /// One sentence: the store cannot be reached, refuses the login, no container can be made, or the given one is not there or
    /// takes no object. Nothing is left then.
    pub async fn run(
        &self,
        report_to: &mut dyn FnMut(Progress<'_>),
        ended: impl Future<Output = String>,
    ) -> Result<Certificate, String> {
        let began = Instant::now();
        let questions = self.questions()?;
        let mut room = self.open().await?;
        let mut asked = Vec::with_capacity(questions.len());
        let mut ended = std::pin::pin!(ended);
        let mut early = tokio::select! {
            biased;
            why = &mut ended => Some(why),
            why = self.ask_all(&mut room, &questions, &mut asked, began, report_to) => why,
        };
        // What was being asked and what was not.
        for question in &questions[asked.len()..] {
            let why = early.get_or_insert_with(|| "it ended".to_owned());
            let finding = Finding::not_asked(why.clone());
            asked.push(answered(question, finding, &mut room, Duration::ZERO));
        }
        let left_behind = self.clean(&mut room).await;
        let mut consistency = room.consistency.take();
        let history = consistency.as_mut().map(|found| std::mem::take(&mut found.history));
        for text in consistency.iter_mut().flat_map(|found| found.failed_why.iter_mut()) {
            *text = room.without_secrets(std::mem::take(text));
        }
        let mut target = self.target.clone();
        target.server = room.server.take();
        Ok(Certificate {
            schema: SCHEMA,
            cosmark: self.version.clone(),
            target,
            began: self.began.clone(),
            took_s: (began.elapsed().as_secs_f64() * 10.0).round() / 10.0,
            quick: self.quick,
            ended_early: early,
            counts: Certificate::count(&asked),
            left_behind,
            consistency,
            questions: asked,
            history: history.unwrap_or_default(),
        })
    }

    /// Gives why it did not come to its end.
    async fn ask_all(
        &self,
        room: &mut Room,
        questions: &[&'static Question],
        asked: &mut Vec<Asked>,
        began: Instant,
        report_to: &mut dyn FnMut(Progress<'_>),
    ) -> Option<String> {
        let most = MOST[usize::from(self.quick)];
        let mut silent = 0;
        for (number, question) in questions.iter().enumerate() {
            let left = most.saturating_sub(began.elapsed());
            if left.is_zero() {
                return Some(format!("the {} minutes for all questions were over", most.as_secs() / 60));
            }
            if silent >= MOST_SILENT {
                return Some(format!(
                    "the store has not answered one request of the last {MOST_SILENT} questions"
                ));
            }
            room.begin(number, if silent > 1 { LITTLE_PATIENCE } else { PATIENCE });
            let since = Instant::now();
            let finding = self.ask(room, question, left).await;
            let is_silent = room.requests > 0 && room.unanswered == room.requests;
            silent = if is_silent { silent + 1 } else { 0 };
            asked.push(answered(question, finding, room, since.elapsed()));
            if let Some(last) = asked.last() {
                report_to(Progress { done: asked.len(), of: questions.len(), last });
            }
        }
        None
    }

    async fn ask(&self, room: &mut Room, question: &Question, left: Duration) -> Finding {
        if question.is_slow && self.quick {
            return Finding::not_asked("left out when asked quickly");
        }
        let most = time_of(question, left);
        match tokio::time::timeout(most, (question.ask)(room)).await {
            Ok(Ok(finding) | Err(finding)) => finding,
            // It had not the time that it may take.
            Err(_) if most < question.most => {
                Finding::not_asked("the time for all questions was over before it had ended")
            }
            Err(_) => Finding::no(format!("it has not ended within {} s", most.as_secs())),
        }
    }

    async fn open(&self) -> Result<Room, String> {
        let container = self.container.clone().unwrap_or_else(|| format!("cosmark-certify-{}", self.id));
        let names = (container, self.id.clone());
        let mut hidden = self.hidden.clone();
        if let Some(token) = &self.session.token {
            hidden.add(token.expose().to_owned());
        }
        let mut room = Room::new(
            Arc::clone(&self.adaptor),
            Arc::clone(&self.session),
            names,
            hidden,
            self.restart.clone(),
        )
        .map_err(|error| error.to_string())?;
        room.is_quick = self.quick;
        let mut marks = Marks::default();
        let probed = within(PATIENCE, room.client.probe(&mut marks)).await;
        probed.map_err(|error| room.without_secrets(error.to_string()))?;
        if self.container.is_none() && self.adaptor.capability().has(Capability::CONTAINERS) {
            let made = within(PATIENCE * 3, room.client.create_container(&room.container, &mut marks)).await;
            made.map_err(|error| {
                room.without_secrets(format!("the container {} cannot be made: {error}", room.container))
            })?;
            room.owns_container = true;
        } else if self.container.is_some() {
            can_be_written(&mut room).await?;
        }
        Ok(room)
    }

    /// Removes what was written; says what stays.
    async fn clean(&self, room: &mut Room) -> Vec<String> {
        room.patience = PATIENCE;
        let Ok(mut client) = self.adaptor.client(&self.session) else {
            return vec!["nothing could be removed: no connection".to_owned()];
        };
        let mut places = vec![format!("{}/{}", room.container, room.prefix)];
        places.extend(room.versions_in.iter().chain(&room.locks_in).cloned());
        let strays: BTreeSet<&String> = room.strays.iter().map(|(container, _)| container).collect();
        places.extend(strays.into_iter().cloned());
        let cleaned = tokio::time::timeout(CLEANING, self.clean_all(room, client.as_mut())).await;
        cleaned.unwrap_or_else(|_| {
            let places = places.join(" and in ");
            vec![format!("not everything below {places} was removed within {} s", CLEANING.as_secs())]
        })
    }

    async fn clean_all(&self, room: &mut Room, client: &mut dyn Client) -> Vec<String> {
        // What may be open to everybody goes first: the time may not suffice for all.
        let mut strays = std::mem::take(&mut room.strays);
        let still = remove_strays(&strays, client).await;
        strays.retain(|(container, _)| still.iter().any(|(other, _)| other == container));
        // Holds have no end of their own, so they go before what takes long, too.
        if let Some(container) = room.locks_in.clone() {
            drop(unlocking::lift(room, &container).await);
        }
        for (key, upload) in std::mem::take(&mut room.uploads) {
            // Most are completed or given up already; what is left is told by the container that is not empty.
            let request = Request::delete(key).query("uploadId", upload);
            drop(room.send(request).await);
        }
        let mut left = self.remove_written(room).await;
        let mut stays = Vec::new();
        if let Some(container) = room.versions_in.take() {
            stays.extend(remove_versions(room, client, &container).await);
        }
        // Where listings lag, what is in a container is gone a moment later.
        let still = remove_strays(&strays, client).await.into_iter();
        stays.extend(still.map(|(container, why)| format!("the container {container}: {why}")));
        if room.owns_container {
            match self.remove_own(room, client).await {
                Some(why) => stays.push(why),
                // Whatever could not be removed at first has gone since.
                None => left.clear(),
            }
        }
        // Last: it may be that the end of a lock has to be waited for.
        if let Some(container) = room.locks_in.take() {
            stays.extend(unlocking::remove_all(room, &container).await);
            let gone = within(PATIENCE, client.delete_container(&container, &mut Marks::default())).await;
            let error = gone.err().filter(|error| error.status() != Some(404));
            stays.extend(error.map(|error| format!("the container {container}: {}", error.message())));
        }
        left.into_iter().chain(stays).map(|text| room.without_secrets(text)).collect()
    }

    /// Removes what was written, and what else a listing shows; says what stays.
    async fn remove_written(&self, room: &mut Room) -> Vec<String> {
        let mut names: BTreeSet<String> = std::mem::take(&mut room.written).into_iter().collect();
        if self.adaptor.capability().has(Capability::LIST) {
            let prefix = room.prefix.clone();
            names.extend(room.names(&prefix, None, 50).await.unwrap_or_default());
        }
        // One question puts a slash before it.
        names.retain(|name| name.strip_prefix('/').unwrap_or(name).starts_with(&room.prefix));
        let names: Vec<String> = names.into_iter().collect();
        self.remove(room, &names).await
    }

    /// Removes the certification's own container; says why it stays. A write that was on its way when all ended early arrives
    /// behind the listing, and one that a listing shows late is not seen in it.
    async fn remove_own(&self, room: &mut Room, client: &mut dyn Client) -> Option<String> {
        let mut pauses = [Duration::ZERO, LAG].into_iter();
        loop {
            let gone =
                within(PATIENCE, client.delete_container(&room.container, &mut Marks::default())).await;
            let error = gone.err()?;
            let Some(pause) = pauses.next().filter(|_| error.status() == Some(409)) else {
                return Some(format!("the container {}: {}", room.container, error.message()));
            };
            tokio::time::sleep(pause).await;
            // What stays of these is told by the container that is not empty.
            drop(self.remove_written(room).await);
        }
    }
}

/// Whether the container that was given takes an object: where it is not there or is another's, each answer would be held against
/// the store.
async fn can_be_written(room: &mut Room) -> Result<(), String> {
    let key = room.key("begin");
    match room.put(&key, b"begin").await {
        Err(error) if matches!(error.status(), Some(401 | 403 | 404 | 409)) => Err(format!(
            "the container {} takes no object: {}; make it before, or leave it out: then one is made and removed",
            room.container,
            room.without_secrets(error.message().to_owned())
        )),
        Ok(()) => {
            // Whatever stays is removed at the end.
            drop(room.remove(&key).await);
            Ok(())
        }
        // What else went wrong is for the questions to find.
        Err(_) => Ok(()),
    }
}

/// Removes a container with every version in it; says what stays. Where listings lag, some are not seen at first.
async fn remove_versions(room: &mut Room, client: &mut dyn Client, container: &str) -> Vec<String> {
    let mut stays = Vec::new();
    for pause in [Duration::ZERO, LAG] {
        tokio::time::sleep(pause).await;
        let left = match room.protocol() {
            Some(Protocol::Swift) => swift_versions::remove_all(room, container).await,
            _ => versions::remove_all(room, container).await,
        };
        let gone = within(PATIENCE, client.delete_container(container, &mut Marks::default())).await;
        let error = gone.err().filter(|error| error.status() != Some(404));
        let error = error.map(|error| format!("the container {container}: {}", error.message()));
        stays = left.into_iter().chain(error).collect();
        if stays.is_empty() {
            break;
        }
    }
    stays
}

/// Removes containers beside the certification's own with what is in them; their names hold a word that nobody else
/// has. Gives those that are still there, and why.
async fn remove_strays(strays: &[(String, String)], client: &mut dyn Client) -> Vec<(String, String)> {
    for (container, object) in strays.iter().filter(|(_, object)| !object.is_empty()) {
        let name = ObjectName { container, object };
        drop(within(PATIENCE, client.delete(name, &mut Marks::default())).await);
    }
    let containers: BTreeSet<&str> = strays.iter().map(|(container, _)| container.as_str()).collect();
    let mut still = Vec::new();
    for container in containers {
        let gone = within(PATIENCE, client.delete_container(container, &mut Marks::default())).await;
        let error = gone.err().filter(|error| error.status() != Some(404));
        still.extend(error.map(|error| (container.to_owned(), error.message().to_owned())));
    }
    still
}

impl Certifying {
    /// Removes these objects; says which of them are still there, the first few.
    async fn remove(&self, room: &Room, names: &[String]) -> Vec<String> {
        let clients: Vec<Box<dyn Client>> =
            (0..CLEANERS).filter_map(|_| self.adaptor.client(&self.session).ok()).collect();
        if clients.is_empty() && !names.is_empty() {
            return vec![format!("{} objects in {}: no connection", names.len(), room.container)];
        }
        let count = clients.len().max(1);
        let lanes = clients.into_iter().enumerate().map(|(lane, mut client)| async move {
            let mut stays = Vec::new();
            for name in names.iter().skip(lane).step_by(count) {
                let object = ObjectName { container: &room.container, object: name };
                let Err(error) = within(PATIENCE, client.delete(object, &mut Marks::default())).await else {
                    continue;
                };
                // A name that was refused is refused again.
                let read = within(PATIENCE, client.get(object, None, None, &mut Marks::default())).await;
                let is_there =
                    read.map_or_else(|error| error.status().is_none_or(|status| status >= 500), |_| true);
                if is_there && stays.len() < MOST_NAMED {
                    stays.push(format!("{}/{}: {}", room.container, room.short(name), error.message()));
                }
            }
            stays
        });
        let mut stays: Vec<String> =
            futures_util::future::join_all(lanes).await.into_iter().flatten().collect();
        stays.truncate(MOST_NAMED);
        stays
    }
}

/// How long a question may take where so much time is left for all of them. A restart that has begun is not cut: who
/// cuts it leaves a store that is down.
fn time_of(question: &Question, left: Duration) -> Duration {
    if question.id == RESTARTED { question.most } else { question.most.min(left) }
}

fn answered(question: &Question, finding: Finding, room: &mut Room, took: Duration) -> Asked {
    // A secret that is cut is not found any more.
    let mut saw: String = room.without_secrets(finding.saw).chars().take(400).collect();
    let mut answer = finding.answer;
    // Who is busy has answered nothing yet; how long a restart may take is a question of its own.
    if answer == Answer::No && question.id != RESTARTED && says_busy(&saw) {
        answer = Answer::NotAsked;
        saw.insert_str(0, "the store was busy: ");
    }
    if room.repeated > 0 {
        saw.push_str(&format!("; a busy store (503 or 429) was asked again {} times", room.repeated));
    }
    Asked {
        id: question.id.to_owned(),
        group: question.group.title().to_owned(),
        asks: question.asks.to_owned(),
        right: question.right.to_owned(),
        source: question.source.to_owned(),
        answer,
        saw,
        evidence: std::mem::take(&mut room.evidence),
        took_ms: (took.as_secs_f64() * 1e4).round() / 10.0,
    }
}

impl Room {
    fn begin(&mut self, number: usize, patience: Duration) {
        self.number = number + 1;
        self.patience = patience;
        self.evidence.clear();
        (self.requests, self.unanswered, self.repeated) = (0, 0, 0);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_question_but_a_restart_goes_on_when_the_time_for_all_is_over() {
        let of = |id: &str| QUESTIONS.iter().copied().flatten().find(|one| one.id == id).unwrap();
        let (left, long) = (Duration::from_secs(7), Duration::from_secs(900));
        assert_eq!(time_of(of("any.list"), left), left);
        assert_eq!(time_of(of("any.list"), long), of("any.list").most);
        assert_eq!(time_of(of(RESTARTED), left), of(RESTARTED).most);
    }
}
