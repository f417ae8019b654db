// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

package class

import (
	"encoding/json"
	"errors"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	clienttesting "k8s.io/client-go/testing"

	"kubi.zone/kubizone/api/client/clientset/versioned/fake"
	"kubi.zone/kubizone/api/kubizone/v1alpha1"
	"kubi.zone/kubizone/pkg/delivery"
	"kubi.zone/kubizone/pkg/delivery/lease"
	"kubi.zone/kubizone/pkg/delivery/objects"
	"kubi.zone/kubizone/pkg/dns/name"
	"kubi.zone/kubizone/pkg/dns/rdata"
	"kubi.zone/kubizone/test/must"
)

var key = delivery.Key{UID: "u1", Class: "public"}

func aZone() *v1alpha1.Zone {
	return &v1alpha1.Zone{
		ObjectMeta: metav1.ObjectMeta{Namespace: "dns", Name: "example-org", UID: "u1", Generation: 3, Finalizers: []string{"example.org/other"}},
		Spec:       v1alpha1.ZoneSpec{DNSClassRefs: []v1alpha1.DNSClassReference{{Kind: v1alpha1.KindDNSClass, Name: "public"}}},
		Status: v1alpha1.ZoneStatus{FQDN: "example.org.", Serial: 7, SettledSerial: 7, Conditions: []metav1.Condition{
			{Type: v1alpha1.ConditionDelegated, Status: metav1.ConditionTrue}, {Type: v1alpha1.ConditionServable, Status: metav1.ConditionTrue},
			{Type: v1alpha1.ConditionSettled, Status: metav1.ConditionTrue},
		}},
	}
}

// newStore returns a store on a tracker that increments resourceVersions and rejects old ones, like the API server.
func newStore(t *testing.T) (*store, *fake.Clientset) {
	t.Helper()
	of := &v1alpha1.DNSClass{ObjectMeta: metav1.ObjectMeta{Name: "public", UID: "c1"}}
	client := fake.NewSimpleClientset(aZone(), of) //nolint:staticcheck // NewClientset asks for another name of our types than OpenAPI has.
	version := 0
	stamp := func(object runtime.Object) {
		version++
		object.(metav1.Object).SetResourceVersion(strconv.Itoa(version))
	}
	client.PrependReactor("create", "deliveries", func(action clienttesting.Action) (bool, runtime.Object, error) {
		stamp(action.(clienttesting.CreateAction).GetObject())
		return false, nil, nil
	})
	client.PrependReactor("update", "deliveries", func(action clienttesting.Action) (bool, runtime.Object, error) {
		update := action.(clienttesting.UpdateAction)
		written := update.GetObject().(*v1alpha1.Delivery)
		there, err := client.Tracker().Get(update.GetResource(), update.GetNamespace(), written.Name)
		if err != nil {
			return true, nil, err
		}
		one := there.(*v1alpha1.Delivery).DeepCopy()
		if one.ResourceVersion != written.ResourceVersion {
			return true, nil, apierrors.NewConflict(v1alpha1.Resource("deliveries"), written.Name, errors.New("it was changed"))
		}
		one.Status = written.Status // the fields that /status changes
		stamp(one)
		return true, one, client.Tracker().Update(update.GetResource(), one, update.GetNamespace())
	})
	return &store{
		client: client.KubizoneV1alpha1(),
		findZone: func(uid string) *v1alpha1.Zone {
			if uid == "u1" {
				return aZone()
			}
			return nil
		},
		findClass: func(string) *v1alpha1.DNSClass { return of },
		lastSeen:  map[delivery.Key]observed{},
	}, client
}

func makeBegunState() delivery.State {
	return delivery.State{
		Zone: name.MustParse("example.org."), Target: objects.Fingerprint("webhook https://dns.example.net"), Serial: 6, Hash: "abc",
		SyncTime: time.Unix(1000, 0), DriftCheckTime: time.Unix(2000, 0),
		Intent: &delivery.Intent{Serial: 7, From: 5, Holder: "me", Time: time.Unix(3000, 0), RRsets: []delivery.RRsetKey{{Name: name.MustParse("*.b.example.org."), Type: rdata.MX}}, Unlisted: true},
		Failed: 1, Skipped: 2, Holder: "me", FailedWhole: true, Digests: []uint64{1, 1 << 63},
		Refused: []delivery.Failure{{Name: name.MustParse("no.example.org."), Type: rdata.A,
			Err: &delivery.Error{Reason: delivery.ReasonValidationFailed, Code: "REFUSED", Message: "not this one"}}},
		Servers: []delivery.Server{
			{Name: "192.0.2.1", Serial: 7, Note: "its serial is 1000", At: time.Unix(5000, 0)},
			{Name: "192.0.2.2", Serial: 6, At: time.Unix(5000, 0)},
			{Name: "192.0.2.3", Err: &delivery.Error{Reason: delivery.ReasonServerError, Message: "192.0.2.3: no answer"}, At: time.Unix(5000, 0)},
		},
		Error: &delivery.StateError{Reason: delivery.ReasonValidationFailed, Code: "500", Message: "it could not",
			Time: time.Unix(4000, 0)},
		Ready: delivery.Condition{Status: delivery.False, Reason: delivery.ReasonValidationFailed, Message: "it could not"},

		Drifted: delivery.Condition{Status: delivery.True, Reason: delivery.ReasonDriftFound, Message: "it was there"},
		Drift:   []delivery.RRsetKey{{Name: name.MustParse("was.example.org."), Type: rdata.A}},
		Request: "2026-01-02T03:04:05Z",
	}
}

