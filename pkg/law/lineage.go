// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

package law

import (
	"fmt"
	"slices"
	"time"

	"kubi.zone/kubizone/pkg/dns/name"
)

// The lineage of a zone lists the zones by whose delegations it came to its name, topmost first. Its holding notes
// the lineage while these zones stand, and keeps it when they go. So a zone ends with each rule by which it came,
// once the zone that encloses it does not delegate it (S3.4). A write that changes the lineage of a zone owes another
// decision about the zones below it, which a cascade makes, parents first.

// findWithdrawal finds the withdrawn rule by which a zone came that its enclosing zone does not delegate (S3.4). The
// zone keeps its lineage, and with it the rules by which it came, whatever becomes of the zones between: they may go
// or be made anew, or another may be made there. known false: facts are needed.
func (r *reading) findWithdrawal(x *parentage, view string, fqdn name.Name, ns string, has *Holding, now time.Time) (known bool) {
	was := has.Withdrawn
	if x.lineage, known = r.spliceLineage(view, fqdn, has.Lineage); !known {
		return false
	}
	from, known := r.findRevoked(view, fqdn, ns, x.lineage)
	if !known || from == nil {
		return known
	}
	if was == nil || was.By != from.UID {
		passed, known := r.timePassed(view, fqdn, has, x.lineage, from)
		if !known {
			return false
		}
		was = &Withdrawal{By: from.UID, Since: now.Unix(), Passed: passed, Grace: from.Grace}
	}
	x.withdrawn, x.cond.Reason = was, ReasonDelegationWithdrawn
	if from.UID != x.parent.UID {
		x.cond.Message += fmt.Sprintf("; zone %s took a rule back by which it came", from.FQDN())
	}
	x.cond.Message += "; it ends after the withdrawalGracePeriod of that zone (S3.4)"
	return true
}

// LineageBelow is the lineage of the zones that the one which holds fqdn delegates.
func (h *Holding) LineageBelow(fqdn name.Name) []Link {
	return append(slices.Clone(h.Lineage), Link{UID: h.UID, Namespace: h.Namespace, Labels: fqdn.NumLabels()})
}

// CameBy reports whether the zone is a child of p and its lineage says so (S3.4).
func (b *ZoneBelow) CameBy(p *ZoneBelow) bool {
	return b.Parent != nil && b.Parent.UID == p.UID && slices.EqualFunc(b.Lineage, p.LineageBelow(p.FQDN), sameLink)
}

func sameLink(x, y Link) bool {
	return x.UID == y.UID && x.Namespace == y.Namespace && x.Labels == y.Labels
}

// nameAt returns the name that the linked zone has, or had, in the lineage of a zone at fqdn.
func (l *Link) nameAt(fqdn name.Name) name.Name {
	for fqdn.NumLabels() > l.Labels {
		fqdn, _ = fqdn.Parent()
	}
	return fqdn
}

// linkedHoldings returns the holdings of the linked zones of a zone at fqdn, nil for each that is gone.
func (r *reading) linkedHoldings(view string, fqdn name.Name, lineage []Link) ([]*Holding, bool) {
	ks := make([]Key, len(lineage))
	for i := range lineage {
		ks[i] = HoldingKey(view, lineage[i].nameAt(fqdn))
	}
	if !r.askAll(ks) {
		return nil, false
	}
	out := make([]*Holding, len(lineage))
	for i, k := range ks {
		if h, _ := get[Holding](r, k); h != nil && h.UID == lineage[i].UID {
			out[i] = h
		}
	}
	return out, true
}

// spliceLineage returns the lineage with that of the nearest zone in it that still stands: a zone
// above may have become another's child since.
func (r *reading) spliceLineage(view string, fqdn name.Name, lineage []Link) ([]Link, bool) {
	standing, known := r.linkedHoldings(view, fqdn, lineage)
	if !known {
		return nil, false
	}
	for i := len(lineage) - 1; i >= 0; i-- {
		if h := standing[i]; h != nil {
			return append(slices.Clone(h.Lineage), lineage[i:]...), true
		}
	}
	return lineage, true
}

// findRevoked returns the zone nearest to a zone of ns at fqdn that delegated the next one in the lineage and no
// longer does; nil: there is none. It goes by the rules, not by what a cascade has noted. A zone that is gone has
// withdrawn nothing.
func (r *reading) findRevoked(view string, fqdn name.Name, ns string, lineage []Link) (by *Zone, known bool) {
	standing, known := r.linkedHoldings(view, fqdn, lineage)
	if !known {
		return nil, false
	}
	var ks []Key
	for _, h := range standing {
		if h != nil {
			ks = append(ks, ZoneKey(h.Namespace, h.Name))
		}
	}
	if !r.askAll(ks) {
		return nil, false
	}
	for i, h := range slices.Backward(standing) {
		if h == nil {
			continue
		}
		z, known := r.zoneOf(h)
		if !known {
			return nil, false
		}
		next, of := fqdn, ns
		if i+1 < len(lineage) {
			next, of = lineage[i+1].nameAt(fqdn), lineage[i+1].Namespace
		}
		given, known := r.ruledFor(z, of)
		if !known {
			return nil, false
		}
		if !given.DelegatesZone(next, of) {
			return z, true
		}
	}
	return nil, true
}

// timePassed returns how much has passed of the time that the zone by gave when its rule for the lineage went. The
// zones between have noted it, or had noted it when they went; what they delegated has the rest of that time. The
// nearest of them counts, since one above may have gone by an earlier withdrawal. known false: facts are needed.
func (r *reading) timePassed(view string, fqdn name.Name, has *Holding, lineage []Link, by *Zone) (passed int64, known bool) {
	i := slices.IndexFunc(lineage, func(l Link) bool { return l.UID == by.UID }) + 1
	var ks []Key // nearest first
	for _, l := range slices.Backward(lineage[i:]) {
		ks = append(ks, HoldingKey(view, l.nameAt(fqdn)))
		if has.delegatedBy() != "" { // until now; else that of an earlier withdrawal
			ks = append(ks, Key{Kind: KindLastSerial, View: view, Name: l.nameAt(fqdn)})
		}
	}
	if !r.askAll(ks) {
		return 0, false
	}
	for _, k := range ks {
		var w *Withdrawal
		if k.Kind == KindHolding {
			if h, _ := get[Holding](r, k); h != nil {
				w = h.Withdrawn
			}
		} else if last, _ := get[LastSerial](r, k); last != nil {
			w = last.Withdrawn
		}
		if w != nil && w.By == by.UID {
			return w.Passed, true
		}
	}
	return 0, true
}
