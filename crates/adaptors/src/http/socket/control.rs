//! Control messages of the kernel's time stamps, as bytes (cmsg(3); the kernel's documentation, networking/timestamping):
//! `SCM_TIMESTAMPING` holds three times, of which the first is that of the software; what the error queue gives also has a
//! `struct sock_extended_err`, which tells which bytes were sent.

/// `SO_TIMESTAMPING`, with times of 64 bits on 64-bit systems; also the type of its control message.
pub(super) const TIMESTAMPING: i32 = 37;
/// The same with times of 64 bits everywhere.
const TIMESTAMPING_64: i32 = 65;
const SOL_SOCKET: i32 = 1;
/// Level and type of errors of IPv4 and IPv6.
const RECEIVED_ERRORS: [(i32, i32); 2] = [(0, 11), (41, 25)];
/// `SO_EE_ORIGIN_TIMESTAMPING`
const ORIGIN_TIMESTAMPING: u8 = 4;
/// `SCM_TSTAMP_SND`: handed to the network driver.
const HANDED_TO_DRIVER: u32 = 0;

/// Bytes of a header: length, level, type.
const HEADER_BYTES: usize = size_of::<usize>() + 8;

/// Room for all messages of one call.
pub(super) const CONTROL_BYTES: usize = 256;

/// What the messages of one call say.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(super) struct Control {
    /// The software's time, `CLOCK_REALTIME`.
    pub(super) at_ns: Option<u64>,
    /// Of a stamp of sending: the number of its last byte, from 0.
    pub(super) sent: Option<u32>,
}

/// Reads them; what is damaged or of no interest is passed over.
pub(super) fn read(mut bytes: &[u8]) -> Control {
    let mut control = Control::default();
    while let Some((level, kind, data, rest)) = next(bytes) {
        bytes = rest;
        if level == SOL_SOCKET && (kind == TIMESTAMPING || kind == TIMESTAMPING_64) {
            control.at_ns = time(data).or(control.at_ns);
        } else if RECEIVED_ERRORS.contains(&(level, kind)) {
            control.sent = sent(data).or(control.sent);
        }
    }
    control
}

/// The first message, and what stands behind it.
fn next(bytes: &[u8]) -> Option<(i32, i32, &[u8], &[u8])> {
    let length = usize::from_ne_bytes(bytes.get(..size_of::<usize>())?.try_into().ok()?);
    let data = bytes.get(HEADER_BYTES..length)?;
    let level = number(bytes, size_of::<usize>())?.cast_signed();
    let kind = number(bytes, size_of::<usize>() + 4)?.cast_signed();
    let rest = bytes.get(length.checked_next_multiple_of(size_of::<usize>())?..).unwrap_or_default();
    Some((level, kind, data, rest))
}

fn number(bytes: &[u8], at: usize) -> Option<u32> {
    Some(u32::from_ne_bytes(bytes.get(at..at.checked_add(4)?)?.try_into().ok()?))
}

/// The first of three times; 0 = the software did not stamp it.
fn time(data: &[u8]) -> Option<u64> {
    // Three pairs of 64 bits; a system whose times have 32 bits gives half as many bytes.
    if data.len() < 48 {
        return None;
    }
    let part = |at: usize| Some(u64::from_ne_bytes(data.get(at..at + 8)?.try_into().ok()?));
    let at_ns = part(0)?.checked_mul(1_000_000_000)?.checked_add(part(8)?)?;
    (at_ns > 0).then_some(at_ns)
}

/// `struct sock_extended_err`: errno, origin, type, code, padding, info, data.
fn sent(data: &[u8]) -> Option<u32> {
    let is_sending = *data.get(4)? == ORIGIN_TIMESTAMPING && number(data, 8)? == HANDED_TO_DRIVER;
    is_sending.then(|| number(data, 12)).flatten()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn message(level: i32, kind: i32, data: &[u8]) -> Vec<u8> {
        let mut bytes = (HEADER_BYTES + data.len()).to_ne_bytes().to_vec();
        bytes.extend(level.to_ne_bytes());
        bytes.extend(kind.to_ne_bytes());
        bytes.extend(data);
        bytes.resize(bytes.len().next_multiple_of(size_of::<usize>()), 0);
        bytes
    }

    fn times(software: (u64, u64), hardware: (u64, u64)) -> Vec<u8> {
        [software.0, software.1, 0, 0, hardware.0, hardware.1]
            .iter()
            .flat_map(|part| part.to_ne_bytes())
            .collect()
    }

    fn extended(origin: u8, info: u32, number: u32) -> Vec<u8> {
        let mut bytes = 42_u32.to_ne_bytes().to_vec();
        bytes.extend([origin, 0, 0, 0]);
        bytes.extend(info.to_ne_bytes());
        bytes.extend(number.to_ne_bytes());
        // The address of who caused it follows.
        bytes.extend([0; 16]);
        bytes
    }

    #[test]
    fn a_time_and_the_bytes_that_it_is_of_are_read_in_any_order_among_others() {
        let stamp = message(1, 37, &times((7, 5), (0, 0)));
        let wanted = Control { at_ns: Some(7_000_000_005), sent: Some(99) };
        for error in [message(0, 11, &extended(4, 0, 99)), message(41, 25, &extended(4, 0, 99))] {
            let other = message(0, 8, &[1; 12]);
            assert_eq!(read(&[stamp.clone(), other.clone(), error.clone()].concat()), wanted);
            assert_eq!(read(&[error, other, message(1, 65, &times((7, 5), (9, 9)))].concat()), wanted);
        }
    }

    #[test]
    fn what_is_no_time_of_the_software_or_no_sending_is_passed_over() {
        let none = Control::default();
        assert_eq!(read(&[]), none);
        assert_eq!(read(&message(1, 37, &times((0, 0), (5, 5)))), none, "the card's clock is another clock");
        assert_eq!(read(&message(1, 37, &[0; 24])), none, "times of 32 bits");
        assert_eq!(read(&message(0, 11, &extended(2, 0, 9))), none, "an ICMP error");
        assert_eq!(read(&message(0, 11, &extended(4, 1, 9))), none, "entered a queue, not the driver");
        assert_eq!(read(&message(2, 37, &times((1, 1), (0, 0)))), none, "another level");
    }

    proptest::proptest! {
        #[test]
        fn damaged_messages_are_passed_over_and_end(bytes in proptest::collection::vec(proptest::num::u8::ANY, 0..200)) {
            read(&bytes);
        }

        #[test]
        fn a_message_that_is_cut_gives_what_was_whole(cut in 0usize..96, at_s in 1u64..4_000_000_000) {
            let whole = [message(1, 37, &times((at_s, 1), (0, 0))), message(0, 11, &extended(4, 0, 3))].concat();
            let read = read(&whole[..cut.min(whole.len())]);
            proptest::prop_assert_eq!(read.at_ns.is_some(), cut >= HEADER_BYTES + 48);
            proptest::prop_assert!(read.sent.is_none() || cut >= HEADER_BYTES + 48 + HEADER_BYTES + 16);
        }
    }
}
