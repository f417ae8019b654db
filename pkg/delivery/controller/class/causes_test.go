// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

package class

import (
	"context"
	"fmt"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	kube "k8s.io/client-go/kubernetes/fake"

	"kubi.zone/kubizone/api/kubizone/v1alpha1"
	"kubi.zone/kubizone/pkg/apiserver/judge"
	"kubi.zone/kubizone/pkg/delivery/objects"
	"kubi.zone/kubizone/pkg/dns/name"
	"kubi.zone/kubizone/pkg/kit/heartbeat"
	"kubi.zone/kubizone/test/must"
)

type recorder struct {
	mu   sync.Mutex
	list []string
}

func (e *recorder) Eventf(about, _ runtime.Object, kind, reason, _, note string, arguments ...any) {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.list = append(e.list, fmt.Sprintf("%s %s %s: %s", about.(*corev1.ObjectReference).Kind, kind, reason, fmt.Sprintf(note, arguments...)))
}

func (e *recorder) listNotes(reason string) (list []string) {
	e.mu.Lock()
	defer e.mu.Unlock()
	for _, one := range e.list {
		if strings.Contains(one, " "+reason+": ") {
			list = append(list, one)
		}
	}
	return list
}

// outage is a readiness with Leases of a controller and a primary.
type outage struct {
	*readiness
	leases *kube.Clientset
	ends   map[string]func()
}

func newOutage(t *testing.T) *outage {
	o := &outage{readiness: newReadiness(t, false), leases: kube.NewClientset(), ends: map[string]func(){}}
	o.events = &recorder{}
	o.readiness.leases = func(changed func()) *heartbeat.Watcher {
		return heartbeat.NewWatcher(o.leases.CoordinationV1().Leases("kubizone-system"), changed)
	}
	return o
}

func (o *outage) startProcess(process string) {
	ctx, end := context.WithCancel(o.Context())
	ended := make(chan struct{})
	beat := &heartbeat.Beat{Leases: o.leases.CoordinationV1().Leases("kubizone-system"), Process: process,
		Identity: fmt.Sprint(process, time.Now())}
	go func() { defer close(ended); beat.Run(ctx, func() bool { return true }) }()
	o.ends[process] = sync.OnceFunc(func() { end(); <-ended })
}

// changeContent gives the zone serial 8, which makes it and its Record Pending, as the content write does.
func (o *outage) changeContent() {
	o.Helper()
	snapshot := addAddress(o.T, o.views, "uid-0", name.MustParse("z0.example."), "192.0.2.1")
	waits := metav1.Condition{Type: v1alpha1.ConditionReady, Status: metav1.ConditionUnknown, Reason: v1alpha1.ReasonPending}
	o.changeZone(func(zone *v1alpha1.Zone) {
		zone.Status.Serial, zone.Status.SettledSerial, zone.Status.Hash = 8, 8, snapshot.Hash()
		waits.ObservedGeneration = zone.Generation
		meta.SetStatusCondition(&zone.Status.Conditions, waits)
	})
	list := must.Get(o.client.KubizoneV1alpha1().Records("team").List(o.Context(), metav1.ListOptions{}))(o)
	for i := range list.Items {
		record := &list.Items[i]
		record.Status.Serial, waits.ObservedGeneration = 8, record.Generation
		meta.SetStatusCondition(&record.Status.Conditions, waits)
		must.Get(o.client.KubizoneV1alpha1().Records("team").UpdateStatus(o.Context(), record, metav1.UpdateOptions{}))(o)
	}
}

// S7.12: a Pending Zone and Record name the known cause within 45 seconds, with the role that ends it. They are Stalled
// after two minutes, with a single Event. Before and after they name none.
func TestCauses_S7_12(t *testing.T) {
	for _, test := range []struct {
		reason, role string
		begin, end   func(*outage)
	}{
		{"Paused", "the zone's owner removes the annotation kubi.zone/paused", func(o *outage) {
			o.changeZone(func(zone *v1alpha1.Zone) { zone.Annotations = map[string]string{v1alpha1.AnnotationPaused: "true"} })
		}, func(o *outage) { o.changeZone(func(zone *v1alpha1.Zone) { zone.Annotations = nil }) }},
		{"ClassPaused", "the platform sets spec.paused of the class to false", func(o *outage) {
			o.changeClass(func(of *v1alpha1.DNSClass) { of.Spec.Paused = true })
		}, func(o *outage) { o.changeClass(func(of *v1alpha1.DNSClass) { of.Spec.Paused = false }) }},
		{"NoController", "the platform starts the process controller", func(o *outage) {
			o.kill()
			o.ends[heartbeat.Controller]()
		}, func(o *outage) {
			o.stop()
			o.startController()
			o.startProcess(heartbeat.Controller)
		}},
		{"NoPrimary", "the platform starts the process primary", func(o *outage) {
			o.changeClass(func(of *v1alpha1.DNSClass) {
				of.Spec.Webhook, of.Spec.Transfer = nil, &v1alpha1.TransferProvider{}
			})
			o.ends[heartbeat.Primary]()
		}, func(o *outage) {
			o.startProcess(heartbeat.Primary)
			passTime(time.Minute)
			o.changeClass(func(of *v1alpha1.DNSClass) {
				of.Spec.Transfer, of.Spec.Webhook = nil, &v1alpha1.WebhookProvider{Server: "here"}
			})
		}},
	} {
		t.Run(test.reason, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				o := newOutage(t)
				o.startProcess(heartbeat.Controller)
				o.startProcess(heartbeat.Primary)
				o.startController()
				passTime(time.Minute)
				o.expectReady("True Delivered")
				test.begin(o)
				passTime(time.Second)
				o.changeContent()
				passTime(45 * time.Second)
				o.expectCause(test.reason, test.role)
				if zone, record := o.readStalled("r0"); zone != "" || record != "" {
					t.Errorf("after 45 seconds Stalled: %q, %q", zone, record)
				}
				passTime(objects.StallAfter)
				o.expectCause(test.reason, test.role)
				if zone, record := o.readStalled("r0"); zone != "True "+test.reason || record != "True "+test.reason {
					t.Errorf("after two minutes Stalled: %q, %q", zone, record)
				}
				passTime(10 * time.Minute)
				if events := o.events.listNotes(test.reason); len(events) != 1 {
					t.Errorf("Events: %q", events)
				}
				test.end(o)
				passTime(time.Minute)
				o.expectReady("True Delivered")
				if zone, record := o.readStalled("r0"); zone != "" || record != "" {
					t.Errorf("after it Stalled: %q, %q", zone, record)
				}
				if events := o.events.listNotes(test.reason); len(events) != 2 || !strings.HasSuffix(events[1], ": this is over") {
					t.Errorf("Events: %q", events)
				}
				for _, end := range o.ends {
					end()
				}
				o.stop()
			})
		})
	}
}

