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
	"k8s.io/utils/ptr"

	"kubi.zone/kubizone/api/kubizone/v1alpha1"
)

// maxLeftNamed bounds how many left-over Records a report names.
const maxLeftNamed = 5

// madeBy reports whether this field manager has set fields of the spec by create and patch, and which other managers
// have. A Record with other managers is theirs.
func (l *Loader) madeBy(fields []metav1.ManagedFieldsEntry) (ours bool, others []string) {
	for _, entry := range fields {
		switch {
		case entry.Subresource != "" || !touchesSpec(entry.FieldsV1):
		case entry.Manager == l.cfg.FieldManager && entry.Operation == metav1.ManagedFieldsOperationUpdate:
			ours = true
		case !slices.Contains(others, entry.Manager):
			others = append(others, entry.Manager)
		}
	}
	return ours, others
}

// Finish ends a run after all sources: it reports the Records that earlier runs made and no source has any more, or
// removes them with Config.Prune. doubt is why sources are missing, if some are; then nothing is left over.
func (l *Loader) Finish(ctx context.Context, doubt string) (Result, error) {
	var result Result
	for _, s := range l.scopeOrder {
		s.doubt = cmp.Or(doubt, s.doubt)
		one, err := l.finishScope(ctx, s)
		result.Add(one)
		l.reportHidden()
		if err != nil {
			return result, fmt.Errorf("%s: %w", s.what(), err)
		}
	}
	l.fillNames(ctx, l.planned)
	planned, err := runWorkers(ctx, l, "the plan", maxSets, [][][]*recordWrite{splitSets(l.planned)}, l.foreseeSet)
	result.Add(planned)
	l.planned = nil
	l.reportHidden()
	if err != nil {
		return result, err
	}
	judged, err := l.judgeZones(ctx)
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
	if s.doubt != "" || s.to == nil {
		if l.cfg.Prune {
			result.Failed++
			l.say("%s: nothing is removed: %s; a Record that only seems to be missing would be removed", s.what(), s.doubt)
		}
		return result, l.retryRefused(ctx, s, nil, &result)
	}
	there := s.listRecords()
	var left []*v1alpha1.Record
	for _, r := range there {
		if s.hasRecord(r) || r.DeletionTimestamp != nil {
			continue
		}
		switch ours, others := l.madeBy(r.ManagedFields); {
		case !ours:
		case len(others) == 0:
			left = append(left, r)
		case l.cfg.Prune:
			result.Left++
			l.reportLeftAsIs(Refusal{Path: s.what(), Text: describeRecord(r),
				Reason: fmt.Sprintf("no source has it any more, and %q changed it since", others), Fix: "delete it if it is not needed"})
		}
	}
	slices.SortFunc(left, func(a, b *v1alpha1.Record) int {
		return cmp.Or(strings.Compare(a.Status.FQDN, b.Status.FQDN), strings.Compare(a.Spec.Type, b.Spec.Type),
			strings.Compare(a.Name, b.Name))
	})
	if !l.cfg.Prune {
		l.reportLeft(s, left)
		return result, nil
	}
	if l.cfg.DryRun {
		for _, r := range left {
			l.planned = append(l.planned, &recordWrite{before: r, zone: s.zone})
		}
		return result, nil
	}
	removed, err := runWorkers(ctx, l, s.what(), l.workers, [][][]*v1alpha1.Record{slices.Collect(slices.Chunk(left, 1))},
		func(ctx context.Context, one []*v1alpha1.Record) (Result, error) {
			return l.deleteRecord(ctx, s, one[0])
		})
	result.Add(removed)
	if err != nil {
		return result, err
	}
	owners := make(map[string]bool)
	for _, r := range left {
		owners[r.Status.FQDN] = true
	}
	return result, l.retryRefused(ctx, s, owners, &result)
}

