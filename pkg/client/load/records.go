// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

package load

import (
	"context"
	"fmt"
	"maps"
	"path/filepath"
	"slices"

	"k8s.io/apimachinery/pkg/api/equality"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"

	"kubi.zone/kubizone/api/kubizone/v1alpha1"
	"kubi.zone/kubizone/pkg/apis/objectname"
	"kubi.zone/kubizone/pkg/apis/rrsets"
	"kubi.zone/kubizone/pkg/dns/name"
	"kubi.zone/kubizone/pkg/dns/rdata"
)

func (l *Loader) putRecords(ctx context.Context, path string, sets []*set, to *destination, into *scope) (Result, error) {
	existing, err := l.listRecords(ctx, to)
	if err != nil {
		return Result{}, err
	}
	into.existing = existing
	file := &recordsOfFile{path: path, destination: to, existing: existing}
	if l.cfg.DryRun {
		file.prior = l.priors.firstFor(to.zone, to.namespace)
	}
	var result Result
	var wanted []*v1alpha1.Record
	byName := make(map[string]*set, len(sets))
	for _, s := range sets {
		want, done, err := l.nameRecord(file, s)
		if err != nil {
			return result, fmt.Errorf("%s: %w", s.describe(to.fqdn), err)
		}
		if result.Add(done); want != nil {
			wanted, byName[want.Name] = append(wanted, want), s
		}
	}
	changes := rrsets.Plan(slices.Collect(maps.Values(existing.byName)),
		rrsets.Desired{Manager: l.cfg.FieldManager, Records: wanted})
	result.Present += len(wanted) - len(changes)
	answered, phaseOf := newResolvedWarnings(sets, to.fqdn), newPhases(sets, to.fqdn)
	phases := make([][]*recordWrite, numPhases)
	verdicts := l.judgeRecords(file, changes)
	for i, c := range changes {
		s := byName[c.After.Name]
		w := &recordWrite{Change: c, zone: to.zone, file: file, set: s,
			prior: file.prior.object, location: Refusal{Path: path, Lines: s.lines, Text: s.describe(to.fqdn)}}
		w.subject = subject{title: w.location.where(), resolvedWarnings: answered(s)}
		if l.leaveToOthers(&c, w.location) {
			result.Left++
			continue
		}
		if verdicts[i] != "" {
			w.location.Reason = verdicts[i]
			l.reportRefused(w.location)
			result.Refused += max(len(w.location.Lines), 1)
			continue
		}
		if w.Separate = file.prior.isNew; w.Separate {
			w.subject.resolvedWarnings = withReasons(w.subject.resolvedWarnings, waitReasons...)
		}
		phases[phaseOf(s)] = append(phases[phaseOf(s)], w)
	}
	one, refused, err := l.writeRecords(ctx, filepath.Base(path), phases)
	if result.Add(one); l.cfg.Prune {
		into.refusedWrites = append(into.refusedWrites, refused...)
		return result, err
	}
	result.Add(l.refuseWrites(refused))
	return result, err
}

// judgeRecords returns the reason of Config.Judge against each change, or "". The server cannot judge Records in a Zone
// that a dry run makes, with all of its rules.
func (l *Loader) judgeRecords(file *recordsOfFile, changes []rrsets.Change) []string {
	if !file.prior.isNew || l.cfg.Judge == nil {
		return make([]string, len(changes))
	}
	first := len(l.planned)
	for _, c := range changes {
		l.planned = append(l.planned, objectOf("Record", c.After, &c.After.Spec))
	}
	return l.cfg.Judge(l.planned)[first:]
}

// objectOf returns an object as its manifest, without status.
func objectOf(kind string, of metav1.Object, spec any) *unstructured.Unstructured {
	content, err := runtime.DefaultUnstructuredConverter.ToUnstructured(spec)
	if err != nil {
		content = nil // no judgement
	}
	o := &unstructured.Unstructured{Object: map[string]any{"spec": content}}
	o.SetGroupVersionKind(v1alpha1.SchemeGroupVersion.WithKind(kind))
	o.SetNamespace(of.GetNamespace())
	o.SetName(of.GetName())
	return o
}

func (l *Loader) leaveToOthers(c *rrsets.Change, at Refusal) (left bool) {
	if c.Before != nil {
		at.Text += fmt.Sprintf(" (%s/%s)", c.Before.Namespace, c.Before.Name)
	}
	return l.reportDiffers(at, c.OtherManagers)
}

const (
	phaseHosts = iota // hosts of NS and MX outside child zones, and cuts above name servers
	phaseApex         // the apex, and glue below those cuts
	phaseCuts
	phaseRest
	numPhases
)

// newPhases returns the phase in which to write each RRset. Addresses of name servers come early, because a zone is not
// Servable without them.
func newPhases(sets []*set, origin name.Name) func(s *set) int {
	hosts := namedHosts(sets, origin, rdata.NS, rdata.MX)
	cuts := map[name.Rel]bool{}
	for _, s := range sets {
		if s.typ == rdata.NS && !s.owner.IsApex() {
			cuts[s.owner] = true
		}
	}

	apexSets := slices.DeleteFunc(slices.Clone(sets), func(s *set) bool { return !s.owner.IsApex() })
	servers := namedHosts(apexSets, origin, rdata.NS)
	aboveServers := map[name.Rel]bool{}
	for host := range servers {
		for parent, ok := host.Parent(); ok; parent, ok = parent.Parent() {
			aboveServers[parent] = true
		}
	}

	return func(s *set) int {
		isCut := cuts[s.owner]
		isHost := hosts[s.owner] && !isBelow(s.owner, cuts)
		switch {
		case isHost, isCut && aboveServers[s.owner]:
			return phaseHosts
		case s.owner.IsApex(), servers[s.owner]:
			return phaseApex
		case isCut:
			return phaseCuts
		}
		return phaseRest
	}
}

