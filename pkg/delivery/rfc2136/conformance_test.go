// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

package rfc2136

import (
	"fmt"
	"strings"
	"testing"

	"kubi.zone/kubizone/pkg/delivery"
	"kubi.zone/kubizone/pkg/dns/name"
	"kubi.zone/kubizone/test/deliverytest"
	"kubi.zone/kubizone/test/must"
	"kubi.zone/kubizone/test/rig"
)

// BIND keeps foreign records, Knot runs in replace mode. dig and nsupdate inspect both.
func TestProvider_passesTheExam(t *testing.T) {
	var zones []rig.PrimaryZone
	for i := range 40 {
		zone := fmt.Sprintf("zone-%d.example.", i)
		zones = append(zones, rig.PrimaryZone{
			Zone: zone, UpdateKey: rigKey.Name,
			Text: fmt.Sprintf("%[1]s 3600 IN SOA ns1.provider.example. hostmaster.%[1]s 1 86400 7200 3600000 360\n%[1]s 3600 IN NS ns1.provider.example.\n", zone),
		})
	}
	examine := func(t *testing.T, s server, replace bool) {
		used := 0
		deliverytest.Run(t, deliverytest.Subject{
			Keeps: !replace,
			New: func(t *testing.T) delivery.Provider {
				p := s.makeProvider(t)
				p.config.Replace = replace
				return p
			},
			Zone: func(t *testing.T) name.Name {
				used++
				return name.MustParse(zones[used-1].Zone)
			},
			Inspect: func(t *testing.T, zone name.Name) []delivery.RRset {
				text, err := rig.Dig{Server: s.addr, Key: &s.key}.Run(t.Context(), "+tcp", "+onesoa", "+nocomments", "+nostats", "+nocmd", "AXFR", zone.String())
				must.Succeed(t, err)
				return deliverytest.ReadRRsets(t, strings.NewReader(text), zone)
			},
			Disturb: func(t *testing.T, zone name.Name, set delivery.RRset) {
				script := fmt.Sprintf("zone %s\nupdate delete %s %s\n", zone, set.Name, set.Type)
				for _, data := range set.Data {
					script += fmt.Sprintf("update add %s %d %s %s\n", set.Name, set.TTL, set.Type, data)
				}
				must.Get(rig.Nsupdate(t.Context(), s.addr, &s.key, script+"send\n"))(t)
			},
		})
	}
	t.Run("BIND", func(t *testing.T) {
		bind := rig.NeedServer(rig.StartBIND(t.Context(), rig.BINDConfig{Keys: []rig.TSIGKey{rigKey}, Primaries: zones}))(t)
		examine(t, server{"BIND", bind.Addr, rigKey, bind.Log}, false)
	})
	t.Run("Knot", func(t *testing.T) {
		knot := rig.NeedServer(rig.StartKnot(t.Context(), rig.KnotConfig{Key: &rigKey, Zones: zones}))(t)
		examine(t, server{"Knot", knot.Addr, rigKey, knot.Log}, true)
	})
}
