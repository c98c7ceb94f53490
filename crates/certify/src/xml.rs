//! As much of the answers' XML as the questions need: the texts of elements by name. It takes any bytes and never fails.

/// The texts of all elements of this name, entities resolved.
pub(crate) fn texts(body: &[u8], name: &str) -> Vec<String> {
    let body = String::from_utf8_lossy(body);
    let (open, close) = (format!("<{name}>"), format!("</{name}>"));
    let mut found = Vec::new();
    let mut rest = &body[..];
    while let Some((_, after)) = rest.split_once(&open) {
        let Some((text, after)) = after.split_once(&close) else { break };
        found.push(unescaped(text));
        rest = after;
    }
    found
}

/// The text of the first.
pub(crate) fn text(body: &[u8], name: &str) -> Option<String> {
    texts(body, name).into_iter().next()
}

/// The inner XML of each element of this name.
pub(crate) fn parts(body: &[u8], name: &str) -> Vec<Vec<u8>> {
    let body = String::from_utf8_lossy(body);
    let (open, close) = (format!("<{name}>"), format!("</{name}>"));
    let inner = |part: &str| part.split_once(&close).map(|(inner, _)| inner.as_bytes().to_vec());
    body.split(&open).skip(1).filter_map(inner).collect()
}

fn unescaped(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    let mut rest = text;
    while let Some((before, after)) = rest.split_once('&') {
        out.push_str(before);
        // No further than a name goes: a text of nothing but beginnings would be searched again at each of them.
        let end = after.bytes().take(9).position(|byte| byte == b';');
        let entity = end.map(|end| (&after[..end], &after[end + 1..]));
        let sign = entity.and_then(|(name, _)| match name {
            "amp" => Some('&'),
            "lt" => Some('<'),
            "gt" => Some('>'),
            "quot" => Some('"'),
            "apos" => Some('\''),
            _ => {
                let digits = name.strip_prefix('#')?;
                let code = match digits.strip_prefix(['x', 'X']) {
                    Some(hex) => u32::from_str_radix(hex, 16),
                    None => digits.parse(),
                };
                char::from_u32(code.ok()?)
            }
        });
        match (sign, entity) {
            (Some(sign), Some((_, after))) => {
                out.push(sign);
                rest = after;
            }
            _ => {
                out.push('&');
                rest = after;
            }
        }
    }
    out.push_str(rest);
    out
}

/// A text between tags.
pub(crate) fn escaped(text: &str) -> String {
    text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;").replace('"', "&quot;")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn texts_are_found_whatever_surrounds_them() {
        let body = b"<a><Key>x &amp; &#x263A;&#10;&nope;</Key><Key/><Key>2</Key><Key>cut";
        assert_eq!(texts(body, "Key"), ["x & \u{263a}\n&nope;", "2"]);
        assert_eq!(text(b"\xff<Code>A</Code>", "Code").as_deref(), Some("A"));
        let many = "&".repeat(2_000_000);
        assert_eq!(text(format!("<Code>{many}</Code>").as_bytes(), "Code"), Some(many));
        assert_eq!(
            text(b"<Code>&#x263A0;&#x26 3A;&#x0263A;</Code>", "Code").as_deref(),
            Some("\u{263a0}&#x26 3A;\u{263a}")
        );
        assert_eq!(parts(b"<C><K>1</K></C><C></C><C>", "C"), [b"<K>1</K>".to_vec(), b"".to_vec()]);
    }
}
