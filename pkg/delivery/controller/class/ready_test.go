// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

package class

import (
	"context"
	"fmt"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/tools/cache"

	"kubi.zone/kubizone/api/client/clientset/versioned/fake"
	"kubi.zone/kubizone/api/client/informers/externalversions"
	"kubi.zone/kubizone/api/kubizone/v1alpha1"
	"kubi.zone/kubizone/pkg/apiserver/judge"
	"kubi.zone/kubizone/pkg/delivery"
	"kubi.zone/kubizone/pkg/delivery/objects"
	"kubi.zone/kubizone/pkg/delivery/secrets"
	"kubi.zone/kubizone/pkg/dns/name"
	"kubi.zone/kubizone/pkg/dns/rdata"
	"kubi.zone/kubizone/pkg/kit/heartbeat"
	"kubi.zone/kubizone/pkg/zone/zoneview"
	"kubi.zone/kubizone/test/deliverytest"
	"kubi.zone/kubizone/test/must"
)

// readiness is a zone delivered by class main, its Record www, and a controller that the test may restart.
type readiness struct {
	*testing.T
	client *fake.Clientset
	views  *zoneview.Set
	server *deliverytest.Server
	refuse bool
	// stop ends controller and judge, the others one of them.
	stop, kill, endJudge func()
	// leases watches processes; nil for none.
	leases func(func()) *heartbeat.Watcher
	// events of Zones, if not nil.
	events *recorder
	// records replace the ledger.
	records *records
}

// provider fails for the reason that the server is named by, if the name begins with an upper-case letter.
type provider struct {
	*deliverytest.Memory
	server string
	refuse bool
}

func (p *provider) failOnce() error {
	if p.server[0] >= 'a' {
		return nil
	}
	return &delivery.Error{Reason: delivery.Reason(p.server), Message: "192.0.2.99 said: no"}
}

func (p *provider) Deliver(ctx context.Context, plan delivery.Plan, fence delivery.Fence) (delivery.Report, error) {
	if p.server == "waits" {
		return delivery.Report{Servers: []delivery.Server{{Name: "192.0.2.99", Serial: 7}}}, nil
	}
	if err := p.failOnce(); err != nil {
		return delivery.Report{}, err
	}
	report, err := p.Memory.Deliver(ctx, plan, fence)
	if p.refuse && err == nil {
		report.Failed = append(report.Failed, delivery.Failure{Name: name.MustParse("bad.z0.example."), Type: rdata.A, Err: delivery.Errorf(delivery.ReasonValidationFailed, "not this one")})
	}
	return report, err
}

func (p *provider) Remove(ctx context.Context, plan delivery.Plan, fence delivery.Fence) (delivery.Report, error) {
	if err := p.failOnce(); err != nil {
		return delivery.Report{}, err
	}
	return p.Memory.Remove(ctx, plan, fence)
}

func (p *provider) Health(context.Context) error { return p.failOnce() }

func classAt(name, server string) *v1alpha1.DNSClass {
	of := &v1alpha1.DNSClass{ObjectMeta: metav1.ObjectMeta{Name: name, UID: "class"}, Spec: v1alpha1.DNSClassSpec{Webhook: &v1alpha1.WebhookProvider{Server: server}}}
	of.ResourceVersion, of.Generation, of.Finalizers = "1", 1, []string{v1alpha1.FinalizerDelivery}
	of.Spec.Namespaces = &v1alpha1.NamespaceSelection{Names: []string{"team"}}
	return of
}

