// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

package updates

import (
	"testing"
	"time"

	"k8s.io/klog/v2"
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
