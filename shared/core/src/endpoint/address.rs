//! An address is public only if it is in no special-purpose block, and an IPv6 address only if it is
//! also inside 2000::/3: what the tables do not know is refused.
//!
//! Source: the IANA IPv4 and IPv6 Special-Purpose Address Registries (RFC 6890, RFC 8190), the IPv6
//! address space and the multicast registries. Departures, all towards refusal: blocks the registries
//! call globally reachable though no webhook receiver lives there (anycast services, AS112, AMT,
//! ORCHIDv2, DRIP), Azure's 168.63.129.16, and every form that carries an IPv4 address inside an IPv6
//! one. Those are refused whole, never decoded: a decoder is a second opinion on where a packet goes.
//! A network-specific NAT64 prefix (RFC 6052 §2.2) looks like any other address, so a network with such
//! a route must filter it itself.

use std::fmt;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

macro_rules! address_refusals {
    ($($name:ident = $code:literal, $words:literal;)*) => {
        /// Why an address is not public: the special-purpose block it is in.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
        pub enum AddressRefusal {
            $(#[doc = $words] $name,)*
        }

        impl AddressRefusal {
            /// Every refusal, in the order of the table.
            pub const ALL: &'static [Self] = &[$(Self::$name,)*];

            /// The stable code: the block's name after `ipv4_` or `ipv6_`.
            pub fn code(self) -> &'static str {
                match self { $(Self::$name => $code,)* }
            }

            /// What the block is for, and where that is written.
            pub fn words(self) -> &'static str {
                match self { $(Self::$name => $words,)* }
            }
        }
    };
}

