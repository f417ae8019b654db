// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

package namereview

import (
	"cmp"
	"context"
	"errors"
	"runtime/debug"
	"slices"
	"sync"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/apis/meta/internalversion"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	genericapirequest "k8s.io/apiserver/pkg/endpoints/request"
	"k8s.io/apiserver/pkg/registry/rest"
	"k8s.io/klog/v2"

	"kubi.zone/kubizone/api/kubizone/v1alpha1"
	"kubi.zone/kubizone/pkg/apis/pattern"
	"kubi.zone/kubizone/pkg/dns/name"
	"kubi.zone/kubizone/pkg/dns/rdata"
	"kubi.zone/kubizone/pkg/zone/law/rules"
)

type ruleTable struct {
	byNamespace map[string][]v1alpha1.NameReviewRule
	// forAll are the rules for every namespace.
	forAll []v1alpha1.NameReviewRule
	// childZones has, by zone, the FQDNs of delegated child zones. Other child zones are not public.
	childZones map[types.NamespacedName]map[string]bool
}

// addRule adds a rule of zone z for the namespaces, or for all if none is given. Patterns whose names are all in
// delegated child zones become a second rule, marked Elsewhere (S14.3).
func (t *ruleTable) addRule(z *v1alpha1.Zone, records []v1alpha1.RecordDelegation, patterns []string, namespaces ...string) {
	gives := v1alpha1.NameReviewRule{Zone: z.Status.FQDN, View: z.Status.View, Records: records, Zones: patterns, Contact: z.Spec.Contact}
	elsewhere := gives
	elsewhere.Records, elsewhere.Zones, elsewhere.Elsewhere = nil, nil, true
	// 1. Split the patterns. For example *.apps gives nothing in example.org. if apps.example.org. is a zone.
	if below := t.childZones[types.NamespacedName{Namespace: z.Namespace, Name: z.Name}]; below != nil {
		zone, _ := name.Parse(z.Status.FQDN) // parsed before it was stored
		own := len(namespaces) == 0 || slices.Contains(namespaces, z.Namespace)
		isZone := func(n name.Name) bool { return below[n.String()] }
		gives.Records, elsewhere.Records = split(records, func(r v1alpha1.RecordDelegation) bool {
			p, _ := pattern.Parse(r.Pattern)
			rule := rules.RecordRule{Pattern: p}
			for _, text := range r.Types {
				t, _ := rdata.ParseType(text)
				rule.Types = append(rule.Types, t)
			}
			return rule.IsElsewhere(zone, own, isZone)
		})
		gives.Zones, elsewhere.Zones = split(patterns, func(text string) bool {
			p, _ := pattern.Parse(text)
			return rules.IsElsewhere(p, zone, isZone)
		})
	}
	// 2. Add both rules to each namespace once.
	slices.Sort(namespaces)
	namespaces = slices.Compact(namespaces)
	for _, rule := range []v1alpha1.NameReviewRule{gives, elsewhere} {
		if len(rule.Records)+len(rule.Zones) == 0 {
			continue
		}
		if len(namespaces) == 0 {
			t.forAll = append(t.forAll, rule)
		}
		for _, namespace := range namespaces {
			t.byNamespace[namespace] = append(t.byNamespace[namespace], rule)
		}
	}
}

func split[T any](all []T, is func(T) bool) (others, those []T) {
	for _, one := range all {
		if is(one) {
			those = append(those, one)
		} else {
			others = append(others, one)
		}
	}
	return others, those
}

func compareZones(x, y v1alpha1.NameReviewRule) int { return cmp.Compare(x.Zone, y.Zone) }

const maxRuleOctets = 512 << 10

// listFor returns the rules for a namespace in a view, or with "" in all views, ordered by zone. Beyond the limits,
// Remaining counts the rules that are left out.
func (t *ruleTable) listFor(namespace, view string) (status v1alpha1.NameReviewStatus) {
	octets := 0
	all := slices.Concat(t.byNamespace[namespace], t.forAll)
	slices.SortStableFunc(all, compareZones)
	for i := range all {
		rule := &all[i]
		if view != "" && rule.View != view {
			continue
		}
		// Once a rule is left out, all later rules are: a list with gaps would look complete.
		if octets += rule.Size(); len(status.Rules) == v1alpha1.MaxNameReviewRules || octets > maxRuleOctets || status.Remaining > 0 {
			status.Remaining++
			continue
		}
		status.Rules = append(status.Rules, *rule)
	}
	return status
}

