// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

package class

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"

	"kubi.zone/kubizone/api/client/clientset/versioned/fake"
	"kubi.zone/kubizone/api/kubizone/v1alpha1"
	"kubi.zone/kubizone/pkg/delivery"
	"kubi.zone/kubizone/pkg/zone/zoneview"
	"kubi.zone/kubizone/test/deliverytest"
	"kubi.zone/kubizone/test/must"
)

type healthMemory struct {
	*deliverytest.Memory
	health, delivers *atomic.Pointer[error]
	asked            *atomic.Int32
	// proves: a confirmation proves the credentials.
	proves bool
}

func (p *healthMemory) Health(context.Context) error {
	p.asked.Add(1)
	return *p.health.Load()
}

func (p *healthMemory) Deliver(ctx context.Context, plan delivery.Plan, fence delivery.Fence) (delivery.Report, error) {
	if err := fence(ctx); err != nil {
		return delivery.Report{}, err
	}
	if err := *p.delivers.Load(); err != nil {
		return delivery.Report{}, err
	}
	return delivery.Report{Confirmed: plan.Serial, Proven: p.proves}, nil
}

// S6.13, found 7: Ready of a DNSClass agrees with Ready of its zones. A confirmation counts as a passed health check, a
// failure of the whole class as a failed one. Unproven health is Unknown. A passed check retries failed deliveries at
// once.
func TestController_healthIsWhatDeliveriesShow_S6_13(t *testing.T) {
	refused := error(&delivery.Error{Reason: delivery.ReasonServerUnreachable, Message: "connection refused", WholeClass: true})
	key := error(&delivery.Error{Reason: delivery.ReasonAuthenticationFailed, Message: "compare the secret", Detail: "key 7 expired", WholeClass: true})
	unproven := fmt.Errorf("it answers: %w", delivery.ErrNotProven)
	for what, c := range map[string]struct {
		health, delivers error
		proves           bool
		status           metav1.ConditionStatus
		reason, message  string
		// then: minutes until the class reports the repair, 0 for no repair.
		then int
	}{
		"a server that came up after the class": {health: refused, proves: true, status: metav1.ConditionTrue, reason: ReasonServerHealthy},
		"one that does not let us deliver":      {delivers: key, status: metav1.ConditionFalse, reason: "AuthenticationFailed", message: "compare the secret; it says: key 7 expired"},
		"one of which nothing is known":         {health: unproven, delivers: fmt.Errorf("of this zone alone"), status: metav1.ConditionUnknown, reason: ReasonNotProven, message: "it answers: the first zone shows it"},
		"one that a zone shows to work":         {health: unproven, proves: true, status: metav1.ConditionTrue, reason: ReasonServerHealthy},
		"one that is there again":               {health: refused, delivers: refused, status: metav1.ConditionFalse, reason: "ServerUnreachable", message: "connection refused", then: 10},
	} {
		t.Run(what, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				views := zoneview.NewSet(zoneview.Config{})
				of := classAt("main", "https://dns.example.net")
				objects := append([]runtime.Object{of}, putDelivered(t, views, 0, "me")...)
				objects[2].(*v1alpha1.Delivery).Status.Conditions = nil // for another target, and not Ready
				client := newClient(objects...)
				provider := &healthMemory{Memory: &deliverytest.Memory{Server: deliverytest.NewServer(), Blind: true}, health: new(atomic.Pointer[error]), delivers: new(atomic.Pointer[error]), asked: new(atomic.Int32), proves: c.proves}
				provider.health.Store(&c.health)
				provider.delivers.Store(&c.delivers)
				ctx, end := runController(t, client, Config{
					Views: views, Providers: giveWebhooks(provider, "elsewhere"),
				})
				expect := func(when string, status metav1.ConditionStatus, reason, message string) {
					t.Helper()
					synctest.Wait()
					now := must.Get(client.KubizoneV1alpha1().DNSClasses().Get(ctx, "main", metav1.GetOptions{}))(t)
					ready := meta.FindStatusCondition(now.Status.Conditions, v1alpha1.ConditionReady)
					if ready == nil || ready.Status != status || ready.Reason != reason || message != "" && ready.Message != message {
						t.Errorf("%s: %+v", when, ready)
					}
					list, err := client.KubizoneV1alpha1().Deliveries("team").List(ctx, metav1.ListOptions{})
					text, wrong := json.Marshal(list.Items)
					if err != nil || wrong != nil || strings.Contains(string(text), "key 7") {
						t.Errorf("%s: a tenant reads %s, %v", when, text, err)
					}
				}
				time.Sleep(2 * time.Second)
				expect("at the start", c.status, c.reason, c.message)
				if c.status == metav1.ConditionTrue {
					time.Sleep(21 * time.Minute)
					if n := provider.asked.Load(); c.health == refused && n > 2 {
						t.Errorf("it was asked %d times", n)
					}
				}
				if c.then > 0 {
					var none error
					provider.proves = true
					time.Sleep(5 * time.Minute) // by now, zones are retried every ten minutes
					provider.health.Store(&none)
					provider.delivers.Store(&none)
					time.Sleep(time.Duration(c.then-5) * time.Minute)
					expect("after the next health check", metav1.ConditionTrue, ReasonServerHealthy, "")
					one, err := client.KubizoneV1alpha1().Deliveries("team").List(ctx, metav1.ListOptions{})
					if err != nil || !meta.IsStatusConditionTrue(one.Items[0].Status.Conditions, v1alpha1.ConditionReady) {
						t.Errorf("the zone waits for its own time: %+v, %v", one.Items[0].Status, err)
					}
				}
				end()
			})
		})
	}
}

