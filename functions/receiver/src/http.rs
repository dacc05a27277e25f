//! Requests to calls and refusals to answers; raw strings stop here.

use bytes::Bytes;
use hookproof_authority::api::{
    is_token, json, percent_decode, problem, query_pairs, stranger, unauthorized, with_request_id,
};
use hookproof_authority::inbox::{StateFilter, Wakeup};
use hookproof_core::receiver::SourceName;
use hookproof_core::{Reason, Refusal};
use hookproof_ports::{Clock, Entropy, Journal, Line, Queue, Resolver, Transport};
use http::header::{ALLOW, HeaderValue};
use http::{HeaderMap, Method, Request, Response};
use serde_json::json as value;

use crate::api::{Call, Page, source_name};
use crate::{Objects, Receiver};

/// Items of a page where the caller does not say.
const PAGE: u32 = 50;

/// Most items of a page.
const MAX_PAGE: u32 = 200;

impl<O, Q, R, T, C, N, J> Receiver<O, Q, R, T, C, N, J>
where
    O: Objects,
    Q: Queue<Wakeup>,
    R: Resolver,
    T: Transport,
    C: Clock,
    N: Entropy,
    J: Journal,
{
    /// Answers any request to this function. The entry reads at most one octet more than
    /// [`crate::MAX_BODY`] of the body.
    pub async fn respond(&self, request: &Request<Bytes>) -> Response<Bytes> {
        with_request_id(self.route(request).await, &self.entropy)
    }

    async fn route(&self, request: &Request<Bytes>) -> Response<Bytes> {
        let segments: Vec<&str> = request.uri().path().split('/').skip(1).collect();
        match segments.as_slice() {
            ["in", source] if request.method() == Method::POST => self.take_in(source, request).await,
            ["in", _] => allowing("POST", stranger(405, Reason::MethodNotAllowed.outside())),
            ["receiver", "health"] if request.method() == Method::GET => json(200, &value!({"status": "ok"})),
            ["receiver", "health"] => allowing("GET", stranger(405, Reason::MethodNotAllowed.outside())),
            ["receiver", rest @ ..] => self.operator(request, rest).await,
            _ => stranger(404, Reason::RouteUnknown.outside()),
        }
    }

    async fn operator(&self, request: &Request<Bytes>, rest: &[&str]) -> Response<Bytes> {
        if !self.admits(request.headers()) {
            let reason = Some(Reason::TokenRefused);
            self.journal.record(&Line {
                event: "token refused",
                status: Some(401),
                reason,
                ..Line::default()
            });
            return unauthorized();
        }
        let methods = methods(rest);
        if !methods.is_empty() && !methods.split(", ").any(|method| method == request.method().as_str()) {
            let words = Refusal::new(Reason::MethodNotAllowed, "this path is served under other methods");
            return allowing(methods, problem(&words.at("method", methods)));
        }
        let answer = match call(request, rest) {
            Ok(call) if call.takes_body() && request.body().len() > crate::MAX_BODY => {
                let words = Refusal::new(Reason::BodyTooLarge, "the body is too large");
                Err(words.at("body", "at most 256 KiB"))
            }
            Ok(call) => self.call(call, request.body()).await,
            Err(refusal) => Err(refusal),
        };
        answer.unwrap_or_else(|refusal| problem(&refusal))
    }

    fn admits(&self, headers: &HeaderMap) -> bool {
        self.settings.admin_token.as_ref().is_some_and(|digest| is_token(headers, digest))
    }
}

fn allowing(methods: &'static str, mut answer: Response<Bytes>) -> Response<Bytes> {
    answer.headers_mut().insert(ALLOW, HeaderValue::from_static(methods));
    answer
}

/// The methods of a path below `/receiver/`; none if it is not served.
fn methods(rest: &[&str]) -> &'static str {
    match rest {
        ["sources", _] => "DELETE, GET, PUT",
        ["inbox" | "dead-letters" | "quarantine" | "metrics"] => "GET",
        ["inbox" | "dead-letters", _, _] => "GET",
        ["inbox" | "dead-letters", _, _, "replay"] => "POST",
        _ => "",
    }
}

