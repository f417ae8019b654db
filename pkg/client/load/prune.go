// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

package load

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"kubi.zone/kubizone/api/kubizone/v1alpha1"
	"kubi.zone/kubizone/pkg/apis/rrsets"
)

const maxLeftNamed = 5

// Finish ends a run. It reports the Records that no source has any more, and removes them with Config.Prune. A doubt
// other than "" is the reason why sources may be missing, and prevents removals.
func (l *Loader) Finish(ctx context.Context, doubt string) (Result, error) {
	var result Result
	// A scope is a Zone and a namespace with loaded zone files.
	for _, s := range l.scopeOrder {
		s.doubt = cmp.Or(doubt, s.doubt)
		ofScope, err := l.finishScope(ctx, s)
		result.Add(ofScope)
		l.reportHidden()
		if err != nil {
			return result, fmt.Errorf("%s: %w", s.what(), err)
		}
	}
	judged, err := l.checkZones(ctx)
	result.Add(judged)
	if err != nil {
		return result, err
	}
	clear(l.scopes)
	l.scopeOrder = nil
	return result, nil
}

func (l *Loader) finishScope(ctx context.Context, s *scope) (Result, error) {
	var result Result
	var writes []*recordWrite
	var left []*v1alpha1.Record
	if s.doubt != "" || s.destination == nil {
		if l.cfg.Prune {
			result.Failed++
			l.printf("%s: nothing is removed: %s; a Record that only seems to be missing would be removed", s.what(), s.doubt)
		}
		result.Add(l.refuseWrites(s.refusedWrites))
		return result, nil
	}
	for _, c := range rrsets.Plan(s.listRecords(), rrsets.Desired{Manager: l.cfg.FieldManager,
		Complete: func(r *v1alpha1.Record) bool { return !s.hasRecord(r) }}) {
		at := Refusal{Path: s.what(), Text: describeRecord(c.Before)}
		switch {
		case len(c.OtherManagers) == 0:
			left = append(left, c.Before)
			writes = append(writes, &recordWrite{Change: c, zone: s.zone, location: at})
		case l.cfg.Prune:
			result.Left++
			at.Reason = fmt.Sprintf("no source has it any more, and %q changed it since", c.OtherManagers)
			at.Fix = "delete it if it is not needed"
			l.reportLeftAsIs(at)
		}
	}
	if !l.cfg.Prune {
		l.reportLeft(s, left)
		return result, nil
	}
	if l.cfg.Confirm != nil && !l.cfg.DryRun {
		if err := l.cfg.Confirm(len(writes)); err != nil {
			return result, err
		}
	}
	// Refused writes may succeed together with the removals.
	one, refused, err := l.writeRecords(ctx, s.what(), [][]*recordWrite{append(writes, s.refusedWrites...)})
	result.Add(one)
	result.Add(l.refuseWrites(refused))
	return result, err
}

// changedZone says how this run may have changed a Zone.
type changedZone struct {
	fromFile bool // by a zone file, not only a manifest
	pruned   bool
}

func (l *Loader) findChangedZones() map[types.NamespacedName]changedZone {
	zones := make(map[types.NamespacedName]changedZone)
	for id := range l.appliedZones {
		zones[id] = changedZone{}
	}
	for _, s := range l.scopeOrder {
		zone, isKnown := zones[s.zone]
		isPruned := l.cfg.Prune && s.doubt == ""
		// A source that was not imported changed nothing, and its Zone is not read.
		if isKnown || s.readable || isPruned {
			zones[s.zone] = changedZone{fromFile: zone.fromFile || s.readable, pruned: zone.pruned || isPruned}
		}
	}
	return zones
}

// checkZones reports zones without working name servers, and zones held after a mass deletion. It runs after all
// sources, because they may depend on each other.
func (l *Loader) checkZones(ctx context.Context) (Result, error) {
	var result Result
	if l.cfg.DryRun {
		return result, nil // no zone has changed
	}
	zones := l.findChangedZones()
	order := func(a, b types.NamespacedName) int { return strings.Compare(a.String(), b.String()) }
	for _, id := range slices.SortedFunc(maps.Keys(zones), order) {
		zone, err := rrsets.Retry(ctx, func() (*v1alpha1.Zone, error) {
			return l.typed.KubizoneV1alpha1().Zones(id.Namespace).Get(ctx, id.Name, metav1.GetOptions{})
		})
		if apierrors.IsNotFound(err) || apierrors.IsForbidden(err) {
			continue
		}
		if err != nil {
			return result, fmt.Errorf("zone %s: %w", id, err)
		}
		changed := zones[id]
		if changed.fromFile || l.appliedZones[id] {
			notServable := l.reportServable(id, zone)
			// A Zone of a manifest may lack name servers by intent. A zone file implies them.
			if notServable && changed.fromFile {
				result.NotServable++
			}
		}
		if changed.pruned && l.reportHeld(id, zone) {
			result.Held++
		}
	}
	clear(l.appliedZones)
	return result, nil
}

func (l *Loader) reportHeld(id types.NamespacedName, zone *v1alpha1.Zone) (held bool) {
	settled := meta.FindStatusCondition(zone.Status.Conditions, v1alpha1.ConditionSettled)
	if settled == nil || settled.Reason != v1alpha1.ReasonMassDeletion {
		return false
	}
	l.printf("zone %s is held, and the removals are not delivered: %s", id, settled.Message)
	return true
}

func (l *Loader) reportLeft(s *scope, left []*v1alpha1.Record) {
	if len(left) == 0 {
		return
	}
	var named []string
	for _, r := range left[:min(len(left), maxLeftNamed)] {
		named = append(named, describeRecord(r))
	}
	if more := len(left) - len(named); more > 0 {
		named = append(named, fmt.Sprintf("%d more", more))
	}
	l.printf("%s: %d Records that an earlier run made are not in %s, and stay: %s; if that is all of it, %s", s.what(), len(left),
		strings.Join(s.paths, ", "), strings.Join(named, ", "), cmp.Or(l.cfg.HowToRemove, "delete them"))
}

func describeRecord(r *v1alpha1.Record) string {
	return fmt.Sprintf("%s %s (%s/%s)", cmp.Or(r.Status.FQDN, r.Spec.DomainName), r.Spec.Type, r.Namespace, r.Name)
}
