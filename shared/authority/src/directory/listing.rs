//! What each subscription may want: the wants of all its generations that may still plan. Too much costs a
//! question to an authority; too little would lose events, so that narrowing never takes what is new.

use hookproof_core::Refusal;
use hookproof_core::digest::Digest;
use hookproof_core::filter::Subject;
use hookproof_core::id::SubscriptionId;
use hookproof_core::subscription::Wants;
use hookproof_core::time::{Span, Timestamp};
use hookproof_ports::{FromRow, Sql, Value};
use serde::{Deserialize, Serialize};

use super::Tables;
use crate::rows::{from_json, to_json};

/// How long what was listed stays whatever a repair says: far longer than any request lasts between listing
/// a change and staging it, so that a repair that has not seen the change cannot undo its listing.
const SETTLING: Span = Span::hours(1);

/// How long what was listed is not listed again.
const RENEWED: Span = Span::minutes(30);

/// A subscription that may want an event, and by which of its wants.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Matched {
    /// The subscription.
    pub subscription_id: SubscriptionId,
    /// [`Wants::digest`] of each of its wants that the event fits.
    pub filter_digests: Vec<Digest>,
}

/// One of the wants of a subscription.
#[derive(Clone, Serialize, Deserialize)]
struct Listed {
    wants: Wants,
    /// When it was last said to come.
    at: Timestamp,
}

impl<S: Sql> Tables<'_, S> {
    async fn listing(&self, subscription: &SubscriptionId) -> Result<Vec<Listed>, Refusal> {
        let statement = "SELECT record FROM listing WHERE directory = ? AND subscription = ?";
        let rows = self.query(statement, vec![subscription.as_str().into()]).await?;
        rows.first().map_or(Ok(Vec::new()), |row| from_json(row.text(0)?))
    }

    async fn put_listing(&self, subscription: &SubscriptionId, listed: &[Listed]) -> Result<(), Refusal> {
        let statement = "INSERT INTO listing(directory, subscription, record) VALUES(?, ?, ?)
            ON CONFLICT(directory, subscription) DO UPDATE SET record = excluded.record";
        let values = vec![subscription.as_str().into(), to_json(&listed)?.into()];
        self.query(statement, values).await.map(|_| ())
    }

    /// Adds to what a subscription wants; listing the same again renews it.
    pub(super) async fn widen(&self, subscription: &SubscriptionId, wants: Wants) -> Result<(), Refusal> {
        let mut listed = self.listing(subscription).await?;
        if self.renew(&mut listed, wants) { self.put_listing(subscription, &listed).await } else { Ok(()) }
    }

    /// Replaces what a subscription wants, but for what was listed in the last hour. Writes nothing if that
    /// changes nothing.
    pub(super) async fn relist(
        &self,
        subscription: &SubscriptionId,
        wants: Vec<Wants>,
    ) -> Result<(), Refusal> {
        let mut listed = self.listing(subscription).await?;
        let before = listed.len();
        let asked: Vec<Digest> = wants.iter().map(Wants::digest).collect();
        listed.retain(|it| it.at + SETTLING > self.now || asked.contains(&it.wants.digest()));
        let mut changed = listed.len() != before;
        for it in wants {
            changed |= self.renew(&mut listed, it);
        }
        if changed { self.put_listing(subscription, &listed).await } else { Ok(()) }
    }

    /// Notes that `wants` are to come; whether that is news. A repeat soon after is none: half of the time
    /// that is left is still long.
    fn renew(&self, listed: &mut Vec<Listed>, wants: Wants) -> bool {
        let digest = wants.digest();
        let known = listed.iter().find(|it| it.wants.digest() == digest);
        if known.is_some_and(|it| it.at + RENEWED > self.now) {
            return false;
        }
        listed.retain(|it| it.wants.digest() != digest);
        listed.push(Listed { wants, at: self.now });
        true
    }

    /// Every subscription that wants an event by any of its wants.
    pub(super) async fn matching(&self, event: &Subject) -> Result<Vec<Matched>, Refusal> {
        let statement = "SELECT subscription, record FROM listing WHERE directory = ? ORDER BY subscription";
        let mut matched = Vec::new();
        for row in self.query(statement, Vec::new()).await? {
            let listed: Vec<Listed> = from_json(row.text(1)?)?;
            let fitting = listed.iter().filter(|it| it.wants.matches(event));
            let filter_digests: Vec<Digest> = fitting.map(|it| it.wants.digest()).collect();
            if !filter_digests.is_empty() {
                matched.push(Matched { subscription_id: id(row.text(0)?)?, filter_digests });
            }
        }
        Ok(matched)
    }

    pub(super) async fn subscriptions(
        &self,
        after: Option<&SubscriptionId>,
        limit: u32,
    ) -> Result<Vec<SubscriptionId>, Refusal> {
        let statement = "SELECT subscription FROM listing WHERE directory = ? AND subscription > ? ORDER BY subscription LIMIT ?";
        let after = after.map_or("", SubscriptionId::as_str);
        let values = vec![after.into(), Value::Integer(limit.clamp(1, 200).into())];
        self.query(statement, values).await?.iter().map(|row| id(row.text(0)?)).collect()
    }
}

fn id(text: &str) -> Result<SubscriptionId, Refusal> {
    text.parse().map_err(|_| hookproof_core::Reason::InternalCorrupt.into())
}
