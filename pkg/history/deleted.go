// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

package history

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"kubi.zone/kubizone/api/kubizone/v1alpha1"
	"kubi.zone/kubizone/pkg/dns/name"
	"kubi.zone/kubizone/pkg/rrsets"
)

// Records deleted within deletionWindow before the zone count as deleted with the zone.
const deletionWindow = 10 * time.Minute

// Deleted selects a deleted Zone to restore, by the former object or by DNS name.
type Deleted struct {
	// FQDN is the DNS name, used if Object has no name.
	FQDN   name.Name
	Object types.NamespacedName
	// Namespace is the user's namespace. A Zone named FQDN is searched there first.
	Namespace string
	// TargetNamespace is where to create the Zone; "" means the former namespace.
	TargetNamespace string
}

// MakeDeletedPlan returns a plan to create a deleted Zone with its Delegations and Records.
func (r *Reader) MakeDeletedPlan(ctx context.Context, d Deleted, options Options) (*Plan, error) {
	past, err := r.readDeleted(ctx, d)
	if err != nil {
		return nil, err
	}
	removal := &past.Steps[0]
	was := removal.Zone
	zone, err := zoneOf(removal, d.TargetNamespace)
	if err != nil {
		return nil, err
	}

	p := planner{past: past, options: options, zone: types.NamespacedName{Namespace: zone.Namespace, Name: zone.Name},
		Plan: &Plan{FQDN: past.FQDN, View: past.View, Deleted: new(AuthorOf(removal)), Changes: []Reversal{}, Left: []Left{}}}
	if p.apex, err = name.Parse(past.FQDN); err != nil {
		return nil, fmt.Errorf("the history has no valid zone: %w", err)
	}

	if err := r.addZone(ctx, &p, zone); err != nil {
		return nil, err
	}
	if err := r.addDelegations(ctx, &p, was, zone.Namespace); err != nil {
		return nil, err
	}
	if was.DelegationsLeftOut {
		p.Left = append(p.Left, Left{Namespace: was.Namespace, Name: was.Name, Text: "Delegations of the Zone", Writer: p.Deleted.User(),
			Reason: "the history has no room for all of them; write the others by hand"})
	}
	if err := r.addDeleted(ctx, &p, removal); err != nil {
		return nil, err
	}

	for i := range p.Changes {
		moveRef(p.Changes[i].change.After, was, zone.Namespace)
	}
	p.awaits = len(p.Objects) > 0
	return p.Plan, r.Judge(ctx, p.Plan)
}

func (r *Reader) readDeleted(ctx context.Context, d Deleted) (*Past, error) {
	namespace := d.Namespace
	if d.Object.Name != "" {
		answer := &v1alpha1.ZoneChanges{}
		request := r.request(d.Object.Namespace, "zones", d.Object.Name, "").Param("form", v1alpha1.FormHistory)
		if err := request.Do(ctx).Into(answer); err != nil {
			return nil, fmt.Errorf("history of zone %s: %w", d.Object, err)
		}
		var err error
		if d.FQDN, err = name.Parse(answer.FQDN); err != nil {
			return nil, fmt.Errorf("zone %s has no name and no history", d.Object)
		}
		namespace = d.Object.Namespace
	}
	zone := &v1alpha1.Zone{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: v1alpha1.AnyZone}}
	zone.Status.FQDN = d.FQDN.String()
	removed := time.Time{}
	past, err := r.Read(ctx, Subject{Zone: zone, Namespace: d.Namespace}, func(x *v1alpha1.HistoryStep) bool {
		if removed.IsZero() && x.Time != nil {
			removed = x.Time.Time
		}
		return x.Time == nil || x.Time.Time.Before(removed.Add(-deletionWindow))
	})
	switch {
	case apierrors.IsNotFound(err) || err == nil && (len(past.Steps) == 0 || past.Steps[0].Zone == nil):
		return nil, fmt.Errorf("the history has no deleted Zone %s in namespace %s; if it was in another namespace, write the object, as "+
			"NAMESPACE/NAME", d.FQDN, namespace)
	case err != nil:
		return nil, err
	}
	return past, nil
}

