// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

package e2e

import (
	"context"
	"net/netip"
	"regexp"
	"strconv"

	"github.com/rogpeppe/go-internal/testscript"

	"kubi.zone/kubizone/test/rig"
)

var keyStatement = regexp.MustCompile(`key\s+"([^"]+)"\s*\{\s*algorithm\s+(\S+);\s*secret\s+"([^"]+)";\s*\}`)

// secondary NAME [-key FILE] ZONE... starts BIND as secondary of the story's server, which may be up already
// or not yet, and puts its port into the variable. With a key file it signs what it asks.
func secondary(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) < 2 {
		ts.Fatalf("usage: secondary NAME [-key FILE] ZONE...")
	}
	s := storyOf(ts)
	s.choosePorts(ts)
	variable, zones := args[0], args[1:]
	var config rig.BINDConfig
	var key string
	if zones[0] == "-key" {
		found := keyStatement.FindStringSubmatch(ts.ReadFile(zones[1]))
		if found == nil {
			ts.Fatalf("%s: no key statement", zones[1])
		}
		key = found[1]
		config.Keys = []rig.TSIGKey{{Name: key, Algorithm: found[2], Secret: found[3]}}
		zones = zones[2:]
	}
	for _, zone := range zones {
		config.Secondaries = append(config.Secondaries, rig.SecondaryZone{Zone: zone, Primary: netip.MustParseAddrPort(s.dns), Key: key})
	}
	bind, err := rig.StartBIND(context.Background(), config)
	ts.Check(err)
	s.secondaries = append(s.secondaries, bind)
	ts.Setenv(variable, strconv.Itoa(int(bind.Addr.Port())))
}
