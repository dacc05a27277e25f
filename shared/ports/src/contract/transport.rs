//! What [`Transport`] promises: the request goes out once and as it is, the answer comes back as it is and
//! no longer than asked for, and what is not known is not claimed.
//!
//! The other side is a server that does as follows at these paths; `hookproof-native` has one.
//!
//! | path | answers |
//! |---|---|
//! | `/ok` | 200, `text/plain`, `ok` |
//! | `/echo` | 200 and the request as it came: line, fields, body |
//! | `/hits` | 200 and, in decimal, how often the path in the request's body was requested |
//! | `/redirect`, `/see-other` | 307, 303 with `location: /forbidden` |
//! | `/throttled` | 429 with `retry-after: 7` |
//! | `/empty` | 204 |
//! | `/cookie` | 200 with a `set-cookie` |
//! | `/gzip` | 200, `content-encoding: gzip`, [`GZIP`] |
//! | `/large`, `/endless` | 200 and 1 MiB; 200 and chunks without end |
//! | `/slow`, `/stall`, `/drip` | for 10 s: nothing; a head, 3 octets of 100; an octet each 200 ms |
//! | `/reset`, `/broken`, `/garbage` | closes: at once; after 3 octets of 100; after a line that is not HTTP |
//! | anything else | 404 |

use bytes::Bytes;
use hookproof_core::endpoint::Permitted;
use hookproof_core::signature::Fields;
use hookproof_core::time::Span;

use super::{Broken, expect};
use crate::transport::{Outbound, Reply, Transport, TransportFailure};

/// 4,096 times `a`, compressed: the body of `/gzip`.
pub const GZIP: &[u8] = &[
    31, 139, 8, 0, 0, 0, 0, 0, 2, 3, 237, 193, 1, 13, 0, 0, 0, 194, 160, 172, 239, 95, 194, 30, 14, 40, 0, 0,
    0, 224, 221, 0, 115, 220, 153, 156, 0, 16, 0, 0,
];

/// Longer than any host takes for an honest answer, shorter than the 10 s of the slow paths.
const PATIENT: Span = Span::seconds(5);
const IMPATIENT: Span = Span::seconds(1);
const LIMIT: usize = 1000;

/// Runs the whole suite. `permit` vets a path (and query) on the server, as this host vets endpoints;
/// `closed` is an endpoint where nothing listens. Returns the number of promises checked.
pub async fn transport_keeps_its_promises(
    transport: &impl Transport,
    permit: impl Fn(&str) -> Permitted,
    closed: &Permitted,
) -> Result<u32, Broken> {
    let server = Server { transport, permit };
    server.carries_the_request().await?;
    server.carries_the_answer().await?;
    server.never_follows().await?;
    server.keeps_the_limit().await?;
    server.never_decodes_beyond_the_limit().await?;
    server.keeps_the_time().await?;
    server.never_claims_to_know().await?;
    server.keeps_no_cookie().await?;
    let refused = transport.send_permitted(&outbound(b"", PATIENT, LIMIT), closed).await;
    expect(refused.is_err(), "a refused connection is no answer")?;
    Ok(9)
}

fn outbound(body: &[u8], timeout: Span, response_limit: usize) -> Outbound {
    let fields = [("content-type", "application/json"), ("x-contract", "a, b")].into_iter().collect();
    Outbound { fields, body: Bytes::copy_from_slice(body), timeout, response_limit }
}

struct Server<'a, T, P> {
    transport: &'a T,
    permit: P,
}

