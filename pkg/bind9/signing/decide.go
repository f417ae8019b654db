// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

package signing

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"kubi.zone/kubizone/api/kubizone/v1alpha1"
	"kubi.zone/kubizone/pkg/bind9/agent/client"
	"kubi.zone/kubizone/pkg/bind9/agent/protocol"
)

const (
	dsRumoured    = "rumoured"
	dsOmnipresent = "omnipresent"
	dsUnretentive = "unretentive"
)

// facts is the input of decideNext, which decides the next step of a zone. The caller sets only the fields that the
// phase in status.dnssec needs.
type facts struct {
	now    time.Time
	status *v1alpha1.ZoneDNSSECStatus
	// policy is the wanted DNSSEC policy, "" for an unsigned zone. blocked says why the zone cannot be signed; ""
	// otherwise.
	policy, blocked string
	times           times          // of the policy
	signing         client.Signing // the zone at the signer
	// otherKeys is true if the signer has keys that another namespace had under the zone's name.
	otherKeys bool
	// current is true if the signer has signed the settled serial (the last serial for name servers) or a later one.
	current bool
	// unsigned says which server lacks a key of the signer, and signed which server still has any; "" means none.
	unsigned, signed string
	// passed is true if no server that answers has a serial ahead of the zone's.
	passed bool
	parent
}

// parent has the DS records of a zone at the name servers of the parent zone. A rollover waits until all of them have a
// new key's DS, and until none has an old key's.
type parent struct {
	// readFailure says why the DS are unknown; "" otherwise.
	readFailure string
	// external is true if this server does not have the parent zone. Then a person enters the DS there.
	external bool
	// dsAtAll has the DS at all servers of the parent, dsAtAny the DS at one server or more.
	dsAtAll, dsAtAny []v1alpha1.DelegationSigner
	// ttl is the TTL of the DS, or of the zone's NS if the DS is derived.
	ttl time.Duration
}

func (p *parent) explain() string {
	next := ""
	if p.external {
		next = "; publish status.dnssec.ds there"
	}
	if p.readFailure != "" {
		next += ": " + p.readFailure
	}
	return next
}

type times struct {
	maxZoneTTL, parentDSTTL, dnskey time.Duration
}

type action int

const (
	nothing     action = iota
	ensure             // create the zone at the signer, or change its policy
	remove             // remove the zone and its keys
	passServers        // raise the zone's serial past its servers'
	// repeat the NOTIFY, because a server without the signed zone would query the signer only after the SOA's refresh,
	// a day
	remind
)

type dsReport struct {
	keyTag uint16
	state  string // protocol.DSPublished or DSWithdrawn
}

type decision struct {
	action       action
	reports      []dsReport
	status       *v1alpha1.ZoneDNSSECStatus
	requeueAfter time.Duration
	awaitsDS     bool
}

const (
	// Delays until the next sync while servers lag, without a signer, and while keys age.
	pendingInterval, blockedInterval, settledInterval = 2 * time.Second, 30 * time.Second, 10 * time.Minute
)

// decideNext returns the next action, the DS reports for named, and the new status.dnssec (nil to clear). It reads only
// facts, so a test can pose any case. A zone enters at most one phase in a decision.
func decideNext(f *facts) decision {
	d := decision{status: cmp.Or(f.status.DeepCopy(), &v1alpha1.ZoneDNSSECStatus{}), requeueAfter: pendingInterval}
	d.noteTTL(f)
	switch d.status.Phase {
	case "":
		d.decideUnsigned(f)
	case v1alpha1.DNSSECSigning:
		d.decideSigning(f)
	case v1alpha1.DNSSECMoving:
		d.decideMoving(f)
	case v1alpha1.DNSSECSigned:
		d.decideSigned(f)
	case v1alpha1.DNSSECWithdrawing:
		d.decideWithdrawing(f)
	case v1alpha1.DNSSECExpiring:
		d.decideExpiring(f)
	case v1alpha1.DNSSECReturning:
		d.decideReturning(f)
	}
	return d
}

// maxDSTTL limits the TTL of a DS to wait for, unless the policy's is longer. A parent may answer any TTL, and BIND's
// resolver caches no answer for longer (max-cache-ttl).
const maxDSTTL = 7 * 24 * time.Hour

