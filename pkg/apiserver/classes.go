// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

package apiserver

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/internalversion"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/apiserver/pkg/endpoints/request"
	"k8s.io/apiserver/pkg/registry/rest"
	"k8s.io/apiserver/pkg/warning"

	"kubi.zone/kubizone/api/kubizone/v1alpha1"
	"kubi.zone/kubizone/pkg/apis/kubizone/class"
	"kubi.zone/kubizone/pkg/apis/refusal"
)

type deliveredZones struct {
	deliveries rest.Lister
	zones      zoneReader
	namespaces *namespaces
}

type zoneReader interface {
	rest.Getter
	rest.Lister
}

const maxDelivered, maxDeliveredNames, deliveredWithin = 5000, 5, time.Second

// describeWithdrawn returns the number and first names of zones that a class withdraws from its servers, such as "2
// zones (example.org., example.net.)", or "" for no zone. after is the changed class, nil for a deletion.
func (d *deliveredZones) describeWithdrawn(before, after *v1alpha1.DNSClass) string {
	ctx, cancel := context.WithTimeout(context.Background(), deliveredWithin)
	defer cancel()
	listed, err := d.deliveries.List(ctx, &internalversion.ListOptions{ResourceVersion: "0",
		FieldSelector: fields.OneTermEqualSelector(v1alpha1.FieldDeliveryClassRefName, before.Name)})
	if err != nil {
		return "zones that cannot be listed now: " + err.Error()
	}
	deliveries := listed.(*v1alpha1.DeliveryList).Items
	count, more := 0, len(deliveries) > maxDelivered
	var names []string
	// A class may have a million zones, and the user waits for the answer.
	for i := range deliveries[:min(len(deliveries), maxDelivered)] {
		delivery := &deliveries[i]
		// A Bind9Cluster may have the name of the class.
		if delivery.Spec.ClassRef.Kind == v1alpha1.KindBind9Cluster || delivery.DeletionTimestamp != nil {
			continue
		}
		if after != nil && d.stays(ctx, delivery, after) {
			continue
		}
		if count++; len(names) < maxDeliveredNames {
			names = append(names, delivery.Spec.Zone.FQDN)
		}
	}
	switch more = more || ctx.Err() != nil; {
	// Of a million zones, the first 5,000 stay.
	case count == 0 && more:
		return "zones that could not all be read now, perhaps none"
	case count == 0:
		return ""
	}
	number := fmt.Sprintf("%d zones", count)
	if count == 1 {
		number = "1 zone"
	}
	if more {
		number = "at least " + number
	}
	if count > len(names) {
		names = append(names, "...")
	}
	return fmt.Sprintf("%s (%s)", number, strings.Join(names, ", "))
}

// maxAskedViews limits the new views of a class that are searched.
const maxAskedViews = 8

// warnOfViews warns of each new view of a class without zones. The zones are read from the watch cache.
func (d *deliveredZones) warnOfViews(ctx context.Context, after, before *v1alpha1.DNSClass) error {
	asking, cancel := context.WithTimeout(ctx, deliveredWithin)
	defer cancel()
	for i, view := range after.Spec.Views[:min(len(after.Spec.Views), maxAskedViews)] {
		if view == "" || slices.Contains(before.Spec.Views, view) {
			continue
		}
		listed, err := d.zones.List(request.WithNamespace(asking, ""), &internalversion.ListOptions{ResourceVersion: "0", Limit: 1,
			FieldSelector: fields.OneTermEqualSelector(v1alpha1.FieldZoneView, view)})
		if zones, ok := listed.(*v1alpha1.ZoneList); err == nil && ok && len(zones.Items) == 0 {
			warning.AddWarning(ctx, v1alpha1.WarningNoZones, refusal.Warning("S5.15", fmt.Sprintf("spec.views[%d]: no zone has the view "+
				"%q yet; zones have spec.view as they are made", i, view)))
		}
	}
	return nil
}

func (d *deliveredZones) stays(ctx context.Context, of *v1alpha1.Delivery, after *v1alpha1.DNSClass) bool {
	if !class.Admits(after, of.Namespace, d.namespaces.labelsOf(of.Namespace)) {
		return false
	}
	obj, err := d.zones.Get(request.WithNamespace(ctx, of.Namespace), of.Spec.Zone.Name, &metav1.GetOptions{ResourceVersion: "0"})
	if err != nil {
		return true
	}
	zone := obj.(*v1alpha1.Zone)
	return class.Delivers(after, zone.Status.View) && (len(zone.Spec.DNSClassRefs) > 0 || class.IsDefault(after))
}