func newReadiness(t *testing.T, refuse bool) *readiness {
	r := &readiness{T: t, views: zoneview.NewSet(zoneview.Config{}), server: deliverytest.NewServer(), refuse: refuse}
	objects := append(putDelivered(t, r.views, 0, "me"), classAt("main", "here"), classAt("dead", string(delivery.ReasonServerUnreachable)))
	if refuse {
		one := objects[1].(*v1alpha1.Delivery)
		one.Status.Intent = &v1alpha1.DeliveryIntent{Serial: 7, From: 7, RRsets: []string{"bad.z0.example. A"}}
		one.Status.FailedRecords, one.Status.Error = 1, &v1alpha1.DeliveryError{Reason: string(delivery.ReasonValidationFailed), Message: "bad.z0.example. A: not this one"}
		one.Status.Conditions = []metav1.Condition{{Type: v1alpha1.ConditionReady, Status: metav1.ConditionFalse, Reason: string(delivery.ReasonValidationFailed), Message: "bad.z0.example. A: not this one"}}
		bad := objects[2].(*v1alpha1.Record).DeepCopy()
		bad.Name, bad.UID, bad.Status.FQDN = "bad", "bad", "bad.z0.example."
		bad.Status.Conditions = []metav1.Condition{{Type: v1alpha1.ConditionReady, Status: metav1.ConditionFalse, Reason: string(delivery.ReasonValidationFailed), Message: "main: not this one", ObservedGeneration: 1}}
		objects = append(objects, bad)
	}
	r.client = newClient(objects...)
	r.records = &records{client: r.client}
	return r
}

func (r *readiness) startController() {
	r.Helper()
	informers := externalversions.NewSharedInformerFactory(r.client, 0)
	config := completeConfig(Config{
		Client: r.client, Informers: informers, Views: r.views,
		Providers: map[string]NewProvider{"webhook": func(of *v1alpha1.DNSClass, _ secrets.GetFunc) (delivery.Provider, string, error) {
			server := of.Spec.Webhook.Server
			if server == string(delivery.ReasonSecretNotFound) {
				return nil, server, delivery.Errorf(delivery.ReasonSecretNotFound, "there is no Secret dns/key")
			}
			return &provider{&deliverytest.Memory{Server: r.server}, server, r.refuse}, server, nil
		}, "transfer": func(*v1alpha1.DNSClass, secrets.GetFunc) (delivery.Provider, string, error) {
			return &provider{&deliverytest.Memory{Server: r.server}, "waits", false}, "here", nil
		}},
	})
	controller := must.Get(New(config))(r)
	ctx, cancel := context.WithCancel(r.Context())
	informers.StartWithContext(ctx)
	ended := make(chan error, 1)
	go func() { ended <- controller.Run(ctx) }()
	r.endJudge = startJudge(r, r.records, judge.Config{Leases: r.leases, Announce: func(zone *v1alpha1.Zone, kind, reason, message string) {
		if r.events != nil {
			r.events.Eventf(&corev1.ObjectReference{Kind: "Zone", Name: zone.Name}, nil, kind, reason, "", "%s", message)
		}
	}})
	r.kill = sync.OnceFunc(func() {
		cancel()
		informers.Shutdown()
		must.Succeed(r.T, <-ended)
		synctest.Wait()
	})
	r.stop = func() {
		r.kill()
		r.endJudge()
	}
}

func passTime(d time.Duration) {
	time.Sleep(d)
	synctest.Wait()
}

func (r *readiness) changeZone(change func(*v1alpha1.Zone)) {
	r.Helper()
	zone := must.Get(r.client.KubizoneV1alpha1().Zones("team").Get(r.Context(), "z0", metav1.GetOptions{}))(r).DeepCopy()
	zone.Generation++
	change(zone)
	must.Get(r.client.KubizoneV1alpha1().Zones("team").Update(r.Context(), zone, metav1.UpdateOptions{}))(r)
}

func (r *readiness) changeClass(change func(*v1alpha1.DNSClass)) {
	r.Helper()
	of := must.Get(r.client.KubizoneV1alpha1().DNSClasses().Get(r.Context(), "main", metav1.GetOptions{}))(r).DeepCopy()
	of.Generation++
	change(of)
	must.Get(r.client.KubizoneV1alpha1().DNSClasses().Update(r.Context(), of, metav1.UpdateOptions{}))(r)
}

func (r *readiness) readConditions() (zone, record metav1.Condition) {
	r.Helper()
	z := must.Get(r.client.KubizoneV1alpha1().Zones("team").Get(r.Context(), "z0", metav1.GetOptions{}))(r)
	www := must.Get(r.client.KubizoneV1alpha1().Records("team").Get(r.Context(), "r0", metav1.GetOptions{}))(r)
	for _, one := range []struct {
		of   []metav1.Condition
		into *metav1.Condition
	}{{z.Status.Conditions, &zone}, {www.Status.Conditions, &record}} {
		if ready := meta.FindStatusCondition(one.of, v1alpha1.ConditionReady); ready != nil {
			*one.into = *ready
		}
	}
	return zone, record
}

