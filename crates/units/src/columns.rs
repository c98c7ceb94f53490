//! How many columns of a terminal a text takes, in whatever script it is.

/// Pictures among the symbols of one column, which take two. Source: Unicode 14, EastAsianWidth.txt, `W` below 0x2e80.
const PICTURES: [(u32, u32); 34] = [
    (0x231a, 0x231b),
    (0x2329, 0x232a),
    (0x23e9, 0x23ec),
    (0x23f0, 0x23f0),
    (0x23f3, 0x23f3),
    (0x25fd, 0x25fe),
    (0x2614, 0x2615),
    (0x2648, 0x2653),
    (0x267f, 0x267f),
    (0x2693, 0x2693),
    (0x26a1, 0x26a1),
    (0x26aa, 0x26ab),
    (0x26bd, 0x26be),
    (0x26c4, 0x26c5),
    (0x26ce, 0x26ce),
    (0x26d4, 0x26d4),
    (0x26ea, 0x26ea),
    (0x26f2, 0x26f3),
    (0x26f5, 0x26f5),
    (0x26fa, 0x26fa),
    (0x26fd, 0x26fd),
    (0x2705, 0x2705),
    (0x270a, 0x270b),
    (0x2728, 0x2728),
    (0x274c, 0x274c),
    (0x274e, 0x274e),
    (0x2753, 0x2755),
    (0x2757, 0x2757),
    (0x2795, 0x2797),
    (0x27b0, 0x27b0),
    (0x27bf, 0x27bf),
    (0x2b1b, 0x2b1c),
    (0x2b50, 0x2b50),
    (0x2b55, 0x2b55),
];

/// Columns that a sign takes: two for those of East Asia and pictures, none for what joins its neighbour.
fn columns_of_sign(sign: char) -> usize {
    match u32::from(sign) {
        0..0x20
        | 0x7f..0xa0
        | 0x300..0x370
        | 0x483..0x48a
        | 0x64b..0x660
        | 0x1ab0..0x1b00
        | 0x1dc0..0x1e00
        | 0x200b..0x2010
        | 0x20d0..0x2100
        | 0xfe00..0xfe10
        | 0xfe20..0xfe30
        | 0xe0100..0xe01f0 => 0,
        0x1100..0x1160
        | 0x2e80..0xa4d0
        | 0xa960..0xa980
        | 0xac00..0xd7a4
        | 0xf900..0xfb00
        | 0xfe10..0xfe1a
        | 0xfe30..0xfe70
        | 0xff00..0xff61
        | 0xffe0..0xffe7
        | 0x16fe0..0x1b300
        | 0x1f18e
        | 0x1f191..0x1f19b
        | 0x1f200..0x1f266
        | 0x1f300..0x1f650
        | 0x1f680..0x1f700
        | 0x1f7e0..0x1f7f1
        | 0x1f900..0x1fb00
        | 0x20000..0x3fffe => 2,
        code if PICTURES.iter().any(|(first, last)| (*first..=*last).contains(&code)) => 2,
        _ => 1,
    }
}

/// Columns that a text without colour takes.
#[must_use]
pub fn columns_of(text: &str) -> usize {
    text.chars().map(columns_of_sign).sum()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_picture_takes_two_columns_wherever_it_stands_and_a_mark_none() {
        for (text, columns) in [
            ("🚀", 2),
            ("🧪", 2),
            ("🪣", 2),
            ("🟢", 2),
            ("✅❌⭐", 6),
            ("→✓ü", 3),
            ("é\u{301}", 1),
            ("a\u{20d7}\u{fe20}", 1),
            ("日本語", 6),
            ("plain", 5),
        ] {
            assert_eq!(columns_of(text), columns, "{text}");
        }
        assert!(PICTURES.windows(2).all(|pair| pair[0].1 < pair[1].0), "in their order");
    }
}