// Save and Load keep the state that a restart needs (F24).
func TestStore_keepsStates(t *testing.T) {
	s, _ := newStore(t)
	want := makeBegunState()
	version := must.Get(s.Save(t.Context(), key, want))(t)
	got := must.Get(s.Load(t.Context(), key))(t)
	if want.Version, want.Error.Stored = version, true; !reflect.DeepEqual(got, want) {
		t.Errorf("got  %+v\nwant %+v", got, want)
	}
}

// A server that has no serial of the zone counts as behind, also before a delivery has begun: a secondary, for example,
// waits for its primary first (S6.13).
func TestStatusFor_aServerWithoutASerialIsBehind(t *testing.T) {
	waits := []delivery.Server{{Name: "dns/secondary", Note: "it transfers from dns/primary, which does not have the serial yet"}}
	for _, state := range []delivery.State{{Servers: waits}, {Servers: waits, Serial: 7}, {Servers: waits, Intent: &delivery.Intent{Serial: 7}}} {
		if row := objects.StatusFor("main", state, nil).Servers[0]; row.State != v1alpha1.ServerBehind || row.Serial != 0 {
			t.Errorf("confirmed %d: %+v", state.Serial, row)
		}
	}
}

// While one server is down, the others are compared with the newest serial to deliver, not with the serial that all
// have confirmed. A server with the newest serial is Current, even though the zone as a whole is not confirmed
// (https://github.com/coredns/coredns/issues/5767).
func TestStatusFor_rowsCompareWithTheSettledSerial(t *testing.T) {
	state := delivery.State{Serial: 9, AskedSerial: 10, Servers: []delivery.Server{
		{Name: "well", Serial: 10}, {Name: "slow", Serial: 9}, {Name: "later", Serial: 11},
		{Name: "down", Err: &delivery.Error{Reason: delivery.ReasonServerUnreachable, Message: "no answer"}},
	}}
	var states []v1alpha1.ServerState
	for _, row := range objects.StatusFor("main", state, nil).Servers {
		states = append(states, row.State)
	}
	want := []v1alpha1.ServerState{v1alpha1.ServerCurrent, v1alpha1.ServerBehind, v1alpha1.ServerCurrent, v1alpha1.ServerFailed}
	if !slices.Equal(states, want) {
		t.Errorf("rows %v, want %v", states, want)
	}
	if behind := state.LaggingServers(); !slices.Equal(behind, []string{"slow", "down"}) {
		t.Errorf("behind: %v", behind)
	}
	asked := state
	if asked.AskedSerial = 9; state.Alike(asked) {
		t.Error("a row that changes from Current to Behind is not stored")
	}
}

// Tenants can read the Deliveries in their namespaces. For a class that fails, a Delivery therefore has the kind of
// fault and a fingerprint of the target, and no address or message (S6.13, S6.17, attack 15). A Delivery from an older
// version, which still has both in full, keeps its confirmations.
func TestStore_showsNoTenantWhereTheClassDelivers_S6_17(t *testing.T) {
	s, client := newStore(t)
	state := makeBegunState()
	state.Target = "rfc2136 10.96.7.3:53"
	const message = "server: dial tcp 10.96.7.3:53: connection refused"
	state.Error = &delivery.StateError{Reason: delivery.ReasonServerUnreachable, Message: message, Time: time.Unix(4000, 0)}
	state.Ready = delivery.Condition{Status: delivery.False, Reason: delivery.ReasonServerUnreachable, Message: message}
	must.Get(s.Save(t.Context(), key, state))(t)
	list, err := client.KubizoneV1alpha1().Deliveries("dns").List(t.Context(), metav1.ListOptions{})
	if err != nil || len(list.Items) != 1 {
		t.Fatalf("%v, %v", list, err)
	}
	one := &list.Items[0]
	text := must.Get(json.Marshal(one))(t)
	if strings.Contains(string(text), "10.96") || strings.Contains(string(text), "dial") {
		t.Errorf("it has the address: %s", text)
	}
	if failure, ready := one.Status.Error, one.Status.Conditions[0]; failure == nil || failure.Reason != "ServerUnreachable" || !strings.Contains(failure.Message, "does not answer") || ready.Message != failure.Message {
		t.Errorf("%+v, %+v", failure, ready)
	}
	now, err := s.Load(t.Context(), key)
	if err != nil || now.Target != objects.Fingerprint(state.Target) || now.Target == state.Target {
		t.Errorf("target %q, %v", now.Target, err)
	}
	one.Status.Target = state.Target
	if older, err := objects.StateOf(one); err != nil || older.Target != objects.Fingerprint(state.Target) {
		t.Errorf("of an older version: target %q, %v", older.Target, err)
	}
}