func newResolvedWarnings(sets []*set, origin name.Name) func(s *set) map[string]bool {
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

func isBelow(owner name.Rel, cuts map[name.Rel]bool) bool {
	up, ok := owner.Parent()
	for ok && !cuts[up] {
		up, ok = up.Parent()
	}
	return ok
}

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

func (l *Loader) listRecords(ctx context.Context, to *destination) (*existingRecords, error) {
	there := &existingRecords{byName: make(map[string]*v1alpha1.Record), byRRset: make(map[rrset][]*v1alpha1.Record)}
	for _, selector := range []string{v1alpha1.FieldRecordZoneRefName + "=" + to.zone.Name, v1alpha1.FieldRecordZone + "=" +
		to.zone.String()} {
		if err := l.eachRecord(ctx, to.namespace, selector, func(r *v1alpha1.Record) { there.addRecord(r, to.zone) }); err != nil {
			return nil, fmt.Errorf("records in namespace %s of zone %s: %w", to.namespace, to.zone, err)
		}
	}
	return there, nil
}

func (l *Loader) eachRecord(ctx context.Context, namespace, selector string, do func(r *v1alpha1.Record)) error {
	list := func(ctx context.Context, options metav1.ListOptions) (*v1alpha1.RecordList, error) {
		return rrsets.Retry(ctx, func() (*v1alpha1.RecordList, error) {
			return l.typed.KubizoneV1alpha1().Records(namespace).List(ctx, options)
		})
	}
	return EachItem(ctx, list, metav1.ListOptions{FieldSelector: selector}, func(r *v1alpha1.Record) error {
		do(r)
		return nil
	})
}

// nameRecord returns the Record to write for an RRset, or nil if other Records have the data.
func (l *Loader) nameRecord(file *recordsOfFile, s *set) (want *v1alpha1.Record, done Result, err error) {
	to, existing := file.destination, file.existing
	want = to.newRecord(s)
	want.Status.FQDN = s.fqdn(to.fqdn)
	objectNames := objectname.OfRecord(s.owner, s.typ, to.zone.Name)
	if existing.byName[objectNames[0]] == nil && existing.byName[objectNames[1]] == nil {
		ttl, covered := existing.coversSet(s, to)
		switch {
		case covered && ttl == s.ttl:
			return nil, Result{Present: 1}, nil
		case covered:
			l.reportLeftAsIs(Refusal{Path: file.path, Lines: s.lines, Text: s.describe(to.fqdn),
				Reason: fmt.Sprintf("it exists with TTL %d, the file has %d", ttl, s.ttl),
				Fix:    "change the Record that has it, or delete it and import again"})
			return nil, Result{Left: 1}, nil
		}
	}
	for _, want.Name = range objectNames {
		if have := existing.byName[want.Name]; have == nil || isSameRRset(&have.Spec, &want.Spec) {
			return want, done, nil
		}
	}
	return nil, done, fmt.Errorf("the object names %q are taken in namespace %s; load into another namespace", objectNames, to.namespace)
}

// replanWrite plans a write again after a conflict.
func (l *Loader) replanWrite(w *recordWrite, now *v1alpha1.Record) (*rrsets.Change, Result, error) {
	desired := rrsets.Desired{Manager: l.cfg.FieldManager}
	var records []*v1alpha1.Record
	if w.After == nil {
		if now == nil {
			return nil, Result{Removed: 1}, nil
		}
		desired.Complete = func(r *v1alpha1.Record) bool { return r.UID == w.Before.UID }
		changes := rrsets.Plan([]*v1alpha1.Record{now}, desired)
		if len(changes) == 0 || len(changes[0].OtherManagers) > 0 {
			at := w.location
			at.Reason = "it was changed during the removal"
			l.reportLeftAsIs(at)
			return nil, Result{Left: 1}, nil
		}
		return &changes[0], Result{}, nil
	}
	existing := w.file.existing.byName
	w.file.mutex.Lock()
	defer w.file.mutex.Unlock()
	if existing[w.After.Name] = now; now == nil {
		delete(existing, w.After.Name)
	}
	want, done, err := l.nameRecord(w.file, w.set)
	if want == nil || err != nil {
		return nil, done, err
	}
	if have := existing[want.Name]; have != nil {
		records = append(records, have)
	}
	desired.Records = []*v1alpha1.Record{want}
	changes := rrsets.Plan(records, desired)
	switch {
	case len(changes) == 0:
		return nil, Result{Present: 1}, nil
	case l.leaveToOthers(&changes[0], w.location):
		return nil, Result{Left: 1}, nil
	}
	changes[0].Separate = w.Separate
	return &changes[0], Result{}, nil
}

func isSameRRset(have, want *v1alpha1.RecordSpec) bool {
	return have.DomainName == want.DomainName && have.Type == want.Type && equality.Semantic.DeepEqual(have.ZoneRef, want.ZoneRef)
}

func (l *Loader) reportDiffers(at Refusal, others []string) (differs bool) {
	if len(others) == 0 || l.cfg.ForceConflicts {
		return false
	}
	at.Reason = fmt.Sprintf("it differs from the file and was changed by %q since", others)
	l.reportLeftAsIs(at)
	return true
}
