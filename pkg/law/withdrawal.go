// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

package law

// What the rules of a zone allow no more stays for the zone's withdrawalGracePeriod: the Records of a namespace and
// the zones below alike (S2.5, S3.6). The time is kept once for each zone and namespace, and begins with the last
// write that took something. It is the time that servers ran, so a clock that jumps ends nothing.
//
// A zone that ends keeps its uid, by which the internal keys of what it had are found. So it is not made anew,
// whatever rule comes, until the cascade has purged them; and the owners and the journal stay until Delivery has
// withdrawn the zone.

// Withdrawal is the time that a namespace has left in a zone for what the rules of that zone allow no more.
type Withdrawal struct {
	// Since is the time of the last write that took something, in unix seconds. No time is counted from it.
	Since int64 `json:"since"`
	// Grace is the period in seconds, and Passed how many of them servers ran, as far as one has written it down.
	Grace  int64 `json:"grace,omitempty"`
	Passed int64 `json:"passed,omitempty"`
	// Cause is the cascade of that write.
	Cause string `json:"cause,omitempty"`
	// Now says that the zone's own namespace ends the period, whatever has passed of it.
	Now bool `json:"now,omitempty"`
	// Records are the rules for records that the namespace had when a cascade last met a withdrawn one, and Zones
	// likewise. Each change of such rules has what they concern decided anew. So where the rules are others now,
	// nothing is withdrawn any more.
	Records Digest `json:"records,omitzero"`
	Zones   Digest `json:"zones,omitzero"`
}

// Over reports whether the period is over.
func (w *Withdrawal) Over() bool { return w.Now || w.Passed >= w.Grace }

// EndsAt is when the period is over if a server always runs, unix seconds.
func (w *Withdrawal) EndsAt() int64 { return w.Since + w.Grace }

// IsCancelled reports whether rules came back for all that was withdrawn. The key stays until the period is over: a
// Record that says endsAt never lacks it. Until the cascade of a change of rules has met what stays withdrawn it is
// reported as well, so a namespace prolongs a period at most once for each such change.
func (w *Withdrawal) IsCancelled(z *Zone, namespace string) bool {
	return w.Records != z.DigestRules(namespace, false) && w.Zones != z.DigestRules(namespace, true)
}

// Uncounted reports whether a mass deletion does not count what is released (S7.5): the zone's own namespace had the
// whole period to put it back, or has said that it goes.
func (w *Withdrawal) Uncounted() bool { return w != nil && (w.Now || w.Grace > 0) }
