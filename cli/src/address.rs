//! `address check`: the verdict that every address gets before it is dialled.

use std::net::IpAddr;

use hookproof_core::endpoint::address::classify;

use crate::verdict::Verdict;

/// The verdict on one address.
pub(crate) fn judge(input: &str) -> Verdict {
    let Ok(address) = input.parse::<IpAddr>() else {
        let detail = "The text is no IP address; write four decimal numbers, or an IPv6 address without \
                      brackets and zone.";
        return Verdict::refused(input, "not_an_address", detail.to_owned());
    };
    match classify(address) {
        Ok(()) => {
            let kind = if address.is_ipv4() { "IPv4" } else { "IPv6" };
            Verdict::accepted(input, address.to_string(), format!("a public {kind} address"))
        }
        Err(why) => Verdict::refused(input, why.code(), why.detail()),
    }
}
