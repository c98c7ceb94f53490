//! Version 1 auth (tempauth): a user and a key for a token and a storage URL.

use std::collections::{HashMap, VecDeque};

use super::{Done, refusal};
use crate::behaviour::SwiftOptions;
use crate::http::answer::Answer;
use crate::read::Call;
use crate::rules::{below, stream};

/// Most tokens that are remembered; the oldest is forgotten first.
const MAX_TOKENS: usize = 100_000;

struct Token {
    account: String,
    issued_ns: u64,
    uses: u64,
}

/// The tokens that were issued.
pub(crate) struct Tokens {
    valid: HashMap<String, Token>,
    order: VecDeque<String>,
    seed: u64,
    issued: u64,
}

impl Tokens {
    pub(crate) fn new(seed: u64) -> Tokens {
        Tokens { valid: HashMap::new(), order: VecDeque::new(), seed, issued: 0 }
    }

    /// Answers a request for a token.
    pub(super) fn issue(&mut self, call: &Call<'_>, options: &SwiftOptions, answer: &mut Answer) -> Done {
        let field = |names: [&str; 2]| names.iter().find_map(|name| call.head.get(name)).unwrap_or_default();
        let (user, key) = (field(["x-auth-user", "x-storage-user"]), field(["x-auth-key", "x-storage-pass"]));
        if !options.users.is_empty() && options.users.get(user).is_none_or(|known| known != key) {
            return Err(401.into());
        }
        let account = format!("AUTH_{}", user.split(':').next().unwrap_or_default());
        if account.len() > 256 || !account.bytes().all(|b| b.is_ascii_graphic() && !b"/?#%\"".contains(&b)) {
            return Err(refusal(400, "The account in X-Auth-User must be of plain characters"));
        }
        self.issued += 1;
        let mut random = stream(self.seed, &format!("token {}", self.issued));
        let text =
            format!("AUTH_tk{:016x}{:016x}", below(&mut random, u64::MAX), below(&mut random, u64::MAX));
        if self.order.len() >= MAX_TOKENS
            && let Some(oldest) = self.order.pop_front()
        {
            self.valid.remove(&oldest);
        }
        self.order.push_back(text.clone());
        self.valid.insert(text.clone(), Token { account: account.clone(), issued_ns: call.now_ns, uses: 0 });
        let scheme = if call.secure { "https" } else { "http" };
        let host = call.head.get("host").unwrap_or("127.0.0.1");
        answer.header("X-Storage-Url", &format!("{scheme}://{host}/v1/{account}"));
        answer.header("X-Auth-Token", &text);
        answer.header("X-Storage-Token", &text);
        let lifetime_s = options.token_lifetime_ms.map_or(86_400, |ms| (ms / 1000.0) as u64);
        answer.number("X-Auth-Token-Expires", lifetime_s);
        answer.header("Content-Type", "text/plain; charset=utf-8");
        Ok(())
    }

    /// Refuses requests without a valid token (401) or with a token of another account (403).
    pub(super) fn check(&mut self, call: &Call<'_>, options: &SwiftOptions) -> Done {
        if !options.check_tokens {
            return Ok(());
        }
        let text =
            call.head.get("x-auth-token").or_else(|| call.head.get("x-storage-token")).unwrap_or_default();
        let Some(token) = self.valid.get_mut(text) else { return Err(401.into()) };
        token.uses += 1;
        let age_ms = call.now_ns.saturating_sub(token.issued_ns) as f64 / 1e6;
        let over = options.token_lifetime_ms.is_some_and(|lifetime| age_ms >= lifetime)
            || options.token_max_requests.is_some_and(|most| token.uses > most);
        if over {
            return Err(401.into());
        }
        if token.account != call.route.account {
            return Err(403.into());
        }
        Ok(())
    }
}
