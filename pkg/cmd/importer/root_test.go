// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

package importer_test

import (
	"os"
	"strings"
	"testing"

	"kubi.zone/kubizone/test/rig"
)

const rootZone = "../../../test/testdata/root-2018031200.zone"

// M3: the root zone, signed over the wire from a real BIND, and then from its file, which has nothing to add.
func TestImport_takesTheRootZoneByTransfer(t *testing.T) {
	if testing.Short() {
		t.Skip("more than ten thousand objects")
	}
	text, err := os.ReadFile(rootZone)
	if err != nil {
		t.Fatal(err)
	}
	key := rig.TSIGKey{Name: "transfer", Algorithm: "hmac-sha512", Secret: "cm9vdC16b25lLWZvci10aGUtaW1wb3J0LXRlc3QtMDE="}
	bind, err := rig.StartBIND(t.Context(), rig.BINDConfig{Keys: []rig.TSIGKey{key}, Primaries: []rig.PrimaryZone{{Zone: ".", Text: string(text), UpdateKey: key.Name}}})
	rig.SkipMissing(t, err)
	defer bind.Close()
	s := start(t)
	url := "axfr://" + bind.Addr.String() + "/."
	keys := write(t, "transfer.key", key.Statement())
	if refused := s.importing("", url, "--zone", "root/root", "--create-zone"); refused.failed == nil || !strings.Contains(refused.failed.Error(), "REFUSED") {
		t.Errorf("a transfer without the key: %v", refused.failed)
	}
	first := s.importing("", url, "--zone", "root/root", "--create-zone", "--view", "root", "--tsig-key-file", keys)
	if first.failed != nil || first.out != "10855 written, 0 unchanged, 0 left to others, 0 refused\n" {
		t.Fatalf("%v, %s", first.failed, first.out)
	}
	first.hears("loading .: ", " of 10854 objects")
	before := s.zone("root", "root")
	second := s.importing("", rootZone, "--zone", "root/root", "--create-zone", "--view", "root")
	if second.failed != nil || second.out != "0 written, 10855 unchanged, 0 left to others, 0 refused\n" {
		t.Errorf("%v, %s", second.failed, second.out)
	}
	if after := s.zone("root", "root"); after.Status.ContentGeneration != before.Status.ContentGeneration || after.Status.EntryCount != 18052 {
		t.Errorf("serial %d with %d entries, %d before", after.Status.Serial, after.Status.EntryCount, before.Status.Serial)
	}
	if got := s.export("root/root"); strings.Count(got, "\n") != 18053 {
		t.Errorf("%d lines are exported, want 18052 entries and what zone they are of", strings.Count(got, "\n"))
	}
}