// noteTTL keeps the longest TTL of the DS in the status, because resolvers may cache a removed DS that long.
func (d *decision) noteTTL(f *facts) {
	seconds := min(f.ttl, max(maxDSTTL, f.times.parentDSTTL)) / time.Second
	d.status.LongestDSTTL = max(d.status.LongestDSTTL, int32(seconds))
}

func metaTime(t time.Time) metav1.Time { return metav1.NewTime(t.Truncate(time.Second)) }

func (d *decision) setMessage(format string, arguments ...any) {
	d.status.Message = fmt.Sprintf(format, arguments...)
}

func (d *decision) enter(f *facts, phase v1alpha1.DNSSECPhase, format string, arguments ...any) {
	d.status.Phase = phase
	now := metaTime(f.now)
	d.status.LastTransitionTime = &now
	d.setMessage(format, arguments...)
}

func (d *decision) timeInPhase(f *facts) time.Duration {
	if d.status.LastTransitionTime == nil {
		return 0
	}
	return f.now.Sub(d.status.LastTransitionTime.Time)
}

// canSign reports whether the zone is to be signed, and can be.
func (f *facts) canSign() bool { return f.policy != "" && f.blocked == "" }

func (d *decision) decideUnsigned(f *facts) {
	switch {
	case f.canSign():
		d.enter(f, v1alpha1.DNSSECSigning, "the signer makes the zone")
	case f.policy != "":
		d.setMessage("the zone is not signed: %s", f.blocked)
		d.requeueAfter = blockedInterval
	default:
		d.status = nil
	}
}

// hasSigned reports whether the signer serves the settled serial signed.
func (f *facts) hasSigned() bool {
	return f.signing.Status.Signed && len(f.signing.DS) > 0 && f.current
}

// The caller ensures that no cache has a DS.
func (d *decision) endSigning(f *facts) {
	d.enter(f, v1alpha1.DNSSECReturning, "the servers go back to the unsigned zone")
}

func (d *decision) decideSigning(f *facts) {
	switch {
	// No server has the signed zone yet, so going back is free.
	case !f.canSign():
		d.endSigning(f)
	// Signatures that team-a kept must not be valid for the zone of team-b.
	case f.otherKeys:
		d.action = remove
		d.setMessage("the signer removes the zone and the keys that another namespace had under this name")
	case !f.signing.Present || f.signing.Status == nil || d.status.Policy != f.policy:
		d.action, d.status.Policy = ensure, f.policy
		d.setMessage("the signer makes the zone")
	// Servers that moved now would transfer a zone without signatures, or an old serial.
	case !f.hasSigned():
		d.setMessage("the signer transfers and signs the zone")
	default:
		d.enter(f, v1alpha1.DNSSECMoving, "the servers go over to the signed zone")
	}
}

// After a loss, other keys must not sign the zone (G4).
func (d *decision) reportLostKeys(f *facts) bool {
	if f.signing.Present {
		return false
	}
	d.setMessage("KeysLost: the signer has lost the zone and its keys, and does not sign with new keys: restore the claim of the " +
		"signer, or remove spec.dnssec and set it again when status.dnssec is gone")
	return true
}

func (d *decision) decideMoving(f *facts) {
	switch {
	case f.policy == "":
		d.endSigning(f)
	case d.reportLostKeys(f):
	case f.unsigned != "":
		d.action = remind
		d.setMessage("the servers go over to the signed zone: %s", f.unsigned)
	default:
		d.enter(f, v1alpha1.DNSSECSigned, "answers without signatures leave the caches")
	}
}

