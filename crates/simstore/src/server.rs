//! The server's thread: accepts connections and answers the handle's questions.

use std::cell::Cell;
use std::rc::Rc;
use std::time::Duration;

use tokio::net::{TcpListener, TcpStream};
use tokio::sync::mpsc;

use crate::connection::Connection;
use crate::http::sock::arm_reset;
use crate::peer::Peer;
use crate::state::{Command, Open, Shared};
use crate::tls;

/// Runs the server until the handle lets go of it.
pub(crate) async fn run(
    listener: TcpListener,
    shared: Rc<Shared>,
    tls: Option<tls::Acceptor>,
    mut commands: mpsc::Receiver<Command>,
) {
    let timer = shared.timer.clone();
    tokio::task::spawn_local(async move { timer.run().await });
    let sweeper = shared.clone();
    tokio::task::spawn_local(async move { sweeper.close_idle().await });
    let acceptor = shared.clone();
    tokio::task::spawn_local(async move { accept(listener, acceptor, tls).await });
    while let Some(command) = commands.recv().await {
        shared.obey(command);
    }
    for (_, open) in shared.open.borrow_mut().drain() {
        open.abort.abort();
    }
    shared.log.borrow_mut().finish();
}

async fn accept(listener: TcpListener, shared: Rc<Shared>, tls: Option<tls::Acceptor>) {
    let mut number = 0;
    loop {
        let (tcp, address) = match listener.accept().await {
            Ok(accepted) => accepted,
            Err(_) => {
                // Out of descriptors, or a client that gave up; the next try may succeed.
                tokio::time::sleep(Duration::from_millis(10)).await;
                continue;
            }
        };
        number += 1;
        let now_ns = shared.clock.now_ns();
        shared.log.borrow_mut().sums.connections_accepted += 1;
        if shared.open.borrow().len() >= shared.behaviour.borrow().max_connections {
            shared.log.borrow_mut().sums.connections_refused += 1;
            continue;
        }
        if shared.script.borrow_mut().resets_connection(now_ns) {
            shared.log.borrow_mut().sums.connections_reset += 1;
            arm_reset(&tcp);
            continue;
        }
        // Without it small answers wait for acknowledgements; if it fails the peer is gone.
        let _gone = tcp.set_nodelay(true);
        let alive = Rc::new(Cell::new(now_ns));
        let peer = Peer { number, peer_port: address.port(), alive: alive.clone(), secure: tls.is_some() };
        let (state, tls) = (shared.clone(), tls.clone());
        let task = tokio::task::spawn_local(async move {
            serve(tcp, tls, state.clone(), peer).await;
            state.open.borrow_mut().remove(&number);
        });
        shared.open.borrow_mut().insert(number, Open { abort: task.abort_handle(), alive });
    }
}

async fn serve(tcp: TcpStream, tls: Option<tls::Acceptor>, shared: Rc<Shared>, peer: Peer) {
    let delay_ms = shared.behaviour.borrow().accept_delay_ms;
    if delay_ms > 0.0 {
        shared.timer.until(peer.alive.get() + (delay_ms * 1e6) as u64).await;
    }
    match tls {
        None => Connection::new(tcp, shared, peer).run().await,
        #[cfg(feature = "tls")]
        Some(acceptor) => {
            if let Ok(stream) = acceptor.accept(tcp).await {
                Connection::new(stream, shared, peer).run().await;
            }
        }
        #[cfg(not(feature = "tls"))]
        Some(never) => match never {},
    }
}
