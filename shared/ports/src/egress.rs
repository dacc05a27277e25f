//! The one way out: every request to a URL that a tenant chose goes through [`Egress::post`].

use hookproof_core::Reason;
use hookproof_core::endpoint::{EgressAssurance, EndpointPolicy, EndpointRefusal, EndpointUrl, Permitted};

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
        let permitted = match self.permit(url).await {
            Ok(permitted) => permitted,
            Err(failure) => return Sent { result: Err(failure), assurance: None },
        };
        let assurance = Some(permitted.assurance());
        let reply = self.transport.send_permitted(request, &permitted).await;
        Sent { result: reply.map_err(SendFailure::Transport), assurance }
    }

    async fn permit(&self, url: &EndpointUrl) -> Result<Permitted, SendFailure> {
        let permitted = match self.resolver.resolve(url.host()).await {
            Resolution::Addresses(addresses) => self.policy.permit(url, &addresses),
            Resolution::ByPlatform => self.policy.permit_unresolved(url),
            Resolution::ByEnforcingPlatform => self.policy.permit_host_enforced(url),
            Resolution::Failed => return Err(SendFailure::Transport(TransportFailure::NotSent)),
        };
        permitted.map_err(SendFailure::Refused)
    }
}