address_refusals! {
    V4ThisHost = "ipv4_this_host", "this host (RFC 1122)";
    V4ThisNetwork = "ipv4_this_network", "this network (RFC 791)";
    V4PrivateUse = "ipv4_private_use", "private use (RFC 1918)";
    V4SharedAddressSpaceCgnat = "ipv4_shared_address_space_cgnat", "carrier-grade NAT (RFC 6598)";
    V4Loopback = "ipv4_loopback", "loopback (RFC 1122)";
    V4LinkLocal = "ipv4_link_local", "link-local, cloud metadata among it (RFC 3927)";
    V4CloudMetadata = "ipv4_cloud_metadata", "a cloud platform's own service (Azure WireServer)";
    V4ServiceContinuityPrefix = "ipv4_service_continuity_prefix", "service continuity of DS-Lite (RFC 7335)";
    V4DummyAddress = "ipv4_dummy_address", "the IPv4 dummy address (RFC 7600)";
    V4PcpAnycast = "ipv4_pcp_anycast", "Port Control Protocol anycast (RFC 7723)";
    V4TurnAnycast = "ipv4_turn_anycast", "TURN anycast (RFC 8155)";
    V4Nat64Dns64Discovery = "ipv4_nat64_dns64_discovery", "NAT64 discovery (RFC 7050)";
    V4IetfProtocolAssignments = "ipv4_ietf_protocol_assignments", "IETF protocol assignments (RFC 6890)";
    V4DocumentationTestNet1 = "ipv4_documentation_test_net_1", "documentation (RFC 5737)";
    V4DocumentationTestNet2 = "ipv4_documentation_test_net_2", "documentation (RFC 5737)";
    V4DocumentationTestNet3 = "ipv4_documentation_test_net_3", "documentation (RFC 5737)";
    V4As112 = "ipv4_as112_v4", "an AS112 sink (RFC 7535)";
    V4DirectDelegationAs112 = "ipv4_direct_delegation_as112", "an AS112 sink (RFC 7534)";
    V4Amt = "ipv4_amt", "multicast tunnelling (RFC 7450)";
    V4Deprecated6to4RelayAnycast = "ipv4_deprecated_6to4_relay_anycast", "6to4 relays (RFC 7526)";
    V46a44RelayAnycast = "ipv4_6a44_relay_anycast", "6a44 relays (RFC 6751)";
    V4Benchmarking = "ipv4_benchmarking", "benchmarking (RFC 2544)";
    V4MulticastDocumentation = "ipv4_multicast_documentation", "multicast documentation (RFC 6676)";
    V4Multicast = "ipv4_multicast", "multicast (RFC 5771)";
    V4ReservedClassE = "ipv4_reserved_class_e", "reserved (RFC 1112)";
    V4LimitedBroadcast = "ipv4_limited_broadcast", "limited broadcast (RFC 919)";
    V6Unspecified = "ipv6_unspecified", "unspecified (RFC 4291)";
    V6Loopback = "ipv6_loopback", "loopback (RFC 4291)";
    V6Ipv4Compatible = "ipv6_ipv4_compatible", "IPv4-compatible (RFC 4291)";
    V6Ipv4Mapped = "ipv6_ipv4_mapped", "IPv4-mapped (RFC 4291)";
    V6Ipv4TranslatedSiit = "ipv6_ipv4_translated_siit", "IPv4-translated (RFC 2765)";
    V6Nat64WellKnown = "ipv6_nat64_well_known", "NAT64 (RFC 6052)";
    V6Nat64LocalUse = "ipv6_nat64_local_use", "local NAT64 (RFC 8215)";
    V6ReservedByIetf = "ipv6_reserved_by_ietf", "reserved (RFC 4291)";
    V6DiscardOnly = "ipv6_discard_only", "discard only (RFC 6666)";
    V6DummyPrefix = "ipv6_dummy_prefix", "the IPv6 dummy prefix (RFC 9780)";
    V6ReservedNsap = "ipv6_reserved_nsap", "formerly NSAP (RFC 4048)";
    V6Teredo = "ipv6_teredo", "Teredo (RFC 4380)";
    V6PcpAnycast = "ipv6_pcp_anycast", "Port Control Protocol anycast (RFC 7723)";
    V6TurnAnycast = "ipv6_turn_anycast", "TURN anycast (RFC 8155)";
    V6DnsSdSrpAnycast = "ipv6_dns_sd_srp_anycast", "DNS-SD registration anycast (RFC 9665)";
    V6Benchmarking = "ipv6_benchmarking", "benchmarking (RFC 5180)";
    V6Amt = "ipv6_amt", "multicast tunnelling (RFC 7450)";
    V6As112 = "ipv6_as112_v6", "an AS112 sink (RFC 7535)";
    V6DirectDelegationAs112 = "ipv6_direct_delegation_as112", "an AS112 sink (RFC 7534)";
    V6DeprecatedOrchid = "ipv6_deprecated_orchid", "ORCHID (RFC 4843)";
    V6OrchidV2 = "ipv6_orchid_v2", "ORCHIDv2 (RFC 7343)";
    V6DripDet = "ipv6_drip_det", "drone remote identification (RFC 9374)";
    V6IetfProtocolAssignments = "ipv6_ietf_protocol_assignments", "IETF protocol assignments (RFC 2928)";
    V6Documentation = "ipv6_documentation", "documentation (RFC 3849, RFC 9637)";
    V66to4 = "ipv6_6to4", "6to4 (RFC 3056)";
    V6Isatap = "ipv6_isatap", "ISATAP (RFC 5214)";
    V6Srv6Sids = "ipv6_srv6_sids", "segment routing (RFC 9602)";
    V6UniqueLocal = "ipv6_unique_local", "unique local (RFC 4193)";
    V6LinkLocal = "ipv6_link_local", "link-local (RFC 4291)";
    V6DeprecatedSiteLocal = "ipv6_deprecated_site_local", "site-local (RFC 3879)";
    V6Multicast = "ipv6_multicast", "multicast (RFC 4291)";
    V6OutsideGlobalUnicast = "ipv6_outside_global_unicast", "outside global unicast (RFC 4291)";
}

impl AddressRefusal {
    /// What was wrong and what would be accepted, in a sentence.
    pub fn detail(self) -> String {
        format!("The address is {}; only public unicast addresses are accepted.", self.words())
    }
}

impl fmt::Display for AddressRefusal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", self.code(), self.detail())
    }
}

impl std::error::Error for AddressRefusal {}

/// Whether `address` is public; the refusal names the most specific block that holds it.
pub fn classify(address: IpAddr) -> Result<(), AddressRefusal> {
    match address {
        IpAddr::V4(v4) => classify_v4(v4),
        IpAddr::V6(v6) => classify_v6(v6),
    }
}