// decideSigned follows a signed zone: a changed policy, new keys, and the DS at the parent. It never goes back to
// unsigned while the parent may have a DS.
func (d *decision) decideSigned(f *facts) {
	switch {
	case f.policy == "":
		d.status.DS = nil
		d.enter(f, v1alpha1.DNSSECWithdrawing, "the DS leaves the parent")
		return
	case d.reportLostKeys(f):
		return
	case f.blocked == "" && f.policy != d.status.Policy:
		d.action, d.status.Policy = ensure, f.policy
		d.setMessage("the zone goes over to another policy")
		return
	case f.signing.Status == nil:
		d.setMessage("the signer does not say how the zone is signed")
		return
	}

	// 1. Before the first DS, let unsigned answers leave the caches (G2).
	wanted := wantedDS(f)
	if wait := f.times.maxZoneTTL - d.timeInPhase(f); len(d.status.DS) == 0 && wait > 0 {
		d.setMessage("answers without signatures leave the caches, until %s", f.now.Add(wait).UTC().Format(time.RFC3339))
		d.requeueAfter = min(max(wait, time.Second), settledInterval)
		return
	}

	// 2. Before a new DS, let every server answer with the key.
	added := slices.ContainsFunc(wanted, func(ds v1alpha1.DelegationSigner) bool { return !slices.Contains(d.status.DS, ds) })
	if added && f.unsigned != "" {
		d.action = remind
		d.setMessage("a new key waits for the servers: %s", f.unsigned)
		return
	}

	// 3. Request the DS, and see how far the parent is.
	if !slices.Equal(wanted, d.status.DS) {
		now := metaTime(f.now)
		d.status.DS, d.status.LastTransitionTime = wanted, &now
	}

	d.watchParent(f, wanted)
}

// maxDS limits the DS in the status, maxWaiting the keys whose DS the parent lacks.
const maxDS, maxWaiting = 16, 3

// wantedDS returns the DS records that the parent should have. DSState is named's state of a key's DS: rumoured (new),
// omnipresent (in all caches) or unretentive (of a replaced key).
func wantedDS(f *facts) []v1alpha1.DelegationSigner {
	needed := map[uint16]bool{}
	for _, key := range f.signing.Status.Keys {
		isCurrent := key.DSState == dsRumoured || key.DSState == dsOmnipresent
		isReplaced := key.DSState == dsUnretentive
		if isCurrent || isReplaced && f.keepsReplaced(key.Tag) {
			needed[key.Tag] = true
		}
	}

	wanted := []v1alpha1.DelegationSigner{}
	for _, ds := range f.signing.DS {
		if needed[ds.KeyTag] {
			wanted = append(wanted, v1alpha1.DelegationSigner{KeyTag: int32(ds.KeyTag), Algorithm: int32(ds.Algorithm),
				DigestType: int32(ds.DigestType), Digest: strings.ToUpper(ds.Digest)})
		}
	}

	slices.SortFunc(wanted, func(a, b v1alpha1.DelegationSigner) int {
		return cmp.Or(cmp.Compare(a.KeyTag, b.KeyTag), cmp.Compare(a.Algorithm, b.Algorithm), cmp.Compare(a.DigestType, b.DigestType),
			cmp.Compare(a.Digest, b.Digest))
	})
	wanted = slices.Compact(wanted)
	return wanted[:min(len(wanted), maxDS)]
}

// The DS of a replaced key stays until another is in all caches.
func (f *facts) keepsReplaced(tag uint16) bool {
	isOtherInAllCaches := f.hasDSState(dsOmnipresent)
	if isOtherInAllCaches {
		return false
	}

	// If the parent never gets a DS, named keeps every replaced key. If they become too many, the DS that no parent
	// server has are dropped.
	isUnused := f.countWaiting() > maxWaiting && f.isAtNone(tag)

	// A dropped DS does not return while a new DS is on the way.
	isDropped := isUnused || !hasDS(f.status.DS, tag)
	isNewOnTheWay := f.hasDSState(dsRumoured)
	return !(isDropped && isNewOnTheWay)
}

func (f *facts) hasDSState(state string) bool {
	return slices.ContainsFunc(f.signing.Status.Keys, func(key keyState) bool { return key.DSState == state })
}

func hasDS(list []v1alpha1.DelegationSigner, tag uint16) bool {
	return slices.ContainsFunc(list, func(ds v1alpha1.DelegationSigner) bool { return ds.KeyTag == int32(tag) })
}

func (f *facts) countWaiting() (n int) {
	for _, key := range f.signing.Status.Keys {
		if (key.DSState == dsRumoured || key.DSState == dsUnretentive) && !hasDS(f.dsAtAny, key.Tag) {
			n++
		}
	}
	return n
}

// The whole DS counts, because another signer's key may have the same tag.
func (f *facts) isAtAll(wanted []v1alpha1.DelegationSigner, tag uint16) bool {
	return f.readFailure == "" && !slices.ContainsFunc(wanted, func(ds v1alpha1.DelegationSigner) bool {
		return ds.KeyTag == int32(tag) && !slices.Contains(f.dsAtAll, ds)
	})
}

