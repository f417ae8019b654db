// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

package law

// Withdrawal is a grace period: a namespace keeps its records and child zones in a zone for a time after the rules
// stopped allowing them.
type Withdrawal struct {
	// Since is the time of the last change that withdrew rules, in Unix seconds.
	Since int64 `json:"since"`
	// Grace is the length in seconds. Passed is the time in seconds that servers ran since then, because a jump of the
	// clock must end no period.
	Grace  int64 `json:"grace,omitempty"`
	Passed int64 `json:"passed,omitempty"`
	// Cause is the Work.Cause of the cascade that began the period.
	Cause string `json:"cause,omitempty"`
	// Now is true if the zone's own namespace has ended the period by an annotation.
	Now bool `json:"now,omitempty"`
	// Records and Zones are digests of the namespace's rules when a cascade last found a withdrawn record or child
	// zone. Once the rules have other digests, nothing counts as withdrawn until a cascade has checked all data again.
	Records Digest `json:"records,omitzero"`
	Zones   Digest `json:"zones,omitzero"`
}

func (w *Withdrawal) IsOver() bool { return w.Now || w.Passed >= w.Grace }

// EndsAt returns the end of the period in Unix seconds, if a server always runs.
func (w *Withdrawal) EndsAt() int64 { return w.Since + w.Grace }

// IsCancelled reports whether the rules allow all data again. After a change of rules, the result is true until a
// cascade finds withdrawn data.
func (w *Withdrawal) IsCancelled(z *Zone, namespace string) bool {
	return w.Records != z.DigestRules(namespace, false) && w.Zones != z.DigestRules(namespace, true)
}

// Uncounted reports whether releases do not count as a mass deletion, because the zone's own namespace could have
// restored the rule or ended the period.
func (w *Withdrawal) Uncounted() bool { return w != nil && (w.Now || w.Grace > 0) }