/// Every block that is not public, as base and prefix length: for whoever filters by networks. Beside
/// them stand the rest of IPv6 outside 2000::/3, and ISATAP, which is no network.
pub fn blocks() -> impl Iterator<Item = (IpAddr, u32)> {
    let v4 = V4_BLOCKS.iter().map(|block| (IpAddr::V4(block.base), block.length));
    v4.chain(V6_BLOCKS.iter().map(|block| (IpAddr::V6(block.base), block.length)))
}

fn classify_v4(address: Ipv4Addr) -> Result<(), AddressRefusal> {
    let bits = address.to_bits();
    match V4_BLOCKS.iter().find(|block| (bits ^ block.base.to_bits()).leading_zeros() >= block.length) {
        Some(block) => Err(block.why),
        None => Ok(()),
    }
}

fn classify_v6(address: Ipv6Addr) -> Result<(), AddressRefusal> {
    let bits = address.to_bits();
    if let Some(block) =
        V6_BLOCKS.iter().find(|block| (bits ^ block.base.to_bits()).leading_zeros() >= block.length)
    {
        return Err(block.why);
    }
    let [first, .., upper, middle, _, _] = address.segments();
    if first >> 13 != 0b001 {
        return Err(AddressRefusal::V6OutsideGlobalUnicast);
    }
    // RFC 5214 §6.1: interface identifier [ug00]:5efe:<IPv4>, under any prefix.
    if upper & !0x0300 == 0 && middle == 0x5efe {
        return Err(AddressRefusal::V6Isatap);
    }
    Ok(())
}

/// A block of addresses that is not public.
struct Block<A> {
    base: A,
    length: u32,
    why: AddressRefusal,
}

const fn v4(base: [u8; 4], length: u32, why: AddressRefusal) -> Block<Ipv4Addr> {
    let [a, b, c, d] = base;
    Block { base: Ipv4Addr::new(a, b, c, d), length, why }
}

const fn v6(base: [u16; 8], length: u32, why: AddressRefusal) -> Block<Ipv6Addr> {
    let [a, b, c, d, e, f, g, h] = base;
    Block { base: Ipv6Addr::new(a, b, c, d, e, f, g, h), length, why }
}

/// Longest prefix first, so the first match is the most specific one.
const V4_BLOCKS: &[Block<Ipv4Addr>] = &[
    v4([0, 0, 0, 0], 32, AddressRefusal::V4ThisHost),
    v4([168, 63, 129, 16], 32, AddressRefusal::V4CloudMetadata),
    v4([192, 0, 0, 8], 32, AddressRefusal::V4DummyAddress),
    v4([192, 0, 0, 9], 32, AddressRefusal::V4PcpAnycast),
    v4([192, 0, 0, 10], 32, AddressRefusal::V4TurnAnycast),
    v4([192, 0, 0, 170], 32, AddressRefusal::V4Nat64Dns64Discovery),
    v4([192, 0, 0, 171], 32, AddressRefusal::V4Nat64Dns64Discovery),
    v4([192, 88, 99, 2], 32, AddressRefusal::V46a44RelayAnycast),
    v4([255, 255, 255, 255], 32, AddressRefusal::V4LimitedBroadcast),
    v4([192, 0, 0, 0], 29, AddressRefusal::V4ServiceContinuityPrefix),
    v4([192, 0, 0, 0], 24, AddressRefusal::V4IetfProtocolAssignments),
    v4([192, 0, 2, 0], 24, AddressRefusal::V4DocumentationTestNet1),
    v4([192, 31, 196, 0], 24, AddressRefusal::V4As112),
    v4([192, 52, 193, 0], 24, AddressRefusal::V4Amt),
    v4([192, 88, 99, 0], 24, AddressRefusal::V4Deprecated6to4RelayAnycast),
    v4([192, 175, 48, 0], 24, AddressRefusal::V4DirectDelegationAs112),
    v4([198, 51, 100, 0], 24, AddressRefusal::V4DocumentationTestNet2),
    v4([203, 0, 113, 0], 24, AddressRefusal::V4DocumentationTestNet3),
    v4([233, 252, 0, 0], 24, AddressRefusal::V4MulticastDocumentation),
    v4([169, 254, 0, 0], 16, AddressRefusal::V4LinkLocal),
    v4([192, 168, 0, 0], 16, AddressRefusal::V4PrivateUse),
    v4([198, 18, 0, 0], 15, AddressRefusal::V4Benchmarking),
    v4([172, 16, 0, 0], 12, AddressRefusal::V4PrivateUse),
    v4([100, 64, 0, 0], 10, AddressRefusal::V4SharedAddressSpaceCgnat),
    v4([0, 0, 0, 0], 8, AddressRefusal::V4ThisNetwork),
    v4([10, 0, 0, 0], 8, AddressRefusal::V4PrivateUse),
    v4([127, 0, 0, 0], 8, AddressRefusal::V4Loopback),
    v4([224, 0, 0, 0], 4, AddressRefusal::V4Multicast),
    v4([240, 0, 0, 0], 4, AddressRefusal::V4ReservedClassE),
];