impl<T: Transport, P: Fn(&str) -> Permitted> Server<'_, T, P> {
    async fn post(&self, path: &str, request: &Outbound) -> Result<Reply, TransportFailure> {
        self.transport.send_permitted(request, &(self.permit)(path)).await
    }

    /// The answer of an honest path.
    async fn answer(&self, path: &str, body: &[u8], limit: usize) -> Result<Reply, Broken> {
        let reply = self.post(path, &outbound(body, PATIENT, limit)).await;
        reply.map_err(|failure| Broken(format!("{path} is answered, not {failure:?}")))
    }

    async fn hits(&self, path: &str) -> Result<u32, Broken> {
        let reply = self.answer("/hits", path.as_bytes(), LIMIT).await?;
        let count = std::str::from_utf8(&reply.body).ok().and_then(|text| text.parse().ok());
        count.ok_or_else(|| Broken("the server counts what it is asked".to_owned()))
    }

    async fn carries_the_request(&self) -> Result<(), Broken> {
        let path = "/echo?q=a%2Fb&&c=%C3%BC";
        let body: Vec<u8> = (0..=255).collect();
        let echo = self.answer(path, &body, 64 * 1024).await?;
        let split = echo.body.windows(4).position(|four| four == b"\r\n\r\n");
        let (head, rest) = echo.body.split_at(split.map_or(0, |at| at + 4));
        let head = String::from_utf8_lossy(head);
        let mut lines = head.lines().filter(|line| !line.is_empty());
        let first = lines.next().unwrap_or_default();
        expect(first == format!("POST {path} HTTP/1.1"), "it is a POST to the path and query as spelled")?;
        let fields: Fields = lines.filter_map(|line| line.split_once(':')).collect();
        let authority = (self.permit)(path).url().authority().to_owned();
        for (name, value) in [
            ("host", authority.as_str()),
            ("content-length", "256"),
            ("content-type", "application/json"),
            ("x-contract", "a, b"),
        ] {
            let kept = fields.single(name).as_deref() == Ok(value);
            expect(kept, &format!("{name} arrives once, as it was given"))?;
        }
        let framed = fields.contains("transfer-encoding") || fields.contains("content-encoding");
        expect(!framed && rest == body, "the body arrives as it is, with its length")?;
        let empty = self.answer("/echo", b"", 64 * 1024).await?;
        let head = String::from_utf8_lossy(&empty.body).to_ascii_lowercase();
        expect(head.contains("\r\ncontent-length: 0\r\n"), "an empty body has a length too")
    }

    async fn carries_the_answer(&self) -> Result<(), Broken> {
        let ok = self.answer("/ok", b"{}", LIMIT).await?;
        let kind = ok.content_type.as_deref();
        expect(ok.status == 200 && &ok.body[..] == b"ok" && !ok.truncated, "status and body come back")?;
        expect(kind.is_some_and(|kind| kind.starts_with("text/plain")), "the content type comes back")?;
        expect(ok.retry_after.is_none(), "a field that is not there is absent")?;
        let throttled = self.answer("/throttled", b"{}", LIMIT).await?;
        let wish = throttled.retry_after.as_deref();
        expect(throttled.status == 429 && wish == Some("7"), "429 and its Retry-After come back")?;
        let empty = self.answer("/empty", b"{}", LIMIT).await?;
        expect(empty.status == 204 && empty.body.is_empty() && !empty.truncated, "204 has no body")?;
        let unknown = self.answer("/no-such-path", b"{}", LIMIT).await?;
        expect(unknown.status == 404, "404 is an answer")
    }

    async fn never_follows(&self) -> Result<(), Broken> {
        for (path, status) in [("/redirect", 307), ("/see-other", 303)] {
            let reply = self.answer(path, b"{}", LIMIT).await?;
            expect(reply.status == status, &format!("{status} comes back as the answer it is"))?;
        }
        expect(self.hits("/forbidden").await? == 0, "a redirect is never followed")
    }

    async fn keeps_the_limit(&self) -> Result<(), Broken> {
        for path in ["/large", "/endless"] {
            let reply = self.answer(path, b"{}", LIMIT).await?;
            let cut = reply.body[..] == [b'x'; LIMIT] && reply.truncated;
            expect(reply.status == 200 && cut, &format!("{path} is cut at the limit"))?;
        }
        let exact = self.answer("/ok", b"{}", 2).await?;
        expect(&exact.body[..] == b"ok" && !exact.truncated, "a body as long as the limit is whole")?;
        let none = self.answer("/ok", b"{}", 0).await?;
        expect(none.body.is_empty() && none.truncated, "a limit of nothing keeps nothing")
    }

    /// A host whose client insists on decoding may do so, if a small answer cannot become a large one.
    async fn never_decodes_beyond_the_limit(&self) -> Result<(), Broken> {
        let reply = self.answer("/gzip", b"{}", LIMIT).await?;
        let as_sent = &reply.body[..] == GZIP && !reply.truncated;
        let decoded = reply.body[..] == [b'a'; LIMIT] && reply.truncated;
        expect(
            reply.status == 200 && (as_sent || decoded),
            "a compressed body is as sent, or cut at the limit",
        )
    }

    async fn keeps_the_time(&self) -> Result<(), Broken> {
        for path in ["/slow", "/stall", "/drip"] {
            let reply = self.post(path, &outbound(b"{}", IMPATIENT, LIMIT)).await;
            let unknown = reply.err() == Some(TransportFailure::Unknown);
            expect(unknown, &format!("{path} is unknown when the whole time is over"))?;
        }
        Ok(())
    }

    async fn never_claims_to_know(&self) -> Result<(), Broken> {
        for path in ["/reset", "/broken", "/garbage"] {
            let before = self.hits(path).await?;
            let reply = self.post(path, &outbound(b"{}", PATIENT, LIMIT)).await;
            let unknown = reply.err() == Some(TransportFailure::Unknown);
            expect(unknown, &format!("{path}: sent and not wholly answered is unknown"))?;
            let hits = self.hits(path).await? - before;
            expect(hits == 1, &format!("{path} is requested once and not {hits} times"))?;
        }
        Ok(())
    }

    async fn keeps_no_cookie(&self) -> Result<(), Broken> {
        let reply = self.answer("/cookie", b"{}", LIMIT).await?;
        let echo = self.answer("/echo", b"{}", 64 * 1024).await?;
        let head = String::from_utf8_lossy(&echo.body).to_ascii_lowercase();
        expect(reply.status == 200 && !head.contains("\r\ncookie:"), "no cookie is kept")
    }
}