func describeCondition(of metav1.Condition) string { return string(of.Status) + " " + of.Reason }

func refsOf(names ...string) func(*v1alpha1.Zone) {
	return func(zone *v1alpha1.Zone) {
		zone.Spec.DNSClassRefs = nil
		for _, name := range names {
			zone.Spec.DNSClassRefs = append(zone.Spec.DNSClassRefs, v1alpha1.DNSClassReference{Name: name})
		}
	}
}

// S6.13: no Zone or Record is Ready unless every class in force has its content, whatever happened to the classes since
// the delivery: while the controller runs, after a restart, and beside a refused Record.
func TestReady_followsTheClasses_S6_13(t *testing.T) {
	dead := string(delivery.ReasonServerUnreachable)
	for _, test := range []struct {
		name         string
		change       func(*readiness)
		zone, record string
	}{
		{"class deleted", func(r *readiness) {
			r.changeClass(func(of *v1alpha1.DNSClass) { now := metav1.Now(); of.DeletionTimestamp = &now })
		}, "False DNSClassNotFound", "False DNSClassNotFound"},
		{"no class any more", func(r *readiness) { r.changeZone(refsOf()) }, "True NoClass", "True NoClass"},
		{"no class any more, and the one before is out of reach", func(r *readiness) {
			r.changeClass(func(of *v1alpha1.DNSClass) { of.Spec.Webhook.Server = dead })
			passTime(time.Second)
			r.changeZone(refsOf())
		}, "False ServerUnreachable", "False ServerUnreachable"},
		{"moved to one that is out of reach", func(r *readiness) { r.changeZone(refsOf("dead")) }, "False ServerUnreachable",
			"False ServerUnreachable"},
		{"one out of reach added", func(r *readiness) { r.changeZone(refsOf("main", "dead")) }, "False ServerUnreachable",
			"False ServerUnreachable"},
		{"moved to one that is not there", func(r *readiness) { r.changeZone(refsOf("none")) }, "False DNSClassNotFound",
			"False DNSClassNotFound"},
		{"redirected to where nothing answers", func(r *readiness) {
			r.changeClass(func(of *v1alpha1.DNSClass) { of.Spec.Webhook.Server = dead })
		}, "False ServerUnreachable", "False ServerUnreachable"},
		{"redirected, and its Secret is missing", func(r *readiness) {
			r.changeClass(func(of *v1alpha1.DNSClass) { of.Spec.Webhook.Server = string(delivery.ReasonSecretNotFound) })
		}, "False SecretNotFound", "False SecretNotFound"},
		{"redirected", func(r *readiness) {
			r.changeClass(func(of *v1alpha1.DNSClass) { of.Spec.Webhook.Server = "there" })
		}, "True Delivered", "True Delivered"},
		{"not for its namespace any more", func(r *readiness) {
			r.changeClass(func(of *v1alpha1.DNSClass) { of.Spec.Namespaces.Names = []string{"other"} })
		}, "False InvalidConfiguration", "False InvalidConfiguration"},
	} {
		for _, refuse := range []bool{false, true} {
			for _, meanwhile := range []bool{false, true} {
				t.Run(fmt.Sprintf("%s, refused beside it %v, while away %v", test.name, refuse, meanwhile), func(t *testing.T) {
					synctest.Test(t, func(t *testing.T) {
						r := newReadiness(t, refuse)
						if !meanwhile {
							r.startController()
							passTime(time.Minute)
							if _, record := r.readConditions(); describeCondition(record) != "True Delivered" {
								t.Fatalf("at the start the Record says %s", describeCondition(record))
							}
						}
						test.change(r)
						if meanwhile {
							r.startController()
						}
						wantZone := test.zone
						if refuse && wantZone == "True Delivered" {
							wantZone = "False ValidationFailed"
						}
						for _, when := range []time.Duration{2 * time.Minute, 20 * time.Minute, 0} {
							if when == 0 {
								r.stop()
								r.startController()
							}
							passTime(max(when, time.Minute))
							zone, record := r.readConditions()
							if describeCondition(zone) != wantZone || describeCondition(record) != test.record {
								t.Errorf("after %v: the Zone says %s (%s), the Record %s (%s), want %s and %s", when,
									describeCondition(zone), zone.Message, describeCondition(record), record.Message, wantZone, test.record)
							}
							for _, public := range []string{zone.Message, record.Message} {
								if strings.Contains(public, "192.0.2.99") || strings.Contains(public, "dns/key") {
									t.Errorf("a tenant reads %q", public)
								}
							}
						}
						r.stop()
					})
				})
			}
		}
	}
}