/// Reads a call; its method is one of [`methods`].
fn call(request: &Request<Bytes>, rest: &[&str]) -> Result<Call, Refusal> {
    let name = |segment: &str| source_name(&percent_decode(segment).unwrap_or_default());
    let item = |segment: &str| {
        let unknown = || Refusal::new(Reason::EventUnknown, "this is not an item's id");
        percent_decode(segment).ok_or_else(unknown)
    };
    match rest {
        ["sources", source] => {
            let name = name(source)?;
            Ok(match *request.method() {
                Method::PUT => Call::PutSource(name),
                Method::DELETE => Call::DeleteSource(name),
                _ => Call::ShowSource(name),
            })
        }
        ["inbox"] => {
            let mut query = Query::read(request, &["source", "state", "cursor", "limit"])?;
            Ok(Call::List(query.source()?, query.page()?, query.state()?))
        }
        ["dead-letters"] => {
            let mut query = Query::read(request, &["source", "cursor", "limit"])?;
            Ok(Call::DeadLetters(query.source()?, query.page()?))
        }
        ["quarantine"] => {
            let mut query = Query::read(request, &["source", "limit"])?;
            Ok(Call::Quarantine(query.source()?, query.page()?))
        }
        ["metrics"] => Ok(Call::Metrics(Query::read(request, &["source"])?.source()?)),
        ["inbox" | "dead-letters", source, id] => Ok(Call::Item(name(source)?, item(id)?)),
        ["inbox" | "dead-letters", source, id, "replay"] => Ok(Call::Replay(name(source)?, item(id)?)),
        _ => Err(Refusal::new(Reason::RouteUnknown, "nothing is served at this path")),
    }
}

/// A query of known names, each at most once.
struct Query(Vec<(String, String)>);

impl Query {
    fn read(request: &Request<Bytes>, names: &[&str]) -> Result<Self, Refusal> {
        let bad = |words: &str, field: &str| {
            Refusal::new(Reason::BodyMalformed, words)
                .at(field, format!("each at most once: {}", names.join(", ")))
        };
        let pairs = query_pairs(request.uri().query().unwrap_or_default())
            .ok_or_else(|| bad("the query cannot be read", "query"))?;
        for (index, (name, _)) in pairs.iter().enumerate() {
            let twice = pairs.iter().take(index).any(|(earlier, _)| earlier == name);
            if twice || !names.contains(&name.as_str()) {
                return Err(bad("the query holds a name that is not taken here, or one twice", name));
            }
        }
        Ok(Self(pairs))
    }

    fn take(&mut self, name: &str) -> Option<String> {
        let at = self.0.iter().position(|(given, _)| given == name)?;
        Some(self.0.swap_remove(at).1)
    }

    fn source(&mut self) -> Result<SourceName, Refusal> {
        source_name(&self.take("source").unwrap_or_default())
    }

    fn state(&mut self) -> Result<Option<StateFilter>, Refusal> {
        let read = |text: String| {
            let words = Refusal::new(Reason::BodyMalformed, "there is no such state");
            StateFilter::parse(&text).ok_or_else(|| words.at("state", StateFilter::ACCEPTED))
        };
        self.take("state").map(read).transpose()
    }

    fn page(&mut self) -> Result<Page, Refusal> {
        let read = |text: String| {
            let number = text.parse().ok().filter(|limit| (1..=MAX_PAGE).contains(limit));
            let words = Refusal::new(Reason::BodyMalformed, "this is not a page's size");
            number.ok_or_else(|| words.at("limit", format!("1 to {MAX_PAGE}")))
        };
        let limit = self.take("limit").map_or(Ok(PAGE), read)?;
        Ok(Page { cursor: self.take("cursor"), limit })
    }
}
