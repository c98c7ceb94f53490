//! Questions that a driver answers at once, also while a stage runs: what its clocks show, and whether it reaches a
//! target.

use cosmark_adaptor_api::clock;
use cosmark_driver::{Catalog, try_target};
use cosmark_wire::message::{ClockAnswer, TargetAnswer, TargetQuestion, decode, encode};
use cosmark_wire::{Failure, FailureClass, stage_from_text, unix_ns};
use futures_util::StreamExt;
use tokio::time::Instant;

use super::RemoteOptions;
use super::trust::SharedTrust;
use crate::nats::{Bus, Key, names};

/// Answers questions about clocks and targets.
pub async fn answer(
    bus: Bus,
    catalog: Catalog,
    options: RemoteOptions,
    (key, trust): (Key, SharedTrust),
    life: u64,
) {
    let name = options.options.name.clone();
    let (Ok(mut clocks), Ok(mut probes)) = (
        bus.client().subscribe(names::question(&name, "clock")).await,
        bus.client().subscribe(names::question(&name, "probe")).await,
    ) else {
        return;
    };
    loop {
        tokio::select! {
            Some(message) = clocks.next() => {
                let answer = ClockAnswer { now_ns: clock::now_ns(), unix_ns: unix_ns(), life };
                if let (Some(reply), Ok(bytes)) = (message.reply, encode(&answer)) {
                    drop(bus.client().publish(reply, bytes.into()).await);
                }
            }
            Some(message) = probes.next() => {
                let Some(reply) = message.reply else { continue };
                if trust.get().keys().is_empty() {
                    trust.learn(&bus).await;
                }
                let Some(admitted) = trust.get().probe(&message.payload) else { continue };
                let question = key.open(&admitted.sealed).and_then(|plain| decode::<TargetQuestion>(&plain).ok());
                let Some(question) = question else { continue };
                let (bus, options) = (bus.clone(), options.clone());
                tokio::task::spawn_blocking(move || {
                    let answer = ask_target(catalog, &options, &question);
                    if let Ok(bytes) = encode(&answer) {
                        // The runtime of this process; the thread is one of its blocking pool.
                        tokio::runtime::Handle::current()
                            .block_on(async { drop(bus.client().publish(reply, bytes.into()).await) });
                    }
                });
            }
            else => return,
        }
    }
}

fn ask_target(catalog: Catalog, options: &RemoteOptions, question: &TargetQuestion) -> TargetAnswer {
    let began = Instant::now();
    let tried = stage_from_text(&question.stage).and_then(|stage| {
        let permit = &options.options.permit;
        stage.works.iter().try_for_each(|work| try_target(&catalog, permit, &work.auth, &work.storage))
    });
    let failure = tried.err().map(|text| Failure { work: String::new(), class: FailureClass::Target, text });
    TargetAnswer { ms: u64::try_from(began.elapsed().as_millis()).unwrap_or(u64::MAX), failure }
}