// In a zone without classes, Records are Ready as soon as the zone is servable. Until then they stay as they were
// written, without further writes or Events (S6.13, S6.15).
func TestReady_ofAZoneThatIsNotServableYet_S6_15(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newReadiness(t, false)
		servable := func(status metav1.ConditionStatus) func(*v1alpha1.Zone) {
			return func(zone *v1alpha1.Zone) {
				meta.SetStatusCondition(&zone.Status.Conditions, metav1.Condition{Type: v1alpha1.ConditionServable, Status: status, Reason: "x"})
			}
		}
		r.startController()
		r.changeZone(refsOf())
		passTime(time.Minute)
		r.changeZone(servable(metav1.ConditionFalse))
		passTime(time.Minute)
		if zone, record := r.readConditions(); describeCondition(zone) != "False NotDelegatedOrServable" ||
			describeCondition(record) != "Unknown Pending" {
			t.Errorf("the Zone says %s, the Record %s", describeCondition(zone), describeCondition(record))
		}
		before := r.records.written.Load()
		r.changeZone(func(zone *v1alpha1.Zone) { zone.Annotations = map[string]string{"any": "change"} })
		passTime(time.Minute)
		if n := r.records.written.Load() - before; n != 0 {
			t.Errorf("%d Records were written when nothing changed", n)
		}
		r.changeZone(servable(metav1.ConditionTrue))
		passTime(time.Minute)
		if zone, record := r.readConditions(); describeCondition(zone) != "True NoClass" || describeCondition(record) != "True NoClass" {
			t.Errorf("the Zone says %s, the Record %s", describeCondition(zone), describeCondition(record))
		}
		// S3.5: a zone is delegated and served until its end, even if no rule allows the zone any more.
		r.changeZone(func(zone *v1alpha1.Zone) {
			zone.Status.EndsAt = &metav1.Time{Time: time.Now().Add(time.Hour)}
			meta.SetStatusCondition(&zone.Status.Conditions, metav1.Condition{Type: v1alpha1.ConditionDelegated,
				Status: metav1.ConditionTrue, Reason: v1alpha1.ReasonDelegationWithdrawn})
		})
		passTime(time.Minute)
		if zone, record := r.readConditions(); describeCondition(zone) != "True NoClass" || describeCondition(record) != "True NoClass" {
			t.Errorf("of a zone that ends, the Zone says %s, the Record %s", describeCondition(zone), describeCondition(record))
		}
		r.stop()
	})
}

func (r *readiness) makeRecords(records int) {
	r.Helper()
	www := must.Get(r.client.KubizoneV1alpha1().Records("team").Get(r.Context(), "r0", metav1.GetOptions{}))(r)
	for i := range records {
		one := www.DeepCopy()
		one.Name, one.UID, one.Status.FQDN = fmt.Sprint("m", i), types.UID(fmt.Sprint("m", i)), fmt.Sprintf("m%d.z0.example.", i)
		must.Get(r.client.KubizoneV1alpha1().Records("team").Create(r.Context(), one, metav1.CreateOptions{}))(r)
	}
}