// able has the abilities set by the test, and proves nothing.
type able struct {
	*deliverytest.Memory
	can delivery.Abilities
}

func (p *able) Abilities() delivery.Abilities { return p.can }

func (p *able) Health(context.Context) error {
	return fmt.Errorf("it answers: %w", delivery.ErrNotProven)
}

func (p *able) Deliver(ctx context.Context, plan delivery.Plan, fence delivery.Fence) (delivery.Report, error) {
	report, err := p.Memory.Deliver(ctx, plan, fence)
	report.Proven = false
	return report, err
}

// For servers that fetch zones themselves, the content is compared each minute, and a class without servers is not
// proven healthy by a confirmation. For servers that Kubizone writes to, the content is compared each hour, and a
// confirmed write proves the health.
func TestController_goesByWhetherServersFetch(t *testing.T) {
	for _, fetched := range []bool{true, false} {
		t.Run(fmt.Sprint(fetched), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				views := zoneview.NewSet(zoneview.Config{})
				client := newClient(append([]runtime.Object{classAt("main", "here")}, putDelivered(t, views, 0, "me")...)...)
				provider := &able{&deliverytest.Memory{Server: deliverytest.NewServer()}, delivery.Abilities{Fetched: fetched}}
				ctx, end := runController(t, client, Config{
					Views: views, Providers: giveWebhooks(provider, "elsewhere"),
				})
				passTime(61 * time.Minute)
				now := must.Get(client.KubizoneV1alpha1().DNSClasses().Get(ctx, "main", metav1.GetOptions{}))(t)
				ready := meta.FindStatusCondition(now.Status.Conditions, v1alpha1.ConditionReady)
				if ready == nil || (ready.Status == metav1.ConditionUnknown) != fetched {
					t.Errorf("Ready: %+v", ready)
				}
				if n := provider.Server.Calls("Verify"); (n > 30) != fetched {
					t.Errorf("compared %d times in an hour", n)
				}
				end()
			})
		})
	}
}

// An attempt that began before a class got another Secret or spec says nothing about the class's health now. Its event
// would hide that the Secret is gone, until the next health check.
func TestObserve_ignoresAnEarlierGeneration(t *testing.T) {
	c := newController(t, fake.NewClientset())
	missing := &delivery.Error{Reason: delivery.ReasonSecretNotFound, Message: "there is no Secret dns/hook"}
	known := &knownClass{spec: delivery.Class{Name: "main", Generation: "2"}}
	known.noteHealth(missing)
	c.classes.known["main"] = known
	refused := &delivery.Error{Reason: delivery.ReasonAuthenticationFailed, WholeClass: true}
	event := delivery.Event{Key: delivery.Key{UID: "u", Class: "main"}, Generation: "1", Outcome: delivery.OutcomeFailed,
		ClassError: refused}
	c.Observe(event)
	if known.health != error(missing) || !known.provenAt.IsZero() {
		t.Errorf("after an event of an earlier generation: %v, proven at %s", known.health, known.provenAt)
	}
	event.Generation = "2"
	if c.Observe(event); known.health != error(refused) {
		t.Errorf("after an event of this generation: %v", known.health)
	}
}

// Readers of a class learn which Secret to compare.
func TestJudgeHealth_namesTheSecret(t *testing.T) {
	refused := delivery.Errorf(delivery.ReasonAuthenticationFailed, "192.0.2.1: TSIG error BADSIG")
	one, _ := judgeHealth(t.Context(), classAt("main", "here"), refused, metav1.Now(), "dns/tsig")
	if want := "192.0.2.1: TSIG error BADSIG; the class has its key or credentials from Secret dns/tsig"; one.Message != want {
		t.Errorf("%s, want %s", one.Message, want)
	}
}
