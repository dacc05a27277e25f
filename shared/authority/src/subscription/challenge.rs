//! Challenges: issued and judged here; sending and waiting is the caller's.

use hookproof_core::challenge::{
    Challenge, LIFETIME, Nonces, ProbeMap, ProvedKey, Purpose, TRIES, Verifier, judge,
};
use hookproof_core::digest::Digest;
use hookproof_core::endpoint::Lookup;
use hookproof_core::id::{ChallengeId, Generation};
use hookproof_core::keys::{Purpose as KeyPurpose, derive};
use hookproof_core::signature::{Alg, Fields, Message, SigningKey, VerifyKey, profile, sign, thumbprint};
use hookproof_core::subscription::{GenerationState, ReceiptContract, SuspendReason};
use hookproof_core::time::Span;
use hookproof_core::{Reason, Refusal, base64};
use hookproof_ports::{Sql, random};

use super::command::{ChallengeOutcome, ChallengeRequest, Described, HeaderField};
use super::evidence::What;
use super::session::{LoadedGeneration, Session};
use super::store::CredentialRow;

/// Longest time for the decoy and for the question: five seconds in all.
const TIMEOUTS: (Span, Span) = (Span::seconds(2), Span::seconds(3));

/// Wait before the next try.
const RETRY: Span = Span::seconds(5);

/// Until what serves has to prove itself again.
const RECHECK: Span = Span::days(30);

/// Wait before the next try of that: an outage of minutes must not suspend anybody.
const RECHECK_RETRY: Span = Span::hours(1);

/// How long a judged answer may be on its way before the try counts as failed.
const PATIENCE: Span = Span::seconds(60);

/// A signed challenge: the question, or its decoy.
struct Signed {
    fields: Vec<HeaderField>,
    body: Vec<u8>,
    signature_input: String,
}

