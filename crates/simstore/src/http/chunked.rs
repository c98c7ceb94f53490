//! Takes chunks apart: HTTP's chunked transfer coding (RFC 9112, section 7.1) and, with the same grammar,
//! the aws-chunked content coding (Amazon S3 API reference, "Signature calculations for the Authorization
//! header: transferring payload in multiple chunks"), whose signatures are chunk extensions.

/// Longest line of a chunk's size or of a trailer.
const MAX_LINE: usize = 4096;
/// Most bytes of all trailers together.
const MAX_TRAILERS: usize = 16 * 1024;

/// What the bytes given meant.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Step<'a> {
    /// Content.
    Data(&'a [u8]),
    /// All bytes were used up; more are needed.
    More,
    /// The end was reached; bytes that are left belong to what follows.
    End,
}

enum State {
    Size,
    Data(u64),
    DataEnd,
    Trailer,
    Done,
}

/// An incremental decoder. Memory is bounded by the longest line.
pub(crate) struct Chunks {
    state: State,
    line: Vec<u8>,
    trailer_bytes: usize,
    /// Trailer fields, names in lower case.
    pub(crate) trailers: Vec<(String, String)>,
}

impl Chunks {
    pub(crate) fn new() -> Chunks {
        Chunks { state: State::Size, line: Vec::new(), trailer_bytes: 0, trailers: Vec::new() }
    }

    /// Takes the next step and moves `input` past what was used.
    ///
    /// # Errors
    /// A sentence, when the input is no chunked body.
    pub(crate) fn step<'a>(&mut self, input: &mut &'a [u8]) -> Result<Step<'a>, &'static str> {
        loop {
            match &mut self.state {
                State::Done => return Ok(Step::End),
                _ if input.is_empty() => return Ok(Step::More),
                State::Data(left) => {
                    let take = (*left).min(input.len() as u64) as usize;
                    let (data, rest) = input.split_at(take);
                    *input = rest;
                    *left -= take as u64;
                    if *left == 0 {
                        self.state = State::DataEnd;
                    }
                    return Ok(Step::Data(data));
                }
                State::Size => {
                    let Some(()) = self.take_line(input)? else { return Ok(Step::More) };
                    let size = parse_size(&self.line)?;
                    self.state = if size == 0 { State::Trailer } else { State::Data(size) };
                    self.line.clear();
                }
                State::DataEnd => {
                    let Some(()) = self.take_line(input)? else { return Ok(Step::More) };
                    if !self.line.is_empty() {
                        return Err("A chunk is longer than its stated size.");
                    }
                    self.state = State::Size;
                }
                State::Trailer => {
                    let Some(()) = self.take_line(input)? else { return Ok(Step::More) };
                    if self.line.is_empty() {
                        self.state = State::Done;
                        return Ok(Step::End);
                    }
                    self.trailer_bytes += self.line.len();
                    if self.trailer_bytes > MAX_TRAILERS {
                        return Err("The trailers are too long.");
                    }
                    if let Some((name, value)) =
                        std::str::from_utf8(&self.line).ok().and_then(|l| l.split_once(':'))
                    {
                        self.trailers.push((name.trim().to_ascii_lowercase(), value.trim().to_owned()));
                    }
                    self.line.clear();
                }
            }
        }
    }

    /// Collects a line; `Some` when it is complete, without its end.
    fn take_line(&mut self, input: &mut &[u8]) -> Result<Option<()>, &'static str> {
        let end = input.iter().position(|byte| *byte == b'\n');
        let (part, rest) = input.split_at(end.map_or(input.len(), |end| end + 1));
        if self.line.len() + part.len() > MAX_LINE {
            return Err("A line of a chunked body is too long.");
        }
        self.line.extend_from_slice(part);
        *input = rest;
        if end.is_none() {
            return Ok(None);
        }
        self.line.pop();
        if self.line.last() == Some(&b'\r') {
            self.line.pop();
        }
        Ok(Some(()))
    }
}

/// Hexadecimal, up to the first extension.
fn parse_size(line: &[u8]) -> Result<u64, &'static str> {
    const BAD: &str = "The size of a chunk is not a hexadecimal number.";
    let digits = line.split(|byte| *byte == b';').next().unwrap_or_default().trim_ascii();
    if digits.is_empty() || digits.len() > 15 {
        return Err(BAD);
    }
    digits.iter().try_fold(0_u64, |sum, byte| {
        let digit = (*byte as char).to_digit(16).ok_or(BAD)?;
        Ok(sum * 16 + u64::from(digit))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    type Decoded = (Vec<u8>, Vec<(String, String)>, usize);

    /// Content, trailers, and what was left over; fed in pieces of this size.
    fn decode(text: &[u8], piece: usize) -> Result<Decoded, &'static str> {
        let (mut chunks, mut data, mut ended, mut left) = (Chunks::new(), Vec::new(), false, 0);
        for mut part in text.chunks(piece) {
            while !ended {
                match chunks.step(&mut part)? {
                    Step::Data(bytes) => data.extend_from_slice(bytes),
                    Step::More => break,
                    Step::End => ended = true,
                }
            }
            left += part.len();
        }
        if ended { Ok((data, chunks.trailers, left)) } else { Err("unfinished") }
    }

    #[test]
    fn chunks_with_extensions_and_trailers_are_decoded_however_they_are_cut() {
        let text = b"5;chunk-signature=abc\r\nhello\r\n6\r\n world\r\n0;x=y\r\nX-Amz-Checksum-Crc32: AAAA==\r\n\r\nGET";
        for piece in 1..text.len() {
            let (data, trailers, left) = decode(text, piece).unwrap();
            assert_eq!(data, b"hello world", "pieces of {piece}");
            assert_eq!(trailers, [("x-amz-checksum-crc32".to_owned(), "AAAA==".to_owned())]);
            assert_eq!(left, 3);
        }
    }

    #[test]
    fn malformed_chunks_are_errors() {
        let endless = [b"5;".as_slice(), &[b'a'; 5000]].concat();
        for text in [
            b"x\r\n".as_slice(),
            b"\r\n",
            b"-1\r\n",
            b"ffffffffffffffff\r\n",
            b"2\r\nabc\r\n0\r\n\r\n",
            &endless,
        ] {
            assert!(decode(text, text.len()).is_err_and(|error| error != "unfinished"), "{text:?}");
        }
        let trailers =
            [b"0\r\n".to_vec(), [b"a: ".to_vec(), vec![b'b'; 4000], b"\r\n".to_vec()].concat().repeat(6)]
                .concat();
        assert_eq!(decode(&trailers, 100), Err("The trailers are too long."));
    }
}
