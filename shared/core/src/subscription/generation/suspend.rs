//! Why a generation is SUSPENDED, and what that allows afterwards.

use serde::{Deserialize, Serialize};

/// Why a generation is SUSPENDED.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum SuspendReason {
    /// The certificate of the endpoint changed beyond policy.
    CertificateChanged,
    /// Five attempts in a row were refused for their signing time.
    ClockSkew,
    /// A key was compromised.
    Compromised,
    /// The endpoint's name now leads to entirely other addresses.
    DnsChanged,
    /// The endpoint's name led to an address that is not public.
    DnsPrivate,
    /// The endpoint answered 410.
    EndpointGone,
    /// It failed for too long.
    HealthLimit,
    /// Asked for by an operator; also pause.
    Operator,
    /// The subscription was given to another owner; the next generation is that owner's.
    OwnerChanged,
    /// The endpoint was found to belong to somebody else.
    OwnershipChanged,
    /// A periodic challenge was not answered.
    RecheckFailed,
}

impl SuspendReason {
    /// Every reason.
    pub const ALL: [Self; 11] = [
        Self::CertificateChanged,
        Self::ClockSkew,
        Self::Compromised,
        Self::DnsChanged,
        Self::DnsPrivate,
        Self::EndpointGone,
        Self::HealthLimit,
        Self::Operator,
        Self::OwnerChanged,
        Self::OwnershipChanged,
        Self::RecheckFailed,
    ];

    /// Its name on the wire and in storage.
    pub fn name(self) -> &'static str {
        match self {
            Self::CertificateChanged => "certificate_changed",
            Self::ClockSkew => "clock_skew",
            Self::Compromised => "compromised",
            Self::DnsChanged => "dns_changed",
            Self::DnsPrivate => "dns_private",
            Self::EndpointGone => "endpoint_gone",
            Self::HealthLimit => "health_limit",
            Self::Operator => "operator",
            Self::OwnerChanged => "owner_changed",
            Self::OwnershipChanged => "ownership_changed",
            Self::RecheckFailed => "recheck_failed",
        }
    }

    /// Whether only the recovery credential leads back: a token may be in the wrong hands.
    pub fn needs_recovery(self) -> bool {
        matches!(self, Self::Compromised | Self::OwnershipChanged | Self::CertificateChanged)
    }

    /// Whether deliveries of this generation may never be drained, whatever the policy says: the endpoint
    /// may no longer be its owner's.
    pub fn forces_quarantine(self) -> bool {
        match self {
            Self::CertificateChanged
            | Self::Compromised
            | Self::DnsChanged
            | Self::DnsPrivate
            | Self::EndpointGone
            | Self::OwnerChanged
            | Self::OwnershipChanged
            | Self::RecheckFailed => true,
            Self::ClockSkew | Self::HealthLimit | Self::Operator => false,
        }
    }

    /// Whether `self` says more than `earlier`, so that it takes its place on a suspended generation.
    pub(super) fn outranks(self, earlier: Self) -> bool {
        let rank = |reason: Self| (reason.needs_recovery(), reason.forces_quarantine());
        rank(self) > rank(earlier)
    }
}
