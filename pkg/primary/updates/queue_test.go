// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

package updates

import (
	"fmt"
	"slices"
	"testing"
	"time"

	mdns "github.com/miekg/dns"
	"k8s.io/klog/v2"

	"kubi.zone/kubizone/pkg/dns/update/wire"
	"kubi.zone/kubizone/test/must"
)

// A tenant's messages that wait for a slot occupy at most the tenant's share of memory, so there is room for another
// tenant's messages (attack 110).
func TestQueue_octetsAreSharedOut(t *testing.T) {
	q := NewQueue(nil, time.Now, klog.Background())
	const octets = 1<<16 - 1
	enter := func(tenant string) *Message {
		m := &Message{Key: &Key{Tenant: tenant}, Octets: make([]byte, octets)}
		if !q.Enter(m) {
			return nil
		}
		return m
	}
	var held []*Message
	for m := enter("noisy"); m != nil; m = enter("noisy") {
		held = append(held, m)
	}
	if n := len(held) * octets; n > maxOctetsOfTenant || len(held) < 2 {
		t.Errorf("%d octets wait for one tenant", n)
	}
	if m := enter("quiet"); m == nil {
		t.Error("another tenant has no room")
	} else {
		held = append(held, m)
	}
	for _, m := range held {
		q.release(m)
	}
	if q.octets != 0 || len(q.octetsOf) > 0 {
		t.Errorf("%d octets are left, of %v", q.octets, q.octetsOf)
	}
}

// An update with too many names waits for all earlier updates of its tenant, and later ones wait for it. Another
// tenant's do not.
func TestQueue_manyNamesWaitForAll_S13_16(t *testing.T) {
	q := NewQueue(nil, time.Now, klog.Background())
	enter := func(tenant string, names, first int) *Message {
		sent := new(mdns.Msg).SetUpdate("example.org.")
		for i := range names {
			sent.Ns = append(sent.Ns, must.Get(mdns.NewRR(fmt.Sprintf("h%d.example.org. A 192.0.2.1", first+i)))(t))
		}
		m := &Message{Key: &Key{Tenant: tenant}, Octets: must.Get(sent.Pack())(t), MAC: []byte{byte(first)},
			SignedAt: q.AcceptsFrom().Unix() + 1}
		if !q.Enter(m) {
			t.Fatal("the queue is full")
		}
		return m
	}
	one, many, next := enter("a", 1, 1), enter("a", wire.MaxOwners+1, 2), enter("a", 1, 200)
	other := enter("b", 1, 201)
	if len(one.earlier) != 0 || !slices.Equal(many.earlier, []*Message{one}) || !slices.Equal(next.earlier, []*Message{many}) ||
		len(other.earlier) != 0 {
		t.Errorf("they wait for %d, %d, %d and %d", len(one.earlier), len(many.earlier), len(next.earlier), len(other.earlier))
	}
}
