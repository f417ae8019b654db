// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

package e2e

import (
	"context"
	"fmt"
	"net/netip"
	"regexp"
	"strconv"
	"strings"

	"github.com/rogpeppe/go-internal/testscript"

	"kubi.zone/kubizone/test/rig"
)

var keyStatement = regexp.MustCompile(`key\s+"([^"]+)"\s*\{\s*algorithm\s+(\S+);\s*secret\s+"([^"]+)";\s*\}`)

// startSecondary NAME [-outside] [-key FILE] [-catalog] ZONE... starts BIND as secondary of the story's server, running
// or not, and stores the port in the variable. A key file signs queries. With -catalog, the zones are catalogs. With
// -outside, BIND listens at $OUTSIDE.
func startSecondary(ts *testscript.TestScript, neg bool, args []string) {
	const usage = "usage: secondary NAME [-outside] [-key FILE] [-catalog] ZONE..."
	if neg || len(args) < 2 {
		ts.Fatalf(usage)
	}
	s := storyOf(ts)
	s.choosePorts(ts)
	variable, zones := args[0], args[1:]
	var config rig.BINDConfig
	var key string
	into := &config.Secondaries
	for strings.HasPrefix(zones[0], "-") {
		switch zones[0] {
		case "-outside":
			var err error
			config.Addr, err = rig.OutsidePort()
			ts.Check(err)
			ts.Setenv("OUTSIDE", config.Addr.Addr().String())
		case "-catalog":
			into = &config.Catalogs
		case "-key":
			found := keyStatement.FindStringSubmatch(ts.ReadFile(zones[1]))
			if found == nil {
				ts.Fatalf("%s: no key statement", zones[1])
			}
			key = found[1]
			config.Keys = []rig.TSIGKey{{Name: key, Algorithm: found[2], Secret: found[3]}}
			config.Options = fmt.Sprintf("allow-notify { key %q; };\n", key)
			zones = zones[1:]
		}
		if zones = zones[1:]; len(zones) == 0 {
			ts.Fatalf(usage)
		}
	}
	for _, zone := range zones {
		*into = append(*into, rig.SecondaryZone{Zone: zone, Primary: netip.MustParseAddrPort(s.dns), Key: key})
	}
	bind, err := rig.StartBIND(context.Background(), config)
	ts.Check(err)
	s.secondaries = append(s.secondaries, bind)
	ts.Setenv(variable, strconv.Itoa(int(bind.Addr.Port())))
}
