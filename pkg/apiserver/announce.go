// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

package apiserver

import (
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/kubernetes/scheme"
	"k8s.io/client-go/tools/events"
	"k8s.io/klog/v2"

	"kubi.zone/kubizone/api/kubizone/v1alpha1"
)

const (
	// actionHold is what Events of Zones that a mass deletion holds back say was done, as events.k8s.io/v1 asks for.
	actionHold = "Hold"
	// maxNote is what events.k8s.io/v1 takes of a message.
	maxNote = 1024
)

// announcer writes Events at kube-apiserver. A standalone server writes them to the log.
type announcer struct {
	broadcaster events.EventBroadcaster // nil: standalone
	recorder    events.EventRecorder
}

func newAnnouncer(client kubernetes.Interface) announcer {
	b := events.NewBroadcaster(&events.EventSinkImpl{Interface: client.EventsV1()})
	return announcer{b, b.NewRecorder(scheme.Scheme, Component)}
}

// announceHeld tells the owner of a Zone that it is not delivered any more, and how to let it through (S7.5).
func (a *announcer) announceHeld(o *v1alpha1.Zone) {
	settled := meta.FindStatusCondition(o.Status.Conditions, v1alpha1.ConditionSettled)
	if settled == nil {
		return
	}
	klog.Background().Info("A Zone is not delivered until its mass deletion is let through", "zone", klog.KObj(o),
		"serial", o.Status.SettledSerial, "message", settled.Message)
	if a.recorder == nil {
		return
	}
	about := &corev1.ObjectReference{APIVersion: v1alpha1.SchemeGroupVersion.String(), Kind: "Zone", Namespace: o.Namespace, Name: o.Name,
		UID: o.UID, ResourceVersion: o.ResourceVersion}
	a.recorder.Eventf(about, nil, corev1.EventTypeWarning, v1alpha1.ReasonMassDeletion, actionHold, "%s", note(settled.Message))
}

// note is as much of a message as an Event takes.
func note(message string) string {
	if len(message) > maxNote {
		message = strings.ToValidUTF8(message[:maxNote], "")
	}
	return message
}