// F22: of two workers that read the same state, one writes.
func TestStore_isAFence(t *testing.T) {
	s, _ := newStore(t)
	first := makeBegunState()
	version := must.Get(s.Save(t.Context(), key, first))(t)
	if _, err := s.Save(t.Context(), key, first); !errors.Is(err, lease.ErrConflict) {
		t.Errorf("made twice: %v", err)
	}
	one, other := first, first
	one.Version, other.Version = version, version
	one.Serial = 7
	must.Get(s.Save(t.Context(), key, one))(t)
	if _, err := s.Save(t.Context(), key, other); !errors.Is(err, lease.ErrConflict) {
		t.Errorf("the later one wrote: %v", err)
	}
	if now, err := s.Load(t.Context(), key); err != nil || now.Serial != 7 {
		t.Errorf("serial %d, %v", now.Serial, err)
	}
}

// Finalizers are set on Zone, class and Delivery before the first write to a server, so that nothing is deleted while a
// server has the data. They go with the last Delivery, and finalizers of others stay (S8.3).
func TestStore_holdsWhatItBegins(t *testing.T) {
	s, client := newStore(t)
	held := func() (zone, class, one bool) {
		z := must.Get(client.KubizoneV1alpha1().Zones("dns").Get(t.Context(), "example-org", metav1.GetOptions{}))(t)
		if !slices.Contains(z.Finalizers, "example.org/other") {
			t.Errorf("finalizers of others: %q", z.Finalizers)
		}
		c := must.Get(client.KubizoneV1alpha1().DNSClasses().Get(t.Context(), "public", metav1.GetOptions{}))(t)
		list := must.Get(client.KubizoneV1alpha1().Deliveries("dns").List(t.Context(), metav1.ListOptions{}))(t)
		isOwn := func(finalizers []string) bool { return slices.Contains(finalizers, v1alpha1.FinalizerDelivery) }
		return isOwn(z.Finalizers), isOwn(c.Finalizers), len(list.Items) == 1 && isOwn(list.Items[0].Finalizers)
	}
	idle := delivery.State{Ready: delivery.Condition{Status: delivery.False, Reason: objects.ReasonDNSClassNotFound, Message: "none"}}
	version := must.Get(s.Save(t.Context(), key, idle))(t)
	if zone, class, one := held(); zone || class || one {
		t.Errorf("nothing is begun, and held: %v %v %v", zone, class, one)
	}
	next := makeBegunState()
	next.Version = version
	must.Get(s.Save(t.Context(), key, next))(t)
	if zone, class, one := held(); !zone || !class || !one {
		t.Errorf("begun, and held: %v %v %v", zone, class, one)
	}
	must.Succeed(t, s.Delete(t.Context(), key))
	if zone, _, one := held(); zone || one {
		t.Errorf("over, and held: %v %v", zone, one)
	}
	if err := s.Delete(t.Context(), key); err != nil {
		t.Errorf("again: %v", err)
	}
	if state, err := s.Load(t.Context(), key); err != nil || !reflect.DeepEqual(state, delivery.State{}) {
		t.Errorf("left: %+v, %v", state, err)
	}
}

// The finalizer kubi.zone/delivery keeps a deleted Zone until its data is withdrawn. If the zone leaves its class, the
// finalizer stays while a signer still has the zone (S12.9).
func TestStore_holdsWhatASignerHas_S12_9(t *testing.T) {
	s, client := newStore(t)
	zones := client.KubizoneV1alpha1().Zones("dns")
	zone := aZone()
	zone.Spec.DNSSEC = &v1alpha1.ZoneDNSSEC{Policy: "default"}
	s.findZone = func(string) *v1alpha1.Zone { return zone }
	for _, tc := range []struct {
		status *v1alpha1.ZoneDNSSECStatus
		held   bool
	}{
		{&v1alpha1.ZoneDNSSECStatus{Phase: v1alpha1.DNSSECSigned, Signer: &v1alpha1.ZoneSigner{Namespace: "dns", Name: "signer"}}, true},
		{&v1alpha1.ZoneDNSSECStatus{Message: "the zone is not signed"}, false},
		{nil, false},
	} {
		state := makeBegunState()
		must.Get(s.Save(t.Context(), key, state))(t)
		live, err := zones.Get(t.Context(), zone.Name, metav1.GetOptions{})
		must.Succeed(t, err)
		live.Status.DNSSEC = tc.status
		must.Get(zones.UpdateStatus(t.Context(), live, metav1.UpdateOptions{}))(t)
		must.Succeed(t, s.Delete(t.Context(), key))
		if live, err = zones.Get(t.Context(), zone.Name, metav1.GetOptions{}); err != nil || slices.Contains(live.Finalizers, v1alpha1.FinalizerDelivery) != tc.held {
			t.Errorf("%+v: finalizers %q, want ours: %v; %v", tc.status, live.Finalizers, tc.held, err)
		}
	}
}
