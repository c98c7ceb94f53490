//! What a plugin made for us, and its end: a store with its settings, and one worker's client of it.

use std::ffi::{CString, c_char, c_void};
use std::ptr;
use std::sync::Arc;

use cosmark_adaptor_api::{Error, ErrorKind, HttpCredential, Result, Session};

use super::abi::{ERROR_TEXT, RawAdaptor, RawError, RawSession, RawSetting};

/// A `cosmark_store`.
pub struct Store {
    table: &'static RawAdaptor,
    store: *mut c_void,
}

// SAFETY: the header asks that a store can be used by many threads.
unsafe impl Send for Store {}
// SAFETY: as above.
unsafe impl Sync for Store {}

impl Store {
    /// `open` with these keys and values.
    ///
    /// # Errors
    /// What the plugin says.
    pub fn open(table: &'static RawAdaptor, settings: &[(CString, CString)]) -> Result<Self> {
        let raw: Vec<RawSetting> = settings
            .iter()
            .map(|(name, value)| RawSetting { name: name.as_ptr(), value: value.as_ptr() })
            .collect();
        let mut store = ptr::null_mut();
        let mut error = no_error();
        let Some(open) = table.open else { return Err(refusal(&error)) };
        // SAFETY: the pointers are valid for the call.
        let code = unsafe { open(raw.as_ptr(), raw.len(), &raw mut store, &raw mut error) };
        if code == 0 { Ok(Self { table, store }) } else { Err(refusal(&error)) }
    }
}

impl Drop for Store {
    fn drop(&mut self) {
        if let Some(close) = self.table.close {
            // SAFETY: made by `open`, closed once, when no client is left.
            unsafe { close(self.store) };
        }
    }
}

/// A `cosmark_client`. The last operation in flight keeps it.
pub struct Handle {
    store: Arc<Store>,
    client: *mut c_void,
}

// SAFETY: the header asks that `disconnect` may come from any thread; `start` has one caller at a time.
unsafe impl Send for Handle {}
// SAFETY: as above.
unsafe impl Sync for Handle {}

impl Handle {
    /// `connect` with what the auth obtained.
    ///
    /// # Errors
    /// What the plugin says.
    pub fn connect(store: &Arc<Store>, session: &Session) -> Result<Arc<Self>> {
        let texts = SessionTexts::of(session)?;
        let mut client = ptr::null_mut();
        let mut error = no_error();
        let Some(connect) = store.table.connect else { return Err(refusal(&error)) };
        let raw = texts.raw();
        let session = if texts.is_empty() { ptr::null() } else { &raw const raw };
        // SAFETY: the pointers are valid for the call.
        let code = unsafe { connect(store.store, session, &raw mut client, &raw mut error) };
        if code != 0 {
            return Err(refusal(&error));
        }
        Ok(Arc::new(Self { store: Arc::clone(store), client }))
    }

    /// The plugin's functions.
    pub fn table(&self) -> &'static RawAdaptor {
        self.store.table
    }

    /// The plugin's client.
    pub fn client(&self) -> *mut c_void {
        self.client
    }
}

impl Drop for Handle {
    fn drop(&mut self) {
        if let Some(disconnect) = self.store.table.disconnect {
            // SAFETY: made by `connect`, given back once, when no operation is in flight.
            unsafe { disconnect(self.client) };
        }
    }
}

/// A C text.
///
/// # Errors
/// `Config`, when it has a zero byte in it.
pub fn c_text(text: &str) -> Result<CString> {
    CString::new(text).map_err(|_| {
        Error::new(ErrorKind::Config, "a name or value has a zero byte in it, which a plugin cannot be given")
    })
}

struct SessionTexts([Option<CString>; 7]);

impl SessionTexts {
    fn of(session: &Session) -> Result<Self> {
        let (username, password) = match &session.http {
            Some(
                HttpCredential::Basic { username, password }
                | HttpCredential::Digest { username, password, .. },
            ) => (Some(username.as_str()), Some(password.expose())),
            None => (None, None),
        };
        let aws = session.aws.as_ref();
        let all = [
            session.token.as_ref().map(|token| token.expose()),
            session.storage_url.as_deref(),
            aws.map(|keys| keys.access_key.as_str()),
            aws.map(|keys| keys.secret_key.expose()),
            aws.and_then(|keys| keys.session_token.as_ref()).map(|token| token.expose()),
            username,
            password,
        ];
        let mut texts = [const { None }; 7];
        for (text, given) in texts.iter_mut().zip(all) {
            *text = given.map(c_text).transpose()?;
        }
        Ok(Self(texts))
    }

    fn is_empty(&self) -> bool {
        self.0.iter().all(Option::is_none)
    }

    fn raw(&self) -> RawSession {
        let at = |index: usize| -> *const c_char {
            self.0.get(index).and_then(Option::as_ref).map_or(ptr::null(), |text| text.as_ptr())
        };
        #[expect(clippy::cast_possible_truncation, reason = "a structure of a few dozen bytes")]
        let size = size_of::<RawSession>() as u32;
        RawSession {
            size,
            reserved: 0,
            token: at(0),
            storage_url: at(1),
            access_key: at(2),
            secret_key: at(3),
            session_token: at(4),
            username: at(5),
            password: at(6),
        }
    }
}

fn no_error() -> RawError {
    RawError { kind: 0, message: [0; ERROR_TEXT], hint: [0; ERROR_TEXT] }
}

fn refusal(raw: &RawError) -> Error {
    let text = |chars: &[c_char; ERROR_TEXT]| {
        #[expect(clippy::cast_sign_loss, reason = "a byte of a text, whatever the sign of char")]
        let bytes: Vec<u8> = chars.iter().take_while(|&&byte| byte != 0).map(|&byte| byte as u8).collect();
        String::from_utf8_lossy(&bytes).into_owned()
    };
    let (message, hint) = (text(&raw.message), text(&raw.hint));
    let kind = if raw.kind == 0 { ErrorKind::Config } else { kind_of(raw.kind, 0) };
    let message = if message.is_empty() { "the plugin refused and gave no reason".into() } else { message };
    let error = Error::new(kind, message);
    if hint.is_empty() { error } else { error.with_hint(hint) }
}

/// `COSMARK_STATUS` and so on.
pub fn kind_of(kind: u32, status: u16) -> ErrorKind {
    match kind {
        1 => ErrorKind::Status(status),
        2 => ErrorKind::Timeout,
        3 => ErrorKind::Connect,
        4 => ErrorKind::Reset,
        5 => ErrorKind::Tls,
        6 => ErrorKind::ShortBody,
        7 => ErrorKind::CorruptBody,
        9 => ErrorKind::Unsupported,
        10 => ErrorKind::Config,
        11 => ErrorKind::LocalIo,
        12 => ErrorKind::Aborted,
        13 => ErrorKind::Denied,
        _ => ErrorKind::Protocol,
    }
}
