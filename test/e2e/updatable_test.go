// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

package e2e

import (
	"context"
	"os"
	"path/filepath"
	"strconv"

	"github.com/rogpeppe/go-internal/testscript"

	"kubi.zone/kubizone/test/rig"
)

// startUpdatablePrimary NAME ZONE DIR starts BIND as primary of a zone that accepts dynamic updates, and stores the
// port in the variable. DIR gets the key as files of a Secret (name, algorithm, secret); update.key is BIND's form.
func startUpdatablePrimary(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 3 {
		ts.Fatalf("usage: updatable NAME ZONE DIR")
	}
	key := rig.TSIGKey{Name: "update.example", Algorithm: "hmac-sha256", Secret: "YSBzZWNyZXQgb2YgdGhpcnR5LXR3byBvY3RldHMgb2s="}
	bind, err := rig.StartBIND(context.Background(), rig.BINDConfig{Keys: []rig.TSIGKey{key}, Primaries: []rig.PrimaryZone{{
		Zone: args[1], UpdateKey: key.Name,
		Text: "@ 300 IN SOA ns.example.net. hostmaster.example.net. 1 7200 900 1209600 300\n@ 300 IN NS ns.example.net.\nforeign 300 IN A 192.0.2.200\n",
	}}})
	ts.Check(err)
	s := storyOf(ts)
	s.secondaries = append(s.secondaries, bind)
	ts.Setenv(args[0], strconv.Itoa(int(bind.Addr.Port())))
	dir := ts.MkAbs(args[2])
	ts.Check(os.MkdirAll(dir, 0o755))
	for name, text := range map[string]string{
		filepath.Join(dir, "name"): key.Name, filepath.Join(dir, "algorithm"): key.Algorithm, filepath.Join(dir, "secret"): key.Secret,
		ts.MkAbs("update.key"): key.Statement(),
	} {
		ts.Check(os.WriteFile(name, []byte(text), 0o600))
	}
}
