//! `Idempotency-Key`: a POST that comes twice under one key does what it did once.

use std::fmt::Display;
use std::str::FromStr;

use hookproof_authority::directory::AskDirectory;
use hookproof_authority::idempotency::Once;
use hookproof_core::digest::Digest;
use hookproof_core::tuple::Tuple;
use hookproof_core::{Reason, Refusal};
use hookproof_ports::{Clock, Entropy, Journal, Queue};

use crate::access::Request;
use crate::routes::Route;
use crate::{Control, Fresh, Objects};

const NAME: &str = "Idempotency-Key";

/// The request's key on its route, if it is a POST and has one.
pub(crate) fn once(route: &Route, request: &Request) -> Result<Option<Once>, Refusal> {
    if route.method != "POST" {
        return Ok(None);
    }
    let mut fields = request.headers().get_all(NAME).iter();
    let Some(field) = fields.next() else { return Ok(None) };
    let fits = |key: &&str| (1..=255).contains(&key.len()) && key.bytes().all(|b| b.is_ascii_graphic());
    let key = field.to_str().ok().filter(fits).filter(|_| fields.next().is_none());
    let key = key.ok_or_else(|| {
        Refusal::new(Reason::BodyMalformed, "the idempotency key is not usable")
            .at(NAME, "one key of 1 to 255 visible ASCII characters")
    })?;
    let asked = Tuple::new("hookproof-request-v1").field(request.uri().path()).field(request.body());
    let (route, key) = (format!("{} {}", route.method, route.path), key.to_owned());
    Ok(Some(Once { route, key, digest: Digest(asked.sha256()) }))
}

impl<O: Objects, Q: Queue<Fresh>, C: Clock, N: Entropy, J: Journal> Control<O, Q, C, N, J> {
    /// The id of what a request makes: the fresh one, or that of the request's first coming, as
    /// `directory` remembers it.
    pub(crate) async fn id_once<T: FromStr + Display>(
        &self,
        directory: &str,
        once: Option<&Once>,
        fresh: T,
    ) -> Result<T, Refusal> {
        let Some(once) = once else { return Ok(fresh) };
        let id = self.objects.remember(directory, once.clone(), fresh.to_string()).await?;
        id.parse().map_err(|_| Reason::InternalCorrupt.into())
    }
}