// If the class of a zone with thousands of Records is removed, Ready of all of them changes. They are written at a
// limited rate, and a Record that is changed meanwhile is written at once (S6.13).
func TestReady_ofManyRecordsAtABoundedRate(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const records = 5000
		r := newReadiness(t, false)
		r.makeRecords(records)
		r.startController()
		passTime(time.Minute)
		written := func() int { return int(r.records.written.Load()) }
		if n := written(); n != 0 {
			t.Errorf("%d Records were written when nothing was to be said", n)
		}
		r.changeZone(refsOf("none"))
		// The fault is written first, Stalled later (S7.4).
		before := 0
		const rate, burst = 1000, 1000
		for round := range 2 {
			for second := range 30 {
				passTime(time.Second)
				if now, most := written()-before, burst+(second+1)*rate; now > most {
					t.Errorf("%d Records were told in %d seconds, more than %d", now, second+1, most)
				}
			}
			if before = written(); before != (round+1)*(records+1) {
				t.Errorf("%d of %d Records were told, each once", before, (round+1)*(records+1))
			}
			passTime(objects.StallAfter - 30*time.Second)
		}
		list := must.Get(r.client.KubizoneV1alpha1().Records("team").List(t.Context(), metav1.ListOptions{}))(t)
		for _, one := range list.Items {
			if ready := meta.FindStatusCondition(one.Status.Conditions, v1alpha1.ConditionReady); describeCondition(
				*ready) != "False DNSClassNotFound" || !meta.IsStatusConditionTrue(one.Status.Conditions, v1alpha1.ConditionStalled) {
				t.Fatalf("%s says %+v", one.Name, one.Status.Conditions)
			}
		}
		r.stop()
	})
}

// F30: a frozen zone has Ready False with the next step, written once, and once more after a write of its owner. After
// the repair the zone is Ready as before.
func TestReady_ofAFrozenZone(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		views := zoneview.NewSet(zoneview.Config{})
		of := classAt("main", "https://dns.example.net")
		objects := []runtime.Object{of}
		for i := range 2 {
			objects = append(objects, putDelivered(t, views, i, "me")...)
		}
		client := fake.NewClientset(objects...)
		var damaged atomic.Pointer[[]cache.ObjectName]
		freeze := func(zones ...cache.ObjectName) { damaged.Store(&zones) }
		freeze()
		ctx := t.Context()
		stored := &records{client: client}
		endJudge := startJudge(t, stored, judge.Config{Frozen: func() []cache.ObjectName { return *damaged.Load() }})
		ready := func(name string) *metav1.Condition {
			zone := must.Get(client.KubizoneV1alpha1().Zones("team").Get(ctx, name, metav1.GetOptions{}))(t)
			return meta.FindStatusCondition(zone.Status.Conditions, v1alpha1.ConditionReady)
		}
		passTime(time.Minute)
		freeze(cache.NewObjectName("team", "z0"), cache.NewObjectName("team", "gone"))
		passTime(time.Minute)
		if c := ready("z0"); c.Status != metav1.ConditionFalse || c.Reason != v1alpha1.ReasonFrozen || !strings.Contains(c.Message, "kubizone fsck") {
			t.Errorf("Ready of a frozen zone: %+v", c)
		}
		if c := ready("z1"); c.Status != metav1.ConditionTrue {
			t.Errorf("Ready of another zone: %+v", c)
		}
		passTime(time.Hour) // the zone becomes Stalled too
		if n := stored.zones.Load(); n != 2 {
			t.Errorf("%d writes of zones in an hour", n)
		}
		// After a write of its owner the server sets Ready to Pending (S6.13).
		zone := must.Get(client.KubizoneV1alpha1().Zones("team").Get(ctx, "z0", metav1.GetOptions{}))(t)
		zone.Status.Serial, zone.Status.SettledSerial, zone.ResourceVersion = 8, 8, "2"
		meta.SetStatusCondition(&zone.Status.Conditions, metav1.Condition{Type: v1alpha1.ConditionReady, Status: metav1.ConditionUnknown, Reason: v1alpha1.ReasonPending})
		must.Get(client.KubizoneV1alpha1().Zones("team").UpdateStatus(ctx, zone, metav1.UpdateOptions{}))(t)
		passTime(time.Minute)
		if c, n := ready("z0"), stored.zones.Load(); c.Reason != v1alpha1.ReasonFrozen || n != 3 {
			t.Errorf("after a write: %+v, %d writes", c, n)
		}
		zone.Status.Serial, zone.Status.SettledSerial, zone.ResourceVersion = 7, 7, "3"
		must.Get(client.KubizoneV1alpha1().Zones("team").UpdateStatus(ctx, zone, metav1.UpdateOptions{}))(t)
		freeze()
		passTime(time.Minute)
		if c := ready("z0"); c.Status != metav1.ConditionTrue || c.Reason != v1alpha1.ReasonDelivered {
			t.Errorf("mended: %+v", c)
		}
		endJudge()
	})
}