func (f *facts) isAtNone(tag uint16) bool { return f.readFailure == "" && !hasDS(f.dsAtAny, tag) }

type keyState = protocol.DNSSECKey

// watchParent compares the wanted DS with the parent's, adds the reports for named, and sets the message about the
// rest.
func (d *decision) watchParent(f *facts, wanted []v1alpha1.DelegationSigner) {
	var coming, going []string
	// named keeps the old key for parentDSTTL after the report.
	tooLong := f.ttl > f.times.parentDSTTL
	for _, key := range f.signing.Status.Keys {
		switch {
		case key.DSState == dsRumoured && hasDS(wanted, key.Tag):
			// named retires the former key parentDSTTL after this report, while a longer TTL keeps the former DS in
			// caches.
			if f.isAtAll(wanted, key.Tag) && !tooLong {
				d.reports = append(d.reports, dsReport{key.Tag, protocol.DSPublished})
			} else {
				coming = append(coming, fmt.Sprint(key.Tag))
			}
		case key.DSState == dsUnretentive && !hasDS(wanted, key.Tag):
			// One server that still has the DS can fill a cache anew.
			if f.isAtNone(key.Tag) {
				d.reports = append(d.reports, dsReport{key.Tag, protocol.DSWithdrawn})
			} else {
				going = append(going, fmt.Sprint(key.Tag))
			}
		}
	}

	d.awaitsDS = len(coming)+len(going) > 0
	switch {
	case tooLong:
		d.setMessage("the DS at the parent has a TTL of %s, above timing.parentDSTTL %s of policy %s: raise parentDSTTL, "+
			"or lower the TTL there; until then no key is replaced", f.ttl, f.times.parentDSTTL, d.status.Policy)
		d.requeueAfter = blockedInterval
	case len(coming) > 0:
		d.setMessage("waiting for the DS of key %s at each server of the parent%s", strings.Join(coming, ", "), f.explain())
	case len(going) > 0:
		d.setMessage("waiting for each server of the parent to drop the DS of key %s%s", strings.Join(going, ", "), f.explain())
	// Everything asked for is there. named acts on the reports, so look again soon.
	case len(d.reports) > 0:
		d.setMessage("")
	default:
		d.setMessage("")
		d.requeueAfter = min(max(f.times.dnskey, pendingInterval), settledInterval)
	}

	if f.blocked != "" {
		d.setMessage("%s; it is signed as before", f.blocked)
	}
}

func (d *decision) decideWithdrawing(f *facts) {
	switch {
	case f.canSign():
		d.enter(f, v1alpha1.DNSSECSigned, "")
	// An unknown parent counts as a parent with the DS.
	case f.readFailure != "" || len(f.dsAtAny) > 0:
		d.setMessage("waiting for each server of the parent to drop the DS%s", f.explain())
	default:
		d.enter(f, v1alpha1.DNSSECExpiring, "the DS leaves the caches")
	}
}

func (d *decision) decideExpiring(f *facts) {
	longest := time.Duration(d.status.LongestDSTTL) * time.Second
	wait := max(f.times.parentDSTTL, longest) - d.timeInPhase(f)
	switch {
	case f.canSign():
		d.enter(f, v1alpha1.DNSSECSigned, "")
	// The parent has a DS again: the wait begins anew once the DS is gone.
	case len(f.dsAtAny) > 0:
		d.enter(f, v1alpha1.DNSSECWithdrawing, "the parent has a DS again")
	case wait > 0:
		d.setMessage("the DS leaves the caches, until %s", f.now.Add(wait).UTC().Format(time.RFC3339))
		d.requeueAfter = min(max(wait, time.Second), settledInterval)
	case f.readFailure != "":
		d.setMessage("the servers of the parent may have a DS again%s", f.explain()) // the DS must have left all caches (G5)
	default:
		d.endSigning(f)
	}
}

func (d *decision) decideReturning(f *facts) {
	switch {
	// The last step: no server needs the signer, so zone and keys go, and the status with them.
	case f.signed == "":
		d.action, d.status = remove, nil
	// Signing has raised the serial beyond the zone's, and a secondary transfers only higher serials.
	case !f.passed:
		d.action = passServers
		d.setMessage("the serial of the zone goes past that of its servers: %s", f.signed)
	default:
		d.setMessage("the servers go back to the unsigned zone: %s", f.signed)
	}
}
