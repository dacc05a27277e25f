//! Percent-encoding in path segments and queries (RFC 3986 §2.1).

/// Decodes a segment; none for a broken escape or text that is not UTF-8.
pub fn percent_decode(text: &str) -> Option<String> {
    let mut out = Vec::with_capacity(text.len());
    let mut octets = text.bytes();
    while let Some(octet) = octets.next() {
        if octet == b'%' {
            let mut digit = || char::from(octets.next()?).to_digit(16);
            let value = digit()? << 4 | digit()?;
            out.push(u8::try_from(value).ok()?);
        } else {
            out.push(octet);
        }
    }
    String::from_utf8(out).ok()
}

/// The pairs of a query in order; none if one cannot be read.
pub fn query_pairs(query: &str) -> Option<Vec<(String, String)>> {
    let pair = |part: &str| {
        let (name, value) = part.split_once('=').unwrap_or((part, ""));
        Some((percent_decode(name)?, percent_decode(value)?))
    };
    query.split('&').filter(|part| !part.is_empty()).map(pair).collect()
}
