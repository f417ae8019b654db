// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

package class

import (
	"context"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"kubi.zone/kubizone/api/kubizone/v1alpha1"
	"kubi.zone/kubizone/pkg/delivery"
	"kubi.zone/kubizone/pkg/zone/zoneview"
	"kubi.zone/kubizone/test/deliverytest"
	"kubi.zone/kubizone/test/must"
)

// selection is a provider whose servers change, as in a class with a block bind9.
type selection struct {
	*deliverytest.Memory
	mu       sync.Mutex
	servers  []string
	verified int
}

func (s *selection) setServers(servers ...string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.servers = servers
}

func (s *selection) listServers() []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return append([]string{}, s.servers...)
}

func (s *selection) listRows(of delivery.Plan) ([]delivery.Server, error) {
	rows := []delivery.Server{}
	for _, server := range s.listServers() {
		rows = append(rows, delivery.Server{Name: server, Serial: of.Serial, At: time.Now()})
	}
	if len(rows) == 0 {
		return rows, delivery.Errorf(delivery.ReasonInvalidConfiguration, "the class selects no server")
	}
	return rows, nil
}

func (s *selection) Deliver(ctx context.Context, plan delivery.Plan, fence delivery.Fence) (delivery.Report, error) {
	if err := fence(ctx); err != nil {
		return delivery.Report{}, err
	}
	rows, err := s.listRows(plan)
	return delivery.Report{Confirmed: plan.Serial, Servers: rows, Proven: err == nil}, err
}

func (s *selection) Verify(_ context.Context, plan delivery.Plan) (delivery.Drift, error) {
	s.mu.Lock()
	s.verified++
	s.mu.Unlock()
	rows, err := s.listRows(plan)
	return delivery.Drift{Servers: rows}, err
}

func (s *selection) Health(context.Context) error {
	_, err := s.listRows(delivery.Plan{})
	return err
}

func (s *selection) Abilities() delivery.Abilities { return delivery.Abilities{Fetched: true} }

// If the selection of a class becomes empty or has servers again, the class and its zones report the change with the
// servers, not ten minutes later with the next health check.
func TestController_followsTheServersOfAClass_S11_19(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		views := zoneview.NewSet(zoneview.Config{})
		of := classAt("main", "here")
		client := newClient(append(putDelivered(t, views, 0, "me"), of)...)
		provider := &selection{Memory: &deliverytest.Memory{Server: deliverytest.NewServer()}}
		ctx, end := runController(t, client, Config{
			Views:     views,
			Servers:   func(*v1alpha1.DNSClass) []string { return provider.listServers() },
			Providers: giveWebhooks(provider, "elsewhere"),
		})
		for _, step := range []struct {
			servers []string
			after   time.Duration
			reason  string
		}{
			{nil, time.Hour + 3*time.Minute, "InvalidConfiguration"},
			{[]string{"dns/one"}, 20 * time.Second, ""},
			{nil, 20 * time.Second, "InvalidConfiguration"},
			{nil, time.Hour, "InvalidConfiguration"},
			{[]string{"dns/one", "dns/two"}, 20 * time.Second, ""},
		} {
			provider.setServers(step.servers...)
			passTime(step.after)
			class := must.Get(client.KubizoneV1alpha1().DNSClasses().Get(ctx, "main", metav1.GetOptions{}))(t)
			zone := must.Get(client.KubizoneV1alpha1().Zones("team").Get(ctx, "z0", metav1.GetOptions{}))(t)
			for kind, conditions := range map[string][]metav1.Condition{"class": class.Status.Conditions, "zone": zone.Status.Conditions} {
				ready := meta.FindStatusCondition(conditions, v1alpha1.ConditionReady)
				if ready == nil || (ready.Status == metav1.ConditionTrue) != (step.reason == "") || step.reason != "" && ready.Reason != step.reason {
					t.Errorf("%s after it has %q: the %s says %+v", step.after, step.servers, kind, ready)
				}
			}
			all, err := client.KubizoneV1alpha1().Deliveries("team").List(ctx, metav1.ListOptions{})
			if err != nil || len(all.Items) != 1 {
				t.Fatal(all, err)
			}
			var rows []string
			for _, row := range all.Items[0].Status.Servers {
				rows = append(rows, row.Name)
			}
			if !slices.Equal(rows, step.servers) {
				t.Errorf("%s after it has %q: rows of %q", step.after, step.servers, rows)
			}
		}
		end()
	})
}

// Every second the controller asks each server about the zone that it last confirmed. If the server has lost this zone,
// others may be lost too, so all zones of the class are compared within seconds instead of at the next hourly
// comparison.
func TestController_comparesZonesOfAServerThatLostOne(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		views := zoneview.NewSet(zoneview.Config{})
		client := newClient(append(putDelivered(t, views, 0, "me"), classAt("main", "here"))...)
		provider := &selection{Memory: &deliverytest.Memory{Server: deliverytest.NewServer()}, servers: []string{"dns/one"}}
		_, end := runController(t, client, Config{
			Views: views, Servers: func(*v1alpha1.DNSClass) []string { return provider.listServers() },
			Providers: giveWebhooks(provider, "elsewhere"),
		})
		count := func() int {
			provider.mu.Lock()
			defer provider.mu.Unlock()
			return provider.verified
		}
		time.Sleep(15 * time.Minute) // until comparisons overdue at the start are over
		before := count()
		for count() == before { // the next one is an hour away
			time.Sleep(time.Second)
		}
		before = count()
		time.Sleep(5 * time.Second)
		if n := count(); n != before {
			t.Errorf("%d comparisons without a reason", n-before)
		}
		provider.Change(func(m *deliverytest.Memory) { m.Lost = []string{"dns/one"} })
		passTime(5 * time.Second)
		if n := count(); n != before+1 {
			t.Errorf("%d comparisons within five seconds, want one", n-before)
		}
		end()
	})
}