// ruleReader reads the rules of all Zones and Delegations, for all waiting NameReviews at once. A review waits for a
// read that begins after the request.
type ruleReader struct {
	zones, delegations rest.Lister

	mu   sync.Mutex
	busy bool
	// queued is the next read, or nil if no review waits.
	queued *ruleReading
}

type ruleReading struct {
	done  chan struct{}
	table *ruleTable
	err   error
}

const maxReadTime = time.Minute

// readRules returns the rules as of a read that begins after the call. The caller must not modify the table, which
// other reviews share.
func (r *ruleReader) readRules(ctx context.Context) (*ruleTable, error) {
	r.mu.Lock()
	// Join the queued read, never the read in progress: it may have missed a rule added before this request.
	reading := r.queued
	if reading == nil {
		reading = &ruleReading{done: make(chan struct{})}
		r.queued = reading
	}
	if !r.busy {
		r.busy = true
		// The read is for all waiting reviews, so the first client that leaves must not cancel it.
		go r.readQueued(context.WithoutCancel(ctx))
	}
	r.mu.Unlock()
	select {
	case <-reading.done:
		return reading.table, reading.err
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}

// readQueued reads while reviews wait, and then ends. A pause after each read keeps reading to a fifth of the time.
func (r *ruleReader) readQueued(ctx context.Context) {
	for {
		r.mu.Lock()
		reading := r.queued
		// Reviews from here on need a later read. Without a queued read the next review starts a goroutine again.
		r.queued, r.busy = nil, reading != nil
		r.mu.Unlock()
		if reading == nil {
			return
		}
		began := time.Now()
		within, cancel := context.WithTimeout(ctx, maxReadTime)
		reading.table, reading.err = r.buildTable(within)
		cancel()
		close(reading.done)
		time.Sleep(4 * time.Since(began))
	}
}

// buildTable reads all Zones and Delegations from the watch cache. Pending zones have no rules in force. A panic
// becomes an error, since no handler of a request catches a panic here.
func (r *ruleReader) buildTable(ctx context.Context) (table *ruleTable, err error) {
	defer func() {
		if why := recover(); why != nil {
			klog.FromContext(ctx).Error(nil, "Reading rules ended in a panic; the server goes on. Please report this",
				"panic", why, "stack", string(debug.Stack()))
			err = apierrors.NewInternalError(errors.New("the rules cannot be read, by a fault of the server; its log " +
				"says more"))
		}
	}()
	everywhere, options := genericapirequest.WithNamespace(ctx, metav1.NamespaceAll), &internalversion.ListOptions{ResourceVersion: "0"}
	list, err := r.zones.List(everywhere, options)
	if err != nil {
		return nil, err
	}
	table = &ruleTable{byNamespace: map[string][]v1alpha1.NameReviewRule{},
		childZones: map[types.NamespacedName]map[string]bool{}}
	// 1. Find the delegated child zones of each zone.
	all := list.(*v1alpha1.ZoneList).Items
	for i := range all {
		if above := all[i].Status.ParentRef; above != nil {
			key := types.NamespacedName{Namespace: above.Namespace, Name: above.Name}
			if table.childZones[key] == nil {
				table.childZones[key] = map[string]bool{}
			}
			table.childZones[key][all[i].Status.FQDN] = true
		}
	}

	// 2. Add the rules of Zones.
	zones := map[types.NamespacedName]*v1alpha1.Zone{}
	for i := range all {
		z := &all[i]
		if z.Status.FQDN == "" {
			continue // pending
		}
		zones[types.NamespacedName{Namespace: z.Namespace, Name: z.Name}] = z
		for j := range z.Spec.Delegations {
			rule := &z.Spec.Delegations[j]
			namespaces := slices.Clone(rule.Namespaces)
			if rule.Namespace != "" {
				namespaces = append(namespaces, rule.Namespace)
			}
			table.addRule(z, rule.Records, rule.Zones, namespaces...)
		}
	}
	// 3. Add the Delegations that are in force.
	if list, err = r.delegations.List(everywhere, options); err != nil {
		return nil, err
	}
	for i := range list.(*v1alpha1.DelegationList).Items {
		d := &list.(*v1alpha1.DelegationList).Items[i]
		z := zones[types.NamespacedName{Namespace: d.Namespace, Name: d.Spec.ZoneRef.Name}]
		if z != nil && d.Status.ZoneRef != nil && len(d.Spec.Namespaces) > 0 {
			table.addRule(z, d.Spec.Records, d.Spec.Zones, slices.Clone(d.Spec.Namespaces)...)
		}
	}
	return table, nil
}
