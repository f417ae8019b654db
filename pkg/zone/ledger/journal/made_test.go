// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

package journal

import (
	"fmt"
	"strings"
	"testing"

	"kubi.zone/kubizone/pkg/zone/law/content"
	"kubi.zone/kubizone/pkg/zone/ledger/layout"
	"kubi.zone/kubizone/test/must"
)

func TestMade_readsWhatIsStored(t *testing.T) {
	var m valueCache
	of := func(by string) ([]byte, *content.Transaction) {
		tx := &content.Transaction{Steps: []content.Step{{N: 1, Serial: 1, By: by}}}
		return layout.Encode(tx), tx
	}
	read := func(key string, value []byte) *content.Transaction {
		t.Helper()
		return must.Get(m.Read(key, value))(t)
	}
	local, tx := of("us")
	remote, _ := of("them")
	m.Put("a", local, tx)
	if read("a", local) != tx {
		t.Error("it is parsed again")
	}
	if got := read("a", remote); got.Steps[0].By != "them" {
		t.Errorf("another one's value under the key is read as ours: %+v", got)
	}
	if got := read("b", local); got == tx || got.Steps[0].By != "us" {
		t.Errorf("a key that was not put: %+v", got)
	}
	if _, err := m.Read("a", local[1:]); err == nil {
		t.Error("what is damaged is read")
	}
	long, longer := of(strings.Repeat("x", maxCachedOctets))
	m.Put("long", long, longer)
	if read("long", long) == longer {
		t.Errorf("%d octets are remembered", len(long))
	}
	m.Put("roomy", append(make([]byte, 0, 10*maxCachedOctets), local...), tx)
	if have := m.values["roomy"].octets; cap(have) > 2*maxCachedOctets || string(have) != string(local) {
		t.Errorf("%d octets are remembered in %d", len(have), cap(have))
	}
	for i := range 2 * maxCachedValues {
		m.Put(fmt.Sprint(i), local, tx)
	}
	if read("a", local) == tx || read(fmt.Sprint(maxCachedValues), local) != tx || len(m.values) > maxCachedValues {
		t.Errorf("not the last %d are remembered: %d are", maxCachedValues, len(m.values))
	}
}
