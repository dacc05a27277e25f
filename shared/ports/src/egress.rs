//! The one way out: every request to a URL that a tenant chose goes through [`Egress::post`].

use hookproof_core::Reason;
use hookproof_core::endpoint::{
    EgressAssurance, EndpointPolicy, EndpointRefusal, EndpointUrl, Lookup, MAX_ADDRESSES, Permitted,
};

use crate::resolver::{Resolution, Resolver};
use crate::transport::{Outbound, Reply, Transport, TransportFailure};

/// Resolves, vets and sends, anew for each attempt.
pub struct Egress<R, T> {
    /// What an endpoint may be.
    pub policy: EndpointPolicy,
    /// Looks names up.
    pub resolver: R,
    /// Sends.
    pub transport: T,
}

/// What came of a request, and how sure its address was.
#[derive(Debug)]
pub struct Sent {
    /// A reply or the way it failed; policy refusals carry the reason.
    pub result: Result<Reply, SendFailure>,
    /// The assurance of the address dialled, where it came that far.
    pub assurance: Option<EgressAssurance>,
    /// What the lookup for it gave; empty where the host shows nothing.
    pub lookup: Lookup,
}

/// Why there is no reply.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum SendFailure {
    /// The policy refused the endpoint or its addresses; nothing was sent.
    Refused(EndpointRefusal),
    /// The transport failed.
    Transport(TransportFailure),
}

impl SendFailure {
    /// The reason for the journal.
    pub fn reason(&self) -> Reason {
        match self {
            Self::Refused(_) => Reason::EndpointRefused,
            Self::Transport(TransportFailure::NotSent) => Reason::TransportNotSent,
            Self::Transport(TransportFailure::Unknown) => Reason::TransportUnknown,
        }
    }
}

impl<R: Resolver, T: Transport> Egress<R, T> {
    /// POSTs `request` to `url`.
    pub async fn post(&self, url: &EndpointUrl, request: &Outbound) -> Sent {
        let (permitted, lookup) = self.permit(url).await;
        let permitted = match permitted {
            Ok(permitted) => permitted,
            Err(failure) => return Sent { result: Err(failure), assurance: None, lookup },
        };
        let assurance = Some(permitted.assurance());
        let reply = self.transport.send_permitted(request, &permitted).await;
        Sent { result: reply.map_err(SendFailure::Transport), assurance, lookup }
    }

    /// The URL first: a host that is refused whatever it resolves to is not even asked for.
    async fn permit(&self, url: &EndpointUrl) -> (Result<Permitted, SendFailure>, Lookup) {
        if let Err(why) = self.policy.vet(url) {
            return (Err(SendFailure::Refused(why)), Lookup::default().refused(why));
        }
        let (permitted, lookup) = match self.resolver.resolve(url.host()).await {
            Resolution::Addresses(answer) | Resolution::Beforehand(answer)
                if answer.len() > MAX_ADDRESSES =>
            {
                return (Err(SendFailure::Transport(TransportFailure::NotSent)), Lookup::unresolved());
            }
            Resolution::Addresses(answer) => (self.policy.permit(url, &answer), Lookup::of(&answer)),
            Resolution::Beforehand(answer) => {
                (self.policy.permit(url, &answer).map(Permitted::into_preflight), Lookup::of(&answer))
            }
            Resolution::ByPlatform => (self.policy.permit_unresolved(url), Lookup::default()),
            Resolution::ByEnforcingPlatform => (self.policy.permit_host_enforced(url), Lookup::default()),
            Resolution::Failed => {
                return (Err(SendFailure::Transport(TransportFailure::NotSent)), Lookup::unresolved());
            }
        };
        match permitted {
            Ok(permitted) => (Ok(permitted), lookup),
            Err(why) => (Err(SendFailure::Refused(why)), lookup.refused(why)),
        }
    }
}