/// Longest prefix first. The rest of what lies outside 2000::/3 is refused by [`classify_v6`].
const V6_BLOCKS: &[Block<Ipv6Addr>] = &[
    v6([0, 0, 0, 0, 0, 0, 0, 0], 128, AddressRefusal::V6Unspecified),
    v6([0, 0, 0, 0, 0, 0, 0, 1], 128, AddressRefusal::V6Loopback),
    v6([0x2001, 1, 0, 0, 0, 0, 0, 1], 128, AddressRefusal::V6PcpAnycast),
    v6([0x2001, 1, 0, 0, 0, 0, 0, 2], 128, AddressRefusal::V6TurnAnycast),
    v6([0x2001, 1, 0, 0, 0, 0, 0, 3], 128, AddressRefusal::V6DnsSdSrpAnycast),
    v6([0, 0, 0, 0, 0, 0, 0, 0], 96, AddressRefusal::V6Ipv4Compatible),
    v6([0, 0, 0, 0, 0, 0xffff, 0, 0], 96, AddressRefusal::V6Ipv4Mapped),
    v6([0, 0, 0, 0, 0xffff, 0, 0, 0], 96, AddressRefusal::V6Ipv4TranslatedSiit),
    v6([0x64, 0xff9b, 0, 0, 0, 0, 0, 0], 96, AddressRefusal::V6Nat64WellKnown),
    v6([0x100, 0, 0, 0, 0, 0, 0, 0], 64, AddressRefusal::V6DiscardOnly),
    v6([0x100, 0, 0, 1, 0, 0, 0, 0], 64, AddressRefusal::V6DummyPrefix),
    v6([0x64, 0xff9b, 1, 0, 0, 0, 0, 0], 48, AddressRefusal::V6Nat64LocalUse),
    v6([0x2001, 2, 0, 0, 0, 0, 0, 0], 48, AddressRefusal::V6Benchmarking),
    v6([0x2001, 4, 0x112, 0, 0, 0, 0, 0], 48, AddressRefusal::V6As112),
    v6([0x2620, 0x4f, 0x8000, 0, 0, 0, 0, 0], 48, AddressRefusal::V6DirectDelegationAs112),
    v6([0x2001, 0, 0, 0, 0, 0, 0, 0], 32, AddressRefusal::V6Teredo),
    v6([0x2001, 3, 0, 0, 0, 0, 0, 0], 32, AddressRefusal::V6Amt),
    v6([0x2001, 0xdb8, 0, 0, 0, 0, 0, 0], 32, AddressRefusal::V6Documentation),
    v6([0x2001, 0x10, 0, 0, 0, 0, 0, 0], 28, AddressRefusal::V6DeprecatedOrchid),
    v6([0x2001, 0x20, 0, 0, 0, 0, 0, 0], 28, AddressRefusal::V6OrchidV2),
    v6([0x2001, 0x30, 0, 0, 0, 0, 0, 0], 28, AddressRefusal::V6DripDet),
    v6([0x2001, 0, 0, 0, 0, 0, 0, 0], 23, AddressRefusal::V6IetfProtocolAssignments),
    v6([0x3fff, 0, 0, 0, 0, 0, 0, 0], 20, AddressRefusal::V6Documentation),
    v6([0x2002, 0, 0, 0, 0, 0, 0, 0], 16, AddressRefusal::V66to4),
    v6([0x5f00, 0, 0, 0, 0, 0, 0, 0], 16, AddressRefusal::V6Srv6Sids),
    v6([0xfe80, 0, 0, 0, 0, 0, 0, 0], 10, AddressRefusal::V6LinkLocal),
    v6([0xfec0, 0, 0, 0, 0, 0, 0, 0], 10, AddressRefusal::V6DeprecatedSiteLocal),
    v6([0, 0, 0, 0, 0, 0, 0, 0], 8, AddressRefusal::V6ReservedByIetf),
    v6([0xff00, 0, 0, 0, 0, 0, 0, 0], 8, AddressRefusal::V6Multicast),
    v6([0x200, 0, 0, 0, 0, 0, 0, 0], 7, AddressRefusal::V6ReservedNsap),
    v6([0xfc00, 0, 0, 0, 0, 0, 0, 0], 7, AddressRefusal::V6UniqueLocal),
];

