// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

package history

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/apimachinery/pkg/types"

	"kubi.zone/kubizone/api/kubizone/v1alpha1"
	"kubi.zone/kubizone/pkg/apis/rrsets"
	"kubi.zone/kubizone/pkg/dns/name"
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
		Plan: &Plan{FQDN: past.FQDN, View: past.View, Deleted: new(AuthorOf(removal)), Changes: []Reversal{}, Left: []Left{},
			zoneNamespace: zone.Namespace}}
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
		if zone := r.findExisting(ctx, namespace, d.FQDN); zone != nil {
			return nil, fmt.Errorf("zone %s/%s exists, and has the name %s; take its Records back with --to, in place of --deleted",
				zone.Namespace, zone.Name, d.FQDN)
		}
		return nil, fmt.Errorf("the history has no deleted Zone %s in namespace %s; if it was in another namespace, write the object, as "+
			"NAMESPACE/NAME", d.FQDN, namespace)
	case err != nil:
		return nil, err
	}
	return past, nil
}

// findExisting returns a Zone of a DNS name in any namespace, or, without that right, in one. It is nil if there is no
// Zone that the user may read.
func (r *Reader) findExisting(ctx context.Context, namespace string, fqdn name.Name) *v1alpha1.Zone {
	options := metav1.ListOptions{FieldSelector: fields.OneTermEqualSelector(v1alpha1.FieldZoneFQDN, fqdn.String()).String()}
	for _, in := range []string{metav1.NamespaceAll, namespace} {
		if zones, err := r.Client.Zones(in).List(ctx, options); err == nil && len(zones.Items) > 0 {
			return &zones.Items[0]
		}
	}
	return nil
}

// FindDeleted returns a Zone with the namespace and name of the Zone that last had a DNS name, or nil if no deleted
// Zone is found. With the right to the changes of all zones, all namespaces are searched.
func (r *Reader) FindDeleted(ctx context.Context, namespace string, fqdn name.Name) (*v1alpha1.Zone, error) {
	step, err := r.findRemoval(ctx, namespace, fqdn)
	if step == nil {
		return nil, err
	}
	return &v1alpha1.Zone{ObjectMeta: metav1.ObjectMeta{Namespace: step.Zone.Namespace, Name: step.Zone.Name}}, nil
}

// DescribeFormer returns, for a Zone that was deleted and recreated, a sentence with the command that takes back the
// content of the former, or "". It asks the server only if past reaches the creation of the present Zone.
func (r *Reader) DescribeFormer(ctx context.Context, s Subject, past *Past) string {
	last := len(past.Steps) - 1
	if s.Zone == nil || last < 0 || past.Steps[last].From != 0 {
		return ""
	}
	fqdn, err := name.Parse(s.Zone.Status.FQDN)
	if err != nil {
		return ""
	}
	step, err := r.findRemoval(ctx, s.Zone.Namespace, fqdn)
	if err != nil || step == nil || step.View != s.Zone.Status.View {
		return ""
	}
	by := AuthorOf(step)
	return fmt.Sprintf("the Zone was deleted at %s, and recreated: kubectl kubizone revert %s --deleted takes back its former content",
		by.Time, strings.TrimSuffix(step.FQDN, "."))
}

// findRemoval returns the deletion of the Zone that last had a DNS name, or nil.
func (r *Reader) findRemoval(ctx context.Context, namespace string, fqdn name.Name) (*v1alpha1.HistoryStep, error) {
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
	return &past.Steps[0], nil
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
	for i := range steps {
		steps[i].Added = nil                              // the deletion removed all values
		steps[i].Records = slices.Clone(steps[i].Records) // the Zone's own move, too
		for j := range steps[i].Records {
			if x := &steps[i].Records[j]; x.Namespace == removal.Zone.Namespace {
				x.Namespace = p.zone.Namespace
			}
		}
	}
	now, err := r.ReadPresent(ctx, steps, p.zone.Namespace)
	if err != nil {
		return err
	}
	p.present = now
	for _, t := range deletedBy(steps) {
		by := AuthorOf(t.newest)
		switch {
		case now.Records[t.key] != nil:
		case t.newest.By != removal.By:
			// A tenant that retired a host minutes before deleted no part of the zone.
			p.addLeft(t, nil, by.User(), "it was deleted before the Zone, by another user; if it is missing, write it by hand, with the "+
				"values that "+p.showCommand()+" prints").missing = false
		default:
			n := len(p.Changes)
			p.addTouch(t)
			// Deletions are acts of their own: the user sees which were minutes before the Zone's.
			if before := removal.Time.Sub(t.newest.Time.Time); before > 0 && len(p.Changes) > n {
				p.Changes[n].Text += fmt.Sprintf(", deleted %.0f s before the Zone", before.Seconds())
			}
		}
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