// FindDeleted returns a Zone with the namespace and name of the Zone that last had a DNS name, or nil if no deleted
// Zone is found. With the right to the changes of all zones, all namespaces are searched.
func (r *Reader) FindDeleted(ctx context.Context, namespace string, fqdn name.Name) (*v1alpha1.Zone, error) {
	zone := &v1alpha1.Zone{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: v1alpha1.AnyZone}}
	zone.Status.FQDN = fqdn.String()
	// The newest step is the deletion, so a single step is read.
	past, err := r.Read(ctx, Subject{Zone: zone, Namespace: namespace}, func(*v1alpha1.HistoryStep) bool { return true })
	switch {
	case apierrors.IsNotFound(err), apierrors.IsForbidden(err):
		return nil, nil
	case err != nil:
		return nil, err
	case len(past.Steps) == 0 || past.Steps[0].Zone == nil:
		return nil, nil
	}
	removed := past.Steps[0].Zone
	return &v1alpha1.Zone{ObjectMeta: metav1.ObjectMeta{Namespace: removed.Namespace, Name: removed.Name}}, nil
}

var oneTimeAnnotations = []string{v1alpha1.AnnotationDelete, v1alpha1.AnnotationPublishDeletions, v1alpha1.AnnotationReleaseNow,
	v1alpha1.AnnotationAcceptSerial, v1alpha1.AnnotationVerifyRequestedAt}

func metaOf(namespace, object string, was *v1alpha1.HistoryState) metav1.ObjectMeta {
	m := metav1.ObjectMeta{Namespace: namespace, Name: object, Labels: maps.Clone(was.Labels), Annotations: maps.Clone(was.Annotations)}
	delete(m.Labels, serverLabel)
	for _, key := range oneTimeAnnotations {
		delete(m.Annotations, key)
	}
	return m
}

func zoneOf(removal *v1alpha1.HistoryStep, into string) (*v1alpha1.Zone, error) {
	was := removal.Zone
	if was.Before == nil || was.Before.Spec == nil {
		return nil, fmt.Errorf("the history has no spec of zone %s/%s: write the Zone by hand; kubectl kubizone log %s/%s prints what "+
			"it had", was.Namespace, was.Name, was.Namespace, was.Name)
	}
	zone := &v1alpha1.Zone{ObjectMeta: metaOf(was.Namespace, was.Name, was.Before)}
	if err := json.Unmarshal(was.Before.Spec.Raw, &zone.Spec); err != nil {
		return nil, fmt.Errorf("the former spec of zone %s/%s: %w", was.Namespace, was.Name, err)
	}

	if into == "" || into == was.Namespace {
		return zone, nil
	}

	zone.Namespace = into
	if ref := zone.Spec.ZoneRef; ref != nil && ref.Namespace == "" {
		ref.Namespace = was.Namespace
	}

	// A zone's own namespace needs rules too, so rules for the former namespace apply to the new as well.
	for i := range zone.Spec.Delegations {
		rule := &zone.Spec.Delegations[i]
		if of := append(rule.Namespaces, rule.Namespace); slices.Contains(of, was.Namespace) && !slices.Contains(of, into) {
			rule.Namespaces = append(rule.Namespaces, into)
		}
	}
	return zone, nil
}

func (r *Reader) addZone(ctx context.Context, p *planner, zone *v1alpha1.Zone) error {
	zones := r.Client.Zones(zone.Namespace)
	now, err := rrsets.Retry(ctx, func() (*v1alpha1.Zone, error) { return zones.Get(ctx, zone.Name, metav1.GetOptions{}) })
	restoral := Restoral{Kind: "Zone", Namespace: zone.Namespace, Name: zone.Name}
	restoral.create = func(ctx context.Context, dryRun []string) error {
		_, err := zones.Create(ctx, zone, metav1.CreateOptions{FieldManager: FieldManager, DryRun: dryRun})
		return err
	}
	switch {
	case apierrors.IsNotFound(err):
		return r.judgeRestoral(ctx, p, restoral)
	case err != nil:
		return fmt.Errorf("zone %s/%s: %w", zone.Namespace, zone.Name, err)
	case now.DeletionTimestamp != nil:
		return fmt.Errorf("zone %s/%s is being deleted, and waits for its finalizers; repeat the command when it is gone",
			zone.Namespace, zone.Name)
	case now.Status.FQDN != p.FQDN || now.Status.View != p.View:
		restoral.Refused = []string{fmt.Sprintf("another Zone of this name exists, for %s; -n chooses another namespace",
			now.Spec.DomainName)}
		p.Objects, p.Refused = append(p.Objects, restoral), p.Refused+1
	}
	return nil
}

