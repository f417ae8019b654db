// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

package delivery_test

import (
	"fmt"
	"testing"

	"kubi.zone/kubizone/pkg/delivery"
	"kubi.zone/kubizone/pkg/dns/name"
	"kubi.zone/kubizone/pkg/dns/rdata"
)

// RRsets that a server refuses must not keep the others from being written. An RRset that failed therefore moves to the
// end, with all changes at its name, the oldest failure first. A write that succeeds moves nothing, nor does a failure
// in another zone.
func TestWriteOrder(t *testing.T) {
	var order delivery.WriteOrder
	zone, other := name.MustParse("example."), name.MustParse("other.")
	key := func(owner string, of rdata.Type) delivery.RRsetKey {
		return delivery.RRsetKey{Name: name.MustParse(owner + ".example."), Type: of}
	}
	var changes []delivery.Change
	for _, k := range []delivery.RRsetKey{key("a", rdata.A), key("b", rdata.A), key("b", rdata.TXT), key("c", rdata.A), key("d", rdata.A)} {
		changes = append(changes, delivery.Change{After: delivery.RRset{Name: k.Name, Type: k.Type}})
	}
	expect := func(wantFirst, wantLast string) {
		t.Helper()
		names := func(changes []delivery.Change) (text string) {
			for _, change := range changes {
				text += change.After.Key().String() + " "
			}
			return text
		}
		if first, last := order.Divide(zone, changes); names(first) != wantFirst || names(last) != wantLast {
			t.Errorf("first %s, last %s; want %s, %s", names(first), names(last), wantFirst, wantLast)
		}
	}
	const all = "a.example. A b.example. A b.example. TXT c.example. A d.example. A "
	expect(all, "")
	order.Note(zone, key("d", rdata.A), true)
	order.Note(zone, key("a", rdata.A), true)
	order.Note(zone, key("b", rdata.TXT), true)
	order.Note(zone, key("c", rdata.A), false)
	order.Note(other, key("c", rdata.A), true)
	expect("c.example. A ", "d.example. A a.example. A b.example. A b.example. TXT ")
	order.Note(zone, key("d", rdata.A), true) // failed again
	order.Note(zone, key("a", rdata.A), false)
	expect("a.example. A c.example. A ", "b.example. A b.example. TXT d.example. A ")
	order.Forget(zone)
	expect(all, "")
	for i := range delivery.MaxFailed + 1 {
		order.Note(zone, key(fmt.Sprint("n", i), rdata.A), true)
	}
	if n := len(order.FailedRRsets(zone)); n != delivery.MaxFailed {
		t.Errorf("%d are remembered", n)
	}
}
