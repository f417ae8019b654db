// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

package deliverytest_test

import (
	"fmt"
	"strings"
	"sync/atomic"
	"testing"

	"kubi.zone/kubizone/pkg/delivery"
	"kubi.zone/kubizone/pkg/dns/name"
	"kubi.zone/kubizone/test/deliverytest"
)

func TestMemory_passesTheExam(t *testing.T) {
	for _, blind := range []bool{false, true} {
		t.Run(fmt.Sprintf("blind %v", blind), func(t *testing.T) {
			server := deliverytest.NewServer()
			var zones atomic.Int64
			deliverytest.Run(t, deliverytest.Subject{
				New: func(*testing.T) delivery.Provider {
					return &deliverytest.Memory{Server: server, Blind: blind, Refuse: func(set delivery.RRset) *delivery.Error {
						if strings.HasPrefix(set.Name.String(), "poison.") {
							return &delivery.Error{Reason: delivery.ReasonValidationFailed, Message: "no poison here", Permanent: true}
						}
						return nil
					}}
				},
				Zone: func(*testing.T) name.Name {
					return name.MustParse(fmt.Sprintf("zone%d.example.", zones.Add(1)))
				},
				Inspect: func(_ *testing.T, zone name.Name) []delivery.RRset { return server.Inspect(zone) },
				Disturb: func(_ *testing.T, zone name.Name, set delivery.RRset) { server.Disturb(zone, set) },
				Refused: "poison",
			})
		})
	}
}
