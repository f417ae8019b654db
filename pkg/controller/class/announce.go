// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

package class

import (
	"cmp"
	"context"
	"fmt"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/tools/events"
	"k8s.io/klog/v2"

	"kubi.zone/kubizone/api/kubizone/v1alpha1"
	"kubi.zone/kubizone/pkg/delivery"
	"kubi.zone/kubizone/pkg/ready"
)

const actionDeliver = "Deliver"

const reasonRemains = "HistoryForgotten"

type announcer struct {
	events.EventRecorder
	// lastChange is Config.LastChange. looking is the semaphore of its calls. Both may be nil.
	lastChange func(ctx context.Context, zone *v1alpha1.Zone) string
	looking    chan struct{}
}

const (
	// Beyond maxLooking calls at once, Events do not tell the last change.
	maxLooking  = 4
	lastTimeout = 5 * time.Second
)

func (a announcer) announceFailure(zone *v1alpha1.Zone, reason, note string) {
	announce := func(last string) {
		if most := maxNote - len(last); len(note) > most {
			note = strings.ToValidUTF8(note[:max(0, most)], "")
		}
		a.announceZone(zone, corev1.EventTypeWarning, reason, "%s", note+last)
	}
	select {
	case a.looking <- struct{}{}:
		go func() {
			defer func() { <-a.looking }()
			ctx, cancel := context.WithTimeout(context.Background(), lastTimeout)
			defer cancel()
			announce(a.lastChange(ctx, zone))
		}()
	default:
		announce("")
	}
}

const maxNote = 1024

func (a announcer) announceZone(zone *v1alpha1.Zone, kind, reason, format string, args ...any) {
	a.Eventf(referTo(zone), nil, kind, reason, actionDeliver, "%s", ready.ShortenMessage(fmt.Sprintf(format, args...)))
}

func (a announcer) announceDelivery(zone *v1alpha1.Zone, event delivery.Event) {
	failure := event.State.Error
	if !event.LeftoverZone.IsZero() {
		klog.Background().Info("Data that a zone lost since its last delivery may still be at the provider; the journal no longer has "+
			"these changes",
			"class", event.Key.Class, "namespace", zone.Namespace, "zone", zone.Name, "fqdn", event.LeftoverZone)
		a.announceZone(zone, corev1.EventTypeWarning, reasonRemains,
			"%s: data removed from %s may still be at the provider, since the journal no longer has the unconfirmed changes: ask a "+
				"cluster admin to compare the provider's data with zones/entries", event.Key.Class, event.LeftoverZone)
	}
	if absent := event.AbsentZone; !absent.IsZero() {
		klog.Background().Info("A provider has lacked a zone to be withdrawn for a day; it is not asked again",
			"class", event.Key.Class, "namespace", zone.Namespace, "zone", zone.Name, "fqdn", absent)
		a.announceZone(zone, corev1.EventTypeWarning, string(delivery.ReasonZoneNotFound),
			"%s: the provider has not had zone %s for a day, so the zone counts as withdrawn: if it returns there, as from a backup, a "+
				"cluster admin has to remove it", event.Key.Class, absent)
	}
	switch {
	case event.First && failure != nil:
		a.announceFailure(zone, string(failure.Reason), ready.PublicFault(event.Key.Class, failure.Reason, failure.Message))
	case event.Recovered:
		a.announceZone(zone, corev1.EventTypeNormal, v1alpha1.ReasonDelivered, "%s: the fault is over, serial %d is delivered",
			event.Key.Class, event.Serial)
	}
}

func referTo(zone *v1alpha1.Zone) runtime.Object {
	return &corev1.ObjectReference{APIVersion: v1alpha1.SchemeGroupVersion.String(), Kind: "Zone", Namespace: zone.Namespace,
		Name: zone.Name, UID: zone.UID, ResourceVersion: zone.ResourceVersion}
}

const maxRefusals = 20

// Tenants must not read the provider's texts, so they are only logged.
func logRefusals(zone *v1alpha1.Zone, class string, refused []delivery.Failure) {
	for n, failure := range refused {
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

type logged struct{}

func (logged) Eventf(regarding, _ runtime.Object, kind, reason, _, note string, args ...any) {
	about, ok := regarding.(*corev1.ObjectReference)
	if !ok {
		return
	}
	text, _, _ := strings.Cut(fmt.Sprintf(note, args...), ready.WhereCause) // the cause is in this log
	if kind == corev1.EventTypeWarning {
		klog.Warningf("%s %s/%s: %s: %s", about.Kind, about.Namespace, about.Name, reason, text)
		return
	}
	klog.Infof("%s %s/%s: %s: %s", about.Kind, about.Namespace, about.Name, reason, text)
}