#[cfg(test)]
mod tests {
    use super::*;

    fn refusal(text: &str) -> Option<AddressRefusal> {
        classify(text.parse().unwrap()).err()
    }

    #[test]
    fn codes_are_unique_and_say_the_family() {
        let mut codes: Vec<_> = AddressRefusal::ALL.iter().map(|refusal| refusal.code()).collect();
        assert!(codes.iter().all(|code| code.starts_with("ipv4_") || code.starts_with("ipv6_")));
        codes.sort_unstable();
        codes.dedup();
        assert_eq!(codes.len(), AddressRefusal::ALL.len());
    }

    #[test]
    fn the_first_match_is_the_longest() {
        assert!(V4_BLOCKS.is_sorted_by(|a, b| a.length >= b.length));
        assert!(V6_BLOCKS.is_sorted_by(|a, b| a.length >= b.length));
    }

    #[test]
    fn every_block_holds_its_own_edges_and_is_reachable() {
        for block in V4_BLOCKS {
            let host_bits = u32::MAX.checked_shr(block.length).unwrap_or(0);
            assert_eq!(block.base.to_bits() & host_bits, 0, "{}", block.base);
            let last = Ipv4Addr::from_bits(block.base.to_bits() | host_bits);
            assert!(classify(block.base.into()).is_err() && classify(last.into()).is_err());
        }
        for block in V6_BLOCKS {
            let host_bits = u128::MAX.checked_shr(block.length).unwrap_or(0);
            assert_eq!(block.base.to_bits() & host_bits, 0, "{}", block.base);
            let last = Ipv6Addr::from_bits(block.base.to_bits() | host_bits);
            assert!(classify(block.base.into()).is_err() && classify(last.into()).is_err());
        }
        // The two that no table row gives: the rest of the space, and ISATAP.
        let in_tables = V4_BLOCKS.iter().map(|b| b.why).chain(V6_BLOCKS.iter().map(|b| b.why));
        let mut used: Vec<_> = in_tables.map(AddressRefusal::code).collect();
        used.sort_unstable();
        used.dedup();
        assert_eq!(used.len() + 2, AddressRefusal::ALL.len());
    }

    #[test]
    fn an_ipv6_address_outside_2000_3_is_never_public() {
        for first in 0..=u16::MAX {
            let public = classify(Ipv6Addr::new(first, 0x1234, 5, 6, 7, 8, 9, 10).into()).is_ok();
            assert!(!public || first >> 13 == 1, "{first:x}");
        }
    }

    #[test]
    fn an_isatap_identifier_is_refused_under_any_prefix() {
        assert_eq!(refusal("2600:1f18::5efe:a00:1"), Some(AddressRefusal::V6Isatap));
        assert_eq!(refusal("2600:1f18::200:5efe:a00:1"), Some(AddressRefusal::V6Isatap));
        assert_eq!(refusal("2600:1f18::400:5efe:a00:1"), None);
        assert_eq!(refusal("2600:1f18:0:5efe::1"), None);
    }

    #[test]
    fn the_detail_says_what_would_be_accepted() {
        let shown = AddressRefusal::V4PrivateUse.to_string();
        assert!(shown.starts_with("ipv4_private_use: The address is private use (RFC 1918); "));
        assert!(shown.ends_with("only public unicast addresses are accepted."));
    }
}
