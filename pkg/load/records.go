// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

package load

import (
	"context"
	"encoding/json"
	"fmt"
	"path/filepath"
	"slices"

	"k8s.io/apimachinery/pkg/api/equality"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"kubi.zone/kubizone/api/kubizone/v1alpha1"
	"kubi.zone/kubizone/pkg/dns/name"
	"kubi.zone/kubizone/pkg/dns/rdata"
	"kubi.zone/kubizone/pkg/objectname"
)

// putRecords writes the RRsets of a file.
func (l *Loader) putRecords(ctx context.Context, path string, sets []*set, to *destination, into *scope) (Result, error) {
	there, err := l.listRecords(ctx, to)
	if err != nil {
		return Result{}, err
	}
	into.existing = there
	// The sets of one owner are written one after the other, in the order of the file: which of two conflicting ones is
	// refused must not depend on timing.
	owners := groupBy(sets, func(s *set) name.Rel { return s.owner })
	for _, sets := range owners {
		slices.SortStableFunc(sets, func(one, other *set) int { return lastDS(one.typ) - lastDS(other.typ) })
	}
	hosts, cuts := namedHosts(sets, to.fqdn, rdata.NS, rdata.MX), map[name.Rel]bool{}
	for _, s := range sets {
		cuts[s.owner] = cuts[s.owner] || s.typ == rdata.NS && !s.owner.IsApex()
	}
	// Name servers come first: a zone is not Servable until they have addresses (S6.15), and the status of each Record
	// written before that is written twice. Cuts come next, before the glue below them.
	phases := inPhases(owners, func(sets []*set) int {
		switch owner := sets[0].owner; {
		case hosts[owner] && !isBelow(owner, cuts):
			return 0
		case owner.IsApex():
			return 1
		case cuts[owner]:
			return 2
		}
		return 3
	})
	answered, made := newAnswers(sets, to.fqdn), l.cfg.DryRun && l.priors.first(to.zone, to.namespace).made
	return runWorkers(ctx, l, filepath.Base(path), l.workers, phases, func(ctx context.Context, sets []*set) (result Result, err error) {
		for _, s := range sets {
			of := subject{answered: answered(s)}
			if made {
				of.answered = alsoAnswered(of.answered, waiting...)
			}
			ctx := withSubject(ctx, of)
			put := func(ctx context.Context, there *existingRecords) (Result, *Refusal, error) {
				one, err := l.putRecord(ctx, path, s, to, there)
				if reason, ok := refusalReason(err); ok {
					return Result{}, &Refusal{Path: path, Lines: s.lines, Text: s.describe(to.fqdn), Reason: reason}, nil
				}
				return one, nil, err
			}
			one, refused, err := put(ctx, there)
			switch {
			case err != nil:
				return result, fmt.Errorf("%s: %w", s.describe(to.fqdn), err)
			case refused != nil && l.cfg.Prune:
				// The Record in conflict may be one that Finish removes.
				into.addRefused(refusedPut{*refused, len(s.lines), s.fqdn(to.fqdn), func(ctx context.Context) (Result, *Refusal, error) {
					return put(ctx, &existingRecords{})
				}})
			case refused != nil:
				l.reportRefused(*refused)
				one.Refused = len(s.lines)
			}
			result.Add(one)
		}
		return result, nil
	})
}

// newAnswers returns a function for the reasons of the Warnings of a set that the rest of its file answers: that an
// address below a zone cut is glue at most, if an NS names it (S5.6), and that no namespace has a host or nothing
// stands there, if the file has each (S4.18, S5.14), of NS with an address.
func newAnswers(sets []*set, origin name.Name) func(s *set) map[string]bool {
	named, addressed := namedHosts(sets, origin, rdata.NS), map[name.Rel]bool{}
	var written WrittenNames
	for _, s := range sets {
		written.Add(s.owner.String())
		if s.typ == rdata.A || s.typ == rdata.AAAA {
			addressed[s.owner] = true
		}
	}
	return func(s *set) map[string]bool {
		present := true
		for host := range namedHosts([]*set{s}, origin, s.typ) {
			present = present && (addressed[host] || s.typ != rdata.NS && written.Have(host.String()))
		}
		return map[string]bool{v1alpha1.WarningUnnamedGlue: named[s.owner], v1alpha1.WarningUnclaimedHost: present,
			v1alpha1.WarningAbsentHost: present}
	}
}