func (r *Reader) addDelegations(ctx context.Context, p *planner, was *v1alpha1.HistoryZone, namespace string) error {
	delegations := r.Client.Delegations(namespace)
	for i := range was.Delegations {
		former := &was.Delegations[i]
		d := &v1alpha1.Delegation{ObjectMeta: metaOf(namespace, former.Name, &former.Before)}
		if former.Before.Spec == nil || json.Unmarshal(former.Before.Spec.Raw, &d.Spec) != nil {
			p.Left = append(p.Left, Left{Namespace: namespace, Name: former.Name, Text: "a Delegation", Writer: p.Deleted.User(),
				Reason: "the history has no former spec of it; write it by hand"})
			continue
		}
		_, err := rrsets.Retry(ctx, func() (*v1alpha1.Delegation, error) {
			return delegations.Get(ctx, d.Name, metav1.GetOptions{})
		})
		if err == nil {
			continue
		}
		if !apierrors.IsNotFound(err) && !apierrors.IsForbidden(err) {
			return fmt.Errorf("delegation %s/%s: %w", namespace, d.Name, err)
		}
		if err := r.judgeRestoral(ctx, p, Restoral{Kind: "Delegation", Namespace: namespace, Name: d.Name,
			create: func(ctx context.Context, dryRun []string) error {
				_, err := delegations.Create(ctx, d, metav1.CreateOptions{FieldManager: FieldManager, DryRun: dryRun})
				return err
			}}); err != nil {
			return err
		}
	}
	return nil
}

func (r *Reader) judgeRestoral(ctx context.Context, p *planner, x Restoral) error {
	refused, err := r.createObject(ctx, &x, []string{metav1.DryRunAll})
	if x.Refused = refused; len(refused) > 0 {
		p.Refused++
	}
	p.Objects = append(p.Objects, x)
	return err
}

func (r *Reader) addDeleted(ctx context.Context, p *planner, removal *v1alpha1.HistoryStep) error {
	steps := slices.DeleteFunc(slices.Clone(p.past.Steps[1:]), func(x v1alpha1.HistoryStep) bool {
		return x.Way == v1alpha1.WayCascade || x.Time == nil || removal.Time == nil || x.Time.Time.Before(removal.Time.Add(-deletionWindow))
	})
	for i := range steps { // the Zone's own Records move, too
		steps[i].Records = slices.Clone(steps[i].Records)
		for j := range steps[i].Records {
			if x := &steps[i].Records[j]; x.Namespace == removal.Zone.Namespace {
				x.Namespace = p.zone.Namespace
			}
		}
	}
	now, unreadable, err := r.ReadPresent(ctx, steps)
	if err != nil {
		return err
	}
	p.present = now
	for _, t := range deletedBy(steps) {
		if reason := unreadable[t.key.Namespace]; reason != "" {
			p.refuse(t, reason)
		} else if now[t.key] == nil {
			p.addRecord(t)
		}
	}
	for i := range steps { // the deletion removed all values
		steps[i].Added = nil
	}
	p.addOthers(steps)
	p.sortChanges()
	return nil
}

func deletedBy(steps []v1alpha1.HistoryStep) []*touch {
	of := map[types.NamespacedName]*touch{}
	var all []*touch
	for i := range steps {
		x := &steps[i]
		for j := range x.Records {
			rec := &x.Records[j]
			key := types.NamespacedName{Namespace: rec.Namespace, Name: rec.Name}
			t := of[key]
			if t == nil {
				t = &touch{key: key, uid: types.UID(rec.UID), newest: x, oldest: x, stateBefore: rec.Before, existed: true}
				if of[key] = t; rec.Effect == v1alpha1.EffectRemoved {
					all = append(all, t)
				}
			}
			t.addWriter(x, rec)
		}
	}
	return all
}

func moveRef(r *v1alpha1.Record, was *v1alpha1.HistoryZone, into string) {
	if r == nil || r.Spec.ZoneRef == nil || was.Namespace == into {
		return
	}
	ref := r.Spec.ZoneRef
	if ref.Name == was.Name && ref.Namespace == was.Namespace {
		ref.Namespace = into
	}
}
