// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

package law

// Withdrawal is the grace period of a namespace whose data a zone's rules no longer allow, since the last withdrawing
// write.
type Withdrawal struct {
	// Since is that write's time, unix seconds, for EndsAt alone.
	Since int64 `json:"since"`
	// Grace is the period in seconds, Passed the part in which servers ran: a clock that jumps ends nothing (S3.6).
	Grace  int64 `json:"grace,omitempty"`
	Passed int64 `json:"passed,omitempty"`
	// Cause is the Work.Cause of the cascade that began the period.
	Cause string `json:"cause,omitempty"`
	// Now is true if the zone's own namespace ends the period at once.
	Now bool `json:"now,omitempty"`
	// Records and Zones are digests of the namespace's rules when a cascade last met a withdrawn record or zone. With
	// another digest nothing is withdrawn: all the namespace's data is decided again.
	Records Digest `json:"records,omitzero"`
	Zones   Digest `json:"zones,omitzero"`
}

func (w *Withdrawal) IsOver() bool { return w.Now || w.Passed >= w.Grace }

// EndsAt returns the end of the period, unix seconds, if a server always runs.
func (w *Withdrawal) EndsAt() int64 { return w.Since + w.Grace }

// IsCancelled reports whether the rules allow everything again. The key stays until the period is over, for Records
// with endsAt. After a change of rules it is true until the cascade meets withdrawn data.
func (w *Withdrawal) IsCancelled(z *Zone, namespace string) bool {
	return w.Records != z.DigestRules(namespace, false) && w.Zones != z.DigestRules(namespace, true)
}

// Uncounted reports whether releases do not count for mass deletion (S7.7): the zone's own namespace could restore the
// rule, or ended the period.
func (w *Withdrawal) Uncounted() bool { return w != nil && (w.Now || w.Grace > 0) }
