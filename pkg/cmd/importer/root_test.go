// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

package importer_test

import (
	"fmt"
	"os"
	"strings"
	"testing"

	"kubi.zone/kubizone/test/rig"
)

const rootZone = "../../../test/testdata/root-2018031200.zone"

// root is the root zone with its number of objects, which are RRsets and the Zone for the SOA, and of entries. In the
// short form it is the apex, the top-level domains from aaa to ac, and the addresses of their name servers.
func root(t *testing.T) (text string, objects, entries int) {
	t.Helper()
	all, err := os.ReadFile(rootZone)
	if err != nil {
		t.Fatal(err)
	}
	hosts := map[string]bool{}
	kept := func(owner string) bool {
		return rig.Long() || owner == "." || owner[0] == 'a' && owner[1] <= 'c' && strings.Count(owner, ".") == 1
	}
	for line := range strings.Lines(string(all)) {
		if fields := strings.Fields(line); kept(fields[0]) && fields[3] == "NS" {
			hosts[fields[4]] = true
		}
	}
	sets, part := map[string]bool{}, strings.Builder{}
	for line := range strings.Lines(string(all)) {
		if fields := strings.Fields(line); kept(fields[0]) || hosts[fields[0]] {
			part.WriteString(line)
			entries++
			sets[fields[0]+fields[3]] = true
		}
	}
	return part.String(), len(sets), entries
}

// M3: the root zone, signed over the wire from a real BIND, and then from its file, which has nothing to add.
func TestImport_takesTheRootZoneByTransfer(t *testing.T) {
	if testing.Short() {
		t.Skip("more than ten thousand objects")
	}
	text, objects, entries := root(t)
	file := write(t, "root.zone", text)
	key := rig.TSIGKey{Name: "transfer", Algorithm: "hmac-sha512", Secret: "cm9vdC16b25lLWZvci10aGUtaW1wb3J0LXRlc3QtMDE="}
	bind, err := rig.StartBIND(t.Context(), rig.BINDConfig{Keys: []rig.TSIGKey{key}, Primaries: []rig.PrimaryZone{{Zone: ".", Text: text, UpdateKey: key.Name}}})
	rig.SkipMissing(t, err)
	defer bind.Close()
	s := start(t)
	url := "axfr://" + bind.Addr.String() + "/."
	keys := write(t, "transfer.key", key.Statement())
	if refused := s.importing("", url, "--zone", "root/root", "--create-zone"); refused.failed == nil || !strings.Contains(refused.failed.Error(), "REFUSED") {
		t.Errorf("a transfer without the key: %v", refused.failed)
	}
	first := s.importing("", url, "--zone", "root/root", "--create-zone", "--view", "root", "--tsig-key-file", keys)
	if first.failed != nil || first.out != fmt.Sprintf("%d written, 0 unchanged\n", objects) {
		t.Fatalf("%v, %s", first.failed, first.out)
	}
	if rig.Long() { // there is a line every two seconds
		first.hears("loading .: ", fmt.Sprintf(" of %d objects", objects-1)) // the Zone comes before
	}
	before := s.zone("root", "root")
	second := s.importing("", file, "--zone", "root/root", "--create-zone", "--view", "root")
	if second.failed != nil || second.out != fmt.Sprintf("0 written, %d unchanged\n", objects) {
		t.Errorf("%v, %s", second.failed, second.out)
	}
	if after := s.zone("root", "root"); after.Status.ContentGeneration != before.Status.ContentGeneration || int(after.Status.EntryCount) != entries {
		t.Errorf("serial %d with %d entries, %d before", after.Status.Serial, after.Status.EntryCount, before.Status.Serial)
	}
	if got := s.export("root/root"); strings.Count(got, "\n") != entries+1 {
		t.Errorf("%d lines are exported, want %d entries and what zone they are of", strings.Count(got, "\n"), entries)
	}
}
