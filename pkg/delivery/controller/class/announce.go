// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

package class

import (
	"cmp"
	"fmt"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/client-go/tools/events"
	"k8s.io/klog/v2"

	"kubi.zone/kubizone/api/kubizone/v1alpha1"
	"kubi.zone/kubizone/pkg/apis/kubizone/class"
	"kubi.zone/kubizone/pkg/delivery"
	"kubi.zone/kubizone/pkg/delivery/objects"
)

const actionDeliver = "Deliver"

const reasonRemains = "HistoryForgotten"

type announcer struct {
	recorder events.EventRecorder // nil standalone
}

// warn writes an Event of the Delivery.
func (a announcer) warn(zone *v1alpha1.Zone, of, reason, format string, args ...any) {
	if a.recorder == nil {
		return
	}
	about := &corev1.ObjectReference{APIVersion: v1alpha1.SchemeGroupVersion.String(), Kind: "Delivery", Namespace: zone.Namespace,
		Name: class.DeliveryName(zone.Name, zone.UID, class.RefOf(of))}
	note := objects.ShortenMessage(fmt.Sprintf(format, args...))
	a.recorder.Eventf(about, nil, corev1.EventTypeWarning, reason, actionDeliver, "%s", note)
}

// announceLeftovers reports data of a zone possibly left at a provider, or returning there. No condition has this.
func (a announcer) announceLeftovers(zone *v1alpha1.Zone, event delivery.Event) {
	// The provider refused for so long that the journal forgot the removed names, such as old.example.org.
	if !event.LeftoverZone.IsZero() {
		klog.Background().Info("Data that a zone lost since its last delivery may still be at the provider; the journal no longer has "+
			"these changes",
			"class", event.Key.Class, "namespace", zone.Namespace, "zone", zone.Name, "fqdn", event.LeftoverZone)
		a.warn(zone, event.Key.Class, reasonRemains,
			"%s: data removed from %s may still be at the provider, since the journal no longer has the unconfirmed changes: ask a "+
				"cluster admin to compare the provider's data with zones/entries", event.Key.Class, event.LeftoverZone)
	}
	if absent := event.AbsentZone; !absent.IsZero() {
		klog.Background().Info("A provider has lacked a zone to be withdrawn for a day; it is not asked again",
			"class", event.Key.Class, "namespace", zone.Namespace, "zone", zone.Name, "fqdn", absent)
		a.warn(zone, event.Key.Class, string(delivery.ReasonZoneNotFound),
			"%s: the provider has not had zone %s for a day, so the zone counts as withdrawn: if it returns there, as from a backup, a "+
				"cluster admin has to remove it", event.Key.Class, absent)
	}
}

const maxRefusals = 20

// Tenants must not read the provider's texts, so they are only logged.
func logRefusals(zone *v1alpha1.Zone, class string, refused []delivery.Failure) {
	for n, failure := range refused {
		// A provider may refuse thousands of RRsets at once, for example after its quota is used up.
		if n == maxRefusals {
			klog.Background().Error(nil, "A provider refuses more RRsets of the zone", "class", class,
				"namespace", zone.Namespace, "zone", zone.Name, "more", len(refused)-n)
			break
		}
		klog.Background().Error(nil, "A provider refuses an RRset", "class", class, "namespace", zone.Namespace, "zone", zone.Name,
			"rrset", delivery.RRsetKey{Name: failure.Name, Type: failure.Type}.String(), "reason", failure.Err.Reason, "code",
			failure.Err.Code, "said", cmp.Or(failure.Err.Detail, failure.Err.Message))
	}
}