// isBelow reports whether a cut is above a name.
func isBelow(owner name.Rel, cuts map[name.Rel]bool) bool {
	up, ok := owner.Parent()
	for ok && !cuts[up] {
		up, ok = up.Parent()
	}
	return ok
}

// namedHosts returns the hosts within the zone that records of these types name.
func namedHosts(sets []*set, origin name.Name, types ...rdata.Type) map[name.Rel]bool {
	out := map[name.Rel]bool{}
	for _, s := range sets {
		for _, text := range s.data {
			if n, ok := (rdata.Value{Type: s.typ, Text: text}).Target(origin); ok && slices.Contains(types, s.typ) {
				if host, ok := n.Rel(origin); ok {
					out[host] = true
				}
			}
		}
	}
	return out
}

// listRecords lists the Records of the namespace that name the zone or are adopted by it.
func (l *Loader) listRecords(ctx context.Context, to *destination) (*existingRecords, error) {
	there := &existingRecords{byName: make(map[string]*v1alpha1.Record), adopted: make(map[rrset][]*v1alpha1.Record)}
	for _, selector := range []string{v1alpha1.FieldRecordZoneRefName + "=" + to.zone.Name, v1alpha1.FieldRecordZone + "=" +
		to.zone.String()} {
		if err := l.eachRecord(ctx, to.namespace, selector, func(r *v1alpha1.Record) { there.addRecord(r, to.zone) }); err != nil {
			return nil, fmt.Errorf("records in namespace %s of zone %s: %w", to.namespace, to.zone, err)
		}
	}
	return there, nil
}

// eachRecord calls do for every Record of a namespace that the field selector matches.
func (l *Loader) eachRecord(ctx context.Context, namespace, selector string, do func(r *v1alpha1.Record)) error {
	list := func(ctx context.Context, options metav1.ListOptions) (*v1alpha1.RecordList, error) {
		return retryTransient(ctx, func() (*v1alpha1.RecordList, error) {
			return l.typed.KubizoneV1alpha1().Records(namespace).List(ctx, options)
		})
	}
	return EachItem(ctx, list, metav1.ListOptions{FieldSelector: selector}, func(r *v1alpha1.Record) error {
		do(r)
		return nil
	})
}

func (l *Loader) putRecord(ctx context.Context, path string, s *set, to *destination, there *existingRecords) (Result, error) {
	want := to.newRecord(s)
	objectNames := objectname.OfRecord(s.owner, s.typ, to.zone.Name)
	if there.byName[objectNames[0]] == nil && there.byName[objectNames[1]] == nil {
		ttl, covered := there.coversSet(s, to)
		switch {
		case covered && ttl == s.ttl:
			return Result{Present: 1}, nil
		case covered:
			l.reportLeftAsIs(Refusal{Path: path, Lines: s.lines, Text: s.describe(to.fqdn),
				Reason: fmt.Sprintf("it exists with TTL %d, the file has %d", ttl, s.ttl),
				Fix:    "change the Record that has it, or delete it and import again"})
			return Result{Left: 1}, nil
		}
	}
	records := l.typed.KubizoneV1alpha1().Records(to.namespace)
	for _, want.Name = range objectNames {
		have := there.byName[want.Name]
		if prior := l.priors.first(to.zone, want.Namespace); l.cfg.DryRun && have == nil && prior.object == "" {
			l.planRecord(ctx, want, s, path, to)
			return Result{}, nil
		}
		if have == nil {
			_, err := retryTransient(ctx, func() (*v1alpha1.Record, error) {
				return records.Create(ctx, want, l.createOptions())
			})
			if err == nil {
				want.Status.FQDN = s.fqdn(to.fqdn)
				l.showRecord(nil, nil, want, to.zone, l.priors.first(to.zone, want.Namespace).object)
				return Result{Written: 1}, nil
			}
			if !apierrors.IsAlreadyExists(err) {
				return Result{}, err
			}
			// It is ours if the answer to the creation was lost, else another client's of the same name.
			if have, err = records.Get(ctx, want.Name, metav1.GetOptions{}); err != nil {
				return Result{}, err
			}
		}
		if !isSameRRset(&have.Spec, &want.Spec) {
			continue // another object has the name; try the second one
		}
		switch {
		case sameRecord(&have.Spec, &want.Spec):
			return Result{Present: 1}, nil
		case l.reportChanged(Refusal{Path: path, Lines: s.lines, Text: fmt.Sprintf("%s (%s/%s)", s.describe(to.fqdn), have.Namespace,
			have.Name)}, have.ManagedFields):
			return Result{Left: 1}, nil
		}
		if err := l.updateRecord(ctx, have, want); err != nil {
			return Result{}, err
		}
		want.Status.FQDN = s.fqdn(to.fqdn)
		l.showRecord(nil, have, want, to.zone, "")
		return Result{Written: 1}, nil
	}
	return Result{}, fmt.Errorf("the object names %q are taken in namespace %s; load into another namespace", objectNames, to.namespace)
}

