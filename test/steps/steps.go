// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

package steps

import (
	"fmt"
	"testing"

	"kubi.zone/kubizone/pkg/dns/name"
	"kubi.zone/kubizone/pkg/dns/rdata"
	"kubi.zone/kubizone/pkg/dns/serial"
	"kubi.zone/kubizone/pkg/zone/law/content"
	"kubi.zone/kubizone/pkg/zone/law/sethash"
	"kubi.zone/kubizone/test/must"
)

// Make returns steps that create the zone example.org., and add an address of www in each of n steps. Step i has the
// serial 100+i.
func Make(t testing.TB, n int) []content.Step {
	t.Helper()
	header := content.Header{FQDN: name.MustParse("example.org."), TTL: 360, Refresh: 86400, Retry: 7200, Expire: 3600000,
		NegativeResponseCache: 360}
	all := []content.Step{{N: 1, Serial: 100, HeaderAfter: &header}}
	var state sethash.State
	for i := 1; i <= n; i++ {
		step := content.Step{
			N: uint64(i + 1), From: serial.Serial(99 + i), Serial: serial.Serial(100 + i),
			Added: []content.Row{{Owner: name.MustRel("www"), Type: rdata.A, Data: fmt.Sprintf("192.0.2.%d", i)}},
		}
		if i == 1 {
			inherit := content.InheritTTL()
			step.TTLs = []content.TTLChange{{Owner: name.MustRel("www"), Type: rdata.A, After: &inherit}}
		}
		removed, added := step.Elements()
		state = must.Get(state.Update(removed, added))(t)
		step.State = state
		all = append(all, step)
	}
	return all
}