// judgeZones reports which Zones of the sources name servers would not load as they are now, and with Config.Prune
// which are held. It runs after all sources, since one may have what another lacks. In a dry run nothing has changed.
func (l *Loader) judgeZones(ctx context.Context) (Result, error) {
	var result Result
	if l.cfg.DryRun {
		return result, nil
	}
	files, whole := make(map[types.NamespacedName]bool), make(map[types.NamespacedName]bool)
	for _, s := range l.scopeOrder {
		files[s.zone] = files[s.zone] || s.readable
		whole[s.zone] = whole[s.zone] || s.doubt == ""
	}
	zones := maps.Clone(files)
	maps.Copy(zones, whole)
	maps.Copy(zones, l.applied)
	for _, id := range slices.SortedFunc(maps.Keys(zones), func(a, b types.NamespacedName) int {
		return strings.Compare(a.String(),
			b.String())
	}) {
		servable, held := files[id] || l.applied[id], whole[id] && l.cfg.Prune
		if !servable && !held {
			continue
		}
		zone, err := retryTransient(ctx, func() (*v1alpha1.Zone, error) {
			return l.typed.KubizoneV1alpha1().Zones(id.Namespace).Get(ctx, id.Name, metav1.GetOptions{})
		})
		if apierrors.IsNotFound(err) || apierrors.IsForbidden(err) {
			continue // its state is not known
		} else if err != nil {
			return result, fmt.Errorf("zone %s: %w", id, err)
		}
		// A manifest says all that there is to be of a Zone, a zone file that name servers load it.
		if servable && l.reportServable(id, zone) && files[id] {
			result.NotServable++
		}
		if held && l.reportHeld(id, zone) {
			result.Held++
		}
	}
	clear(l.applied)
	return result, nil
}

// reportHeld reports that removals of this or an earlier run hold the zone (S7.5).
func (l *Loader) reportHeld(id types.NamespacedName, zone *v1alpha1.Zone) (held bool) {
	settled := meta.FindStatusCondition(zone.Status.Conditions, v1alpha1.ConditionSettled)
	if settled == nil || settled.Reason != v1alpha1.ReasonMassDeletion {
		return false
	}
	l.say("zone %s is held, and the removals are not delivered: %s", id, settled.Message)
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
	l.say("%s: %d Records that an earlier run made are not in %s, and stay: %s; if that is all of it, %s", s.what(), len(left),
		strings.Join(s.paths, ", "), strings.Join(named, ", "), cmp.Or(l.cfg.HowToRemove, "delete them"))
}

func describeRecord(r *v1alpha1.Record) string {
	return fmt.Sprintf("%s %s (%s/%s)", cmp.Or(r.Status.FQDN, r.Spec.DomainName), r.Spec.Type, r.Namespace, r.Name)
}

// deleteRecord deletes a left-over Record as it was read: one that was changed meanwhile stays.
func (l *Loader) deleteRecord(ctx context.Context, s *scope, r *v1alpha1.Record) (Result, error) {
	records := l.typed.KubizoneV1alpha1().Records(r.Namespace)
	at := Refusal{Path: s.what(), Text: describeRecord(r)}
	for range maxAttempts {
		_, err := retryTransient(ctx, func() (struct{}, error) {
			return struct{}{}, records.Delete(ctx, r.Name, metav1.DeleteOptions{DryRun: l.dryRun(),
				Preconditions: &metav1.Preconditions{UID: &r.UID, ResourceVersion: ptr.To(r.ResourceVersion)}})
		})
		switch reason, refused := refusalReason(err); {
		case err == nil:
			return Result{Removed: 1}, nil
		case apierrors.IsNotFound(err):
			return Result{Removed: 1}, nil
		case refused:
			at.Reason = reason
			l.reportRefused(at)
			return Result{Refused: 1}, nil
		case !apierrors.IsConflict(err):
			return Result{}, fmt.Errorf("%s: %w", at.Text, err)
		}
		// Its status changed, or its spec.
		now, err := records.Get(ctx, r.Name, metav1.GetOptions{})
		switch {
		case apierrors.IsNotFound(err):
			return Result{Removed: 1}, nil
		case err != nil:
			return Result{}, fmt.Errorf("%s: %w", at.Text, err)
		}
		if ours, others := l.madeBy(now.ManagedFields); now.UID != r.UID || !ours || len(others) > 0 {
			break
		}
		r = now
	}
	at.Reason = "it was changed during the removal"
	l.reportLeftAsIs(at)
	return Result{Left: 1}, nil
}

// retryRefused repeats the refused writes at owners that lost a Record, and reports the others.
func (l *Loader) retryRefused(ctx context.Context, s *scope, owners map[string]bool, result *Result) error {
	for _, r := range s.refused {
		refused := &r.refusal
		if owners[r.owner] {
			one, again, err := r.put(ctx)
			if err != nil {
				return err
			}
			result.Add(one)
			refused = again
		}
		if refused != nil {
			result.Refused += r.lines
			l.reportRefused(*refused)
		}
	}
	s.refused = nil
	return nil
}
