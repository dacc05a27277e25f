//! `endpoint check`: the verdict that control gives at registration and dispatch before each attempt.

use std::net::IpAddr;

use hookproof_core::endpoint::{EndpointPolicy, EndpointRefusal, EndpointUrl};

use crate::arguments::EndpointCheck;
use crate::verdict::Verdict;

/// Judges URLs under one policy and one answer of a resolver.
#[derive(Debug)]
pub(crate) struct Judge<'a> {
    policy: EndpointPolicy,
    resolved: &'a [IpAddr],
}

impl<'a> Judge<'a> {
    /// As the arguments say; never with the exceptions for local development.
    pub(crate) fn new(arguments: &'a EndpointCheck) -> Self {
        let policy = EndpointPolicy { allow_8443: arguments.allow_8443, ..EndpointPolicy::default() };
        Self { policy, resolved: &arguments.resolved }
    }

    /// The verdict on one URL.
    pub(crate) fn judge(&self, input: &str) -> Verdict {
        match self.vet(input) {
            Ok(url) => Verdict::accepted(input, url.as_str().to_owned(), self.remark(&url)),
            Err(why) => Verdict::refused(input, why.code(), why.detail()),
        }
    }

    fn vet(&self, input: &str) -> Result<EndpointUrl, EndpointRefusal> {
        let url = EndpointUrl::parse(input, &self.policy)?;
        if !self.resolved.is_empty() {
            self.policy.permit(&url, self.resolved)?;
        }
        Ok(url)
    }

    fn remark(&self, url: &EndpointUrl) -> String {
        let kind = match url.literal() {
            Some(IpAddr::V4(_)) => "an IPv4 address",
            Some(IpAddr::V6(_)) => "an IPv6 address",
            None if self.resolved.is_empty() => "a name; its addresses are judged once it is resolved",
            None => "a name; every address given for it is public",
        };
        format!("host: {}, {kind}", url.host())
    }
}