impl<S: Sql> Session<'_, S> {
    /// Makes a challenge due for every generation that waits for one.
    pub(super) async fn request_challenge(&mut self, consent: Option<&str>) -> Result<Described, Refusal> {
        self.refuse_before_recovery()?;
        if let Some(signature) = consent {
            self.consent(signature).await?;
        }
        self.refuse_without_consent()?;
        let pending =
            |g: &&LoadedGeneration| matches!(g.record.state, GenerationState::PendingChallenge { .. });
        let waiting: Vec<_> = self.generations.iter().filter(pending).cloned().collect();
        if waiting.is_empty() {
            // Asking again once it is active changes nothing: the call is idempotent.
            return match &self.shown()?.record.state {
                GenerationState::Active { .. } | GenerationState::Rotating { .. } => self.describe().await,
                GenerationState::PendingChallenge { .. }
                | GenerationState::Suspended { .. }
                | GenerationState::Draining { .. }
                | GenerationState::Closed { .. }
                | GenerationState::Revoked { .. }
                | GenerationState::Expired { .. } => {
                    let words =
                        format!("a {} subscription takes no challenge", self.shown()?.record.state.name());
                    Err(Refusal::new(Reason::StateForbids, words))
                }
            };
        }
        for generation in waiting {
            self.make_challenge_due(generation).await?;
        }
        self.describe().await
    }

    async fn make_challenge_due(&mut self, mut generation: LoadedGeneration) -> Result<(), Refusal> {
        let now = self.now();
        let outstanding = self.tables.challenge(generation.record.generation).await?.is_some();
        // Its answer may be on the way; another one would take its place.
        if outstanding && generation.challenge_due.is_some_and(|due| due > now) {
            return Ok(());
        }
        generation.record.challenge_tries = 0;
        generation.record.last_challenge_failure = None;
        generation.challenge_due = Some(now);
        self.save_generation(generation).await
    }

    /// Draws and signs the challenge that is due; `None` when none is (a doubled or late message).
    pub(super) async fn issue_challenge(&mut self) -> Result<Option<ChallengeRequest>, Refusal> {
        let now = self.now();
        let due = |g: &&LoadedGeneration| {
            g.challenge_due.is_some_and(|due| due <= now) && g.record.challenge_purpose().is_some()
        };
        let Some(mut generation) = self.generations.iter().find(due).cloned() else { return Ok(None) };
        let purpose = generation.record.challenge_purpose().ok_or(Reason::InternalCorrupt)?;
        if generation.record.challenge_tries >= TRIES {
            generation.challenge_due = None;
            self.save_generation(generation).await?;
            return Ok(None);
        }
        let number = generation.record.generation;
        let credentials = self.tables.credentials(number).await?;
        let row =
            credentials.iter().find(|row| row.credential.signs_challenges()).ok_or(Reason::KeyNotUsable)?;
        let key = self.open_signing_key(&generation, row)?;
        let (challenge, question) = self.draw(&generation, purpose, row, &key)?;
        let (_, decoy) = self.draw(&generation, purpose, row, &key)?;
        let nonce_of_decoy = nonce_in(&decoy.body)?;
        self.tables.put_challenge(&challenge).await?;
        generation.record.challenge_tries += 1;
        generation.challenge_due = Some(now + PATIENCE);
        let endpoint = generation.record.terms.endpoint.clone();
        self.save_generation(generation).await?;
        self.record(What::ChallengeIssued {
            challenge_id: challenge.id.clone(),
            generation: number,
            purpose: challenge.purpose,
            key_id: challenge.key_id.clone(),
            body_digest: challenge.body_digest,
        })
        .await?;
        Ok(Some(ChallengeRequest {
            challenge_id: challenge.id,
            endpoint,
            decoy_fields: decoy.fields,
            decoy_body: text(Challenge::bend(&decoy.body, &nonce_of_decoy))?,
            fields: question.fields,
            body: text(question.body)?,
            signature_input: question.signature_input,
            key_id: challenge.key_id,
            decoy_timeout: TIMEOUTS.0,
            timeout: TIMEOUTS.1,
        }))
    }

    fn draw(
        &self,
        generation: &LoadedGeneration,
        purpose: Purpose,
        row: &CredentialRow,
        key: &SigningKey,
    ) -> Result<(Challenge, Signed), Refusal> {
        let (now, entropy) = (self.now(), self.context.entropy);
        let record = &generation.record;
        let scope = self.scope(record.generation);
        let (proof_alg, proof_key_id) = match &record.terms.receipt {
            ReceiptContract::Ed25519 { public_key } => (
                Alg::Ed25519,
                thumbprint(&base64::array_from_url(public_key).ok_or(Reason::InternalCorrupt)?),
            ),
            ReceiptContract::None | ReceiptContract::HmacSha256 => {
                (Alg::HmacSha256, row.credential.key_id.clone())
            }
        };
        // The first challenge after a change of key is the one that the old key consented to.
        let agreed = record.key_change.as_ref().filter(|_| record.challenge_tries == 0);
        let id = agreed.map(|change| change.challenge_id.clone());
        let draft = Challenge {
            id: id.unwrap_or_else(|| ChallengeId::mint(&self.authority.id_key, now, random(entropy))),
            purpose,
            scope: scope.clone(),
            endpoint_digest: record.terms.endpoint.digest(),
            nonce: String::new(),
            issued_at: now,
            expires_at: now + LIFETIME,
            profile: record.terms.profile.clone(),
            key_id: row.credential.key_id.clone(),
            key_commitment: Digest([0; 32]),
            proof_alg,
            proof_key_id,
            body_digest: Digest([0; 32]),
            probe_map: 0,
        };
        let probe_map = (0..64)
            .find_map(|_| ProbeMap::draw(u32::from_be_bytes(random(entropy))))
            .ok_or(Reason::InternalHost)?;
        let nonces = Nonces { nonce: random(entropy), probe_map };
        let issued = match row.credential.alg {
            Alg::Ed25519 => Challenge::issue(draft, &ProvedKey::Ed25519(key), &nonces),
            Alg::HmacSha256 => {
                let secret = self.open_secret(record.generation, row)?;
                let deliver = derive(
                    &secret,
                    KeyPurpose::Deliver,
                    &scope,
                    &row.credential.key_id,
                    &record.terms.profile,
                );
                Challenge::issue(draft, &ProvedKey::Hmac(&deliver), &nonces)
            }
        };
        let signed = self.sign_challenge(generation, &issued.challenge, issued.body, key)?;
        Ok((issued.challenge, signed))
    }

    fn sign_challenge(
        &self,
        generation: &LoadedGeneration,
        challenge: &Challenge,
        body: Vec<u8>,
        key: &SigningKey,
    ) -> Result<Signed, Refusal> {
        let mut fields = vec![
            ("content-type".to_owned(), "application/json".to_owned()),
            ("content-digest".to_owned(), challenge.body_digest.content_digest()),
            ("webhook-id".to_owned(), challenge.id.to_string()),
            ("webhook-subscription".to_owned(), self.subscription.to_string()),
            ("webhook-generation".to_owned(), challenge.scope.generation.to_string()),
        ];
        let lines: Fields = fields.iter().map(|(name, value)| (name, value)).collect();
        let message = Message::request("POST", generation.record.terms.endpoint.as_str(), &lines);
        let created = self.now().unix();
        let expires = created + LIFETIME.as_millis() / 1000;
        let signed = sign(&profile::CHALLENGE, &message, created, expires, &challenge.key_id, key)?;
        fields.push(("signature-input".to_owned(), signed.signature_input.clone()));
        fields.push(("signature".to_owned(), signed.signature));
        Ok(Signed { fields, body, signature_input: signed.signature_input })
    }

    /// Judges what came back. Consuming the challenge and activating are one commit, so two answers
    /// activate once.
    pub(super) async fn judge_challenge(
        &mut self,
        id: &ChallengeId,
        outcome: ChallengeOutcome,
        lookup: &Lookup,
    ) -> Result<Option<Reason>, Refusal> {
        let Some(challenge) = self.tables.challenge_by_id(id).await? else {
            return Ok(Some(Reason::ChallengeConsumed));
        };
        if !self.tables.consume_challenge(id).await? {
            return Ok(Some(Reason::ChallengeConsumed));
        }
        let number = challenge.scope.generation;
        let mut generation = self.generation(number)?.clone();
        let before = generation.record.state.clone();
        let verdict = match self.verdict(&generation, &challenge, outcome).await? {
            Ok(proved) => before.clone().activate(proved, self.now()),
            Err(reason) => Err(reason),
        };
        let reason = verdict.as_ref().err().copied();
        self.record(What::ChallengeJudged { challenge_id: id.clone(), generation: number, reason }).await?;
        match verdict {
            Ok(active) => {
                generation.record.addresses.learn(lookup, self.now());
                self.proved(generation, active).await?;
            }
            Err(reason) => {
                self.not_proved(generation, reason).await?;
                if lookup.is_not_public() {
                    self.suspend(number, SuspendReason::DnsPrivate).await?;
                }
            }
        }
        Ok(reason)
    }

    async fn proved(
        &mut self,
        mut generation: LoadedGeneration,
        active: GenerationState,
    ) -> Result<(), Refusal> {
        let number = generation.record.generation;
        generation.record.challenge_tries = 0;
        generation.record.last_challenge_failure = None;
        generation.challenge_due = Some(self.now() + RECHECK);
        self.move_generation(generation, active).await?;
        self.supersede(number).await
    }

    /// A try failed. A generation that waits is asked again soon, one that serves later; when its tries are
    /// used up, the first needs a new request and the second is suspended.
    pub(super) async fn not_proved(
        &mut self,
        mut generation: LoadedGeneration,
        reason: Reason,
    ) -> Result<(), Refusal> {
        generation.record.last_challenge_failure = Some(reason);
        let again = generation.record.challenge_tries < TRIES;
        let (number, serves) =
            (generation.record.generation, matches!(generation.record.state, GenerationState::Active { .. }));
        let wait = match &generation.record.state {
            GenerationState::PendingChallenge { .. } => Some(RETRY),
            GenerationState::Active { .. } => Some(RECHECK_RETRY),
            GenerationState::Rotating { .. }
            | GenerationState::Suspended { .. }
            | GenerationState::Draining { .. }
            | GenerationState::Closed { .. }
            | GenerationState::Revoked { .. }
            | GenerationState::Expired { .. } => None,
        };
        generation.challenge_due = wait.filter(|_| again).map(|wait| self.now() + wait);
        self.save_generation(generation).await?;
        if serves && !again {
            self.suspend(number, SuspendReason::RecheckFailed).await?;
        }
        Ok(())
    }

    async fn verdict(
        &self,
        generation: &LoadedGeneration,
        challenge: &Challenge,
        outcome: ChallengeOutcome,
    ) -> Result<Result<hookproof_core::challenge::Proved, Reason>, Refusal> {
        let body = match outcome {
            ChallengeOutcome::DecoyAnswered => return Ok(Err(Reason::ChallengeVerifierAbsent)),
            ChallengeOutcome::Failed { reason } => return Ok(Err(reason)),
            ChallengeOutcome::Answered { status: 300..=399, .. } => return Ok(Err(Reason::RedirectRefused)),
            ChallengeOutcome::Answered { status: 200, content_type, body: Some(body) }
                if is_json(content_type.as_deref()) =>
            {
                body
            }
            ChallengeOutcome::Answered { status: 200, body: Some(body), .. }
                if body.contains(&challenge.nonce) =>
            {
                return Ok(Err(Reason::ChallengeEchoed));
            }
            ChallengeOutcome::Answered { .. } => return Ok(Err(Reason::ChallengeNoAnswer)),
        };
        let key = self.proof_key(generation, challenge).await?;
        let Some(key) = key else { return Ok(Err(Reason::KeyNotUsable)) };
        let verifier = Verifier { key: &key, key_id: &challenge.proof_key_id };
        Ok(judge(challenge, body.as_bytes(), &verifier, self.now()))
    }

    /// What the proof is checked with, provided the key being proved may still sign challenges.
    async fn proof_key(
        &self,
        generation: &LoadedGeneration,
        challenge: &Challenge,
    ) -> Result<Option<VerifyKey>, Refusal> {
        let number: Generation = generation.record.generation;
        let credentials = self.tables.credentials(number).await?;
        let proved = credentials.iter().find(|row| row.credential.key_id == challenge.key_id);
        let Some(row) = proved.filter(|row| row.credential.signs_challenges()) else { return Ok(None) };
        match &generation.record.terms.receipt {
            ReceiptContract::Ed25519 { public_key } => {
                let octets: [u8; 32] = base64::array_from_url(public_key).ok_or(Reason::InternalCorrupt)?;
                Ok(Some(VerifyKey::ed25519(&octets)?))
            }
            ReceiptContract::None | ReceiptContract::HmacSha256 => {
                let secret = self.open_secret(number, row)?;
                let profile = &generation.record.terms.profile;
                let key = derive(
                    &secret,
                    KeyPurpose::Challenge,
                    &self.scope(number),
                    &row.credential.key_id,
                    profile,
                );
                Ok(Some(VerifyKey::hmac(key)))
            }
        }
    }
}

fn is_json(content_type: Option<&str>) -> bool {
    let kind = content_type.and_then(|value| value.split(';').next());
    kind.is_some_and(|kind| kind.trim().eq_ignore_ascii_case("application/json"))
}

fn text(body: Vec<u8>) -> Result<String, Refusal> {
    String::from_utf8(body).map_err(|_| Reason::InternalCorrupt.into())
}

fn nonce_in(body: &[u8]) -> Result<String, Refusal> {
    let read: hookproof_core::challenge::ChallengeBody =
        hookproof_core::json::read(body).ok_or(Reason::InternalCorrupt)?;
    Ok(read.nonce)
}