// planRecord notes a Record that a dry run makes, with others at its name.
func (l *Loader) planRecord(ctx context.Context, want *v1alpha1.Record, s *set, path string, to *destination) {
	want.TypeMeta = metav1.TypeMeta{APIVersion: v1alpha1.SchemeGroupVersion.String(), Kind: "Record"}
	want.Status.FQDN = s.fqdn(to.fqdn)
	l.report.Lock()
	defer l.report.Unlock()
	of, _ := ctx.Value(subjectKey{}).(subject)
	l.planned = append(l.planned, &recordWrite{after: want, zone: to.zone, subject: of,
		at: Refusal{Path: path, Lines: s.lines, Text: s.describe(to.fqdn)}})
}

// updateRecord makes the content of a Record that of another one. It is a patch: a PUT would conflict with writes of
// the status.
func (l *Loader) updateRecord(ctx context.Context, have, want *v1alpha1.Record) error {
	patch, err := json.Marshal(map[string]any{"spec": map[string]any{"ttl": want.Spec.TTL, "rdata": orNull(want.Spec.RData),
		"values": want.Spec.Values}})
	if err != nil {
		return err
	}
	_, err = retryTransient(ctx, func() (*v1alpha1.Record, error) {
		return l.typed.KubizoneV1alpha1().Records(have.Namespace).Patch(ctx, have.Name, types.MergePatchType, patch, l.patchOptions())
	})
	return err
}

// orNull is nil for empty text, which removes the field in a merge patch.
func orNull(text string) any {
	if text == "" {
		return nil
	}
	return text
}

func isSameRRset(have, want *v1alpha1.RecordSpec) bool {
	return have.DomainName == want.DomainName && have.Type == want.Type && equality.Semantic.DeepEqual(have.ZoneRef, want.ZoneRef)
}

func sameRecord(have, want *v1alpha1.RecordSpec) bool {
	left, right := have.DeepCopy(), want.DeepCopy()
	left.Description = ""
	// The values of an RRset have no order.
	slices.Sort(left.Values)
	slices.Sort(right.Values)
	return equality.Semantic.DeepEqual(left, right)
}

func (l *Loader) createOptions() metav1.CreateOptions {
	return metav1.CreateOptions{FieldManager: l.cfg.FieldManager, DryRun: l.dryRun()}
}

func (l *Loader) patchOptions() metav1.PatchOptions {
	return metav1.PatchOptions{FieldManager: l.cfg.FieldManager, DryRun: l.dryRun()}
}

func (l *Loader) dryRun() []string {
	if l.cfg.DryRun {
		return []string{metav1.DryRunAll}
	}
	return nil
}

// reportChanged reports an object that other managers have changed, unless conflicts are forced (L4).
func (l *Loader) reportChanged(at Refusal, fields []metav1.ManagedFieldsEntry) (changed bool) {
	others := l.otherManagers(fields)
	if l.cfg.ForceConflicts || len(others) == 0 {
		return false
	}
	at.Reason = fmt.Sprintf("it differs from the file and was changed by %q since", others)
	l.reportLeftAsIs(at)
	return true
}

// otherManagers are the other field managers of fields of the spec.
func (l *Loader) otherManagers(fields []metav1.ManagedFieldsEntry) []string {
	var managers []string
	for _, entry := range fields {
		if entry.Subresource == "" && entry.Manager != l.cfg.FieldManager && touchesSpec(entry.FieldsV1) &&
			!slices.Contains(managers, entry.Manager) {
			managers = append(managers, entry.Manager)
		}
	}
	return managers
}

func touchesSpec(fields *metav1.FieldsV1) bool {
	if fields == nil {
		return true // it may
	}
	var owned map[string]json.RawMessage
	if err := json.Unmarshal(fields.GetRawBytes(), &owned); err != nil {
		return true
	}
	_, spec := owned["f:spec"]
	return spec
}