func (o *outage) expectReady(want string) {
	o.Helper()
	zone, record := o.readConditions()
	for of, condition := range map[string]metav1.Condition{"Zone": zone, "Record": record} {
		if describeCondition(condition) != want {
			o.Errorf("the %s says %s: %s", of, describeCondition(condition), condition.Message)
		}
	}
}

// expectCause compares the reason of Zone and Record, and the end of their messages. S6.17: neither names a server.
func (o *outage) expectCause(reason, role string) {
	o.Helper()
	zone, record := o.readConditions()
	for of, condition := range map[string]metav1.Condition{"Zone": zone, "Record": record} {
		if describeCondition(condition) != "Unknown "+reason || !strings.HasSuffix(condition.Message, "; "+role) ||
			strings.Contains(condition.Message, "192.0.2.99") {
			o.Errorf("the %s says %s: %s", of, describeCondition(condition), condition.Message)
		}
	}
}

// The judging server dies while a class confirms the last change, and while it is paused. The next server judges within
// 20 seconds, and neither Zone nor Record is Ready meanwhile by a confirmation of the serial before.
func TestReady_ofTheNextJudge_S6_13(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		o := newOutage(t)
		o.records.lease = make(chan struct{}, 1)
		o.startController()
		endNext := startJudge(t, o.records, judge.Config{})
		passTime(time.Minute)
		o.expectReady("True Delivered")
		o.changeClass(func(of *v1alpha1.DNSClass) { of.Spec.Paused = true })
		o.endJudge()
		o.changeContent()
		for range 20 {
			passTime(time.Second)
			if zone, record := o.readConditions(); zone.Status == metav1.ConditionTrue || record.Status == metav1.ConditionTrue {
				t.Fatalf("while no class has the change the Zone says %s, the Record %s", describeCondition(zone), describeCondition(record))
			}
		}
		o.expectReady("Unknown ClassPaused")
		o.changeClass(func(of *v1alpha1.DNSClass) { of.Spec.Paused = false })
		passTime(20 * time.Second)
		o.expectReady("True Delivered")
		o.kill()
		endNext()
	})
}

// A class may confirm nothing although no fault is known. After 40 seconds, Ready of the waiting Zones and Records
// names the class with the reason AwaitsClass. They do not become Stalled, and a confirming class is not named (S7.12).
func TestCauses_awaitsAClass_S7_12(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		o := newOutage(t)
		o.startProcess(heartbeat.Primary)
		o.startController()
		passTime(time.Minute)
		o.changeClass(func(of *v1alpha1.DNSClass) { of.Spec.Webhook, of.Spec.Transfer = nil, &v1alpha1.TransferProvider{} })
		passTime(time.Second)
		o.changeContent()
		passTime(30 * time.Second)
		o.expectReady("Unknown Pending")
		passTime(15 * time.Second)
		o.expectCause(v1alpha1.ReasonAwaitsClass, "the platform finds the server with kubectl kubizone doctor, or in "+
			"status.servers of the zone's Delivery")
		passTime(10 * time.Minute)
		if zone, record := o.readStalled("r0"); zone != "" || record != "" || len(o.events.listNotes(v1alpha1.ReasonAwaitsClass)) != 0 {
			t.Errorf("Stalled: %q, %q", zone, record)
		}
		o.changeClass(func(of *v1alpha1.DNSClass) {
			of.Spec.Transfer, of.Spec.Webhook = nil, &v1alpha1.WebhookProvider{Server: "here"}
		})
		passTime(10 * time.Second)
		o.expectReady("True Delivered")
		o.ends[heartbeat.Primary]()
		o.stop()
	})
}
