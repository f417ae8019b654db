// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

package backup

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/api/meta"

	"kubi.zone/kubizone/api/kubizone/v1alpha1"
	"kubi.zone/kubizone/pkg/dns/serial"
	"kubi.zone/kubizone/pkg/zone/ledger"
	"kubi.zone/kubizone/pkg/zone/ledger/history"
	"kubi.zone/kubizone/test/must"
	"kubi.zone/kubizone/test/store"
)

// damageOctets changes or cuts some octets.
func damageOctets(r *rand.Rand, whole []byte) []byte {
	octets := slices.Clone(whole)
	at := r.IntN(len(octets))
	switch r.IntN(4) {
	case 0:
		octets[at] ^= byte(1 << r.IntN(8))
	case 1: // digits stay digits, invisible to a parser
		for octets[at] < '0' || octets[at] > '9' {
			at = r.IntN(len(octets))
		}
		octets[at] = '0' + (octets[at]-'0'+byte(1+r.IntN(9)))%10
	case 2:
		for range 2 + r.IntN(30) {
			octets[r.IntN(len(octets))] = byte(r.IntN(256))
		}
	default:
		octets = slices.Delete(octets, at, min(at+1+r.IntN(64), len(octets)))
	}
	return octets
}

// A backup with a random change in its data or its manifest is refused with an error that names the file, and leaves
// nothing on disk. Otherwise the change was harmless, and the restored data is unchanged (B2, B3).
func TestRestore_ofRandomDamage(t *testing.T) {
	old := startStore(t, t.TempDir())
	store.Must(old.CreateZone(store.Zone("dns", "org", "example.org.")))
	file := filepath.Join(t.TempDir(), "backup")
	taken := store.Must(Take(t.Context(), old.where, file))
	whole, manifest := store.Must(os.ReadFile(file)), store.Must(os.ReadFile(ManifestFile(file)))
	seed := uint64(time.Now().UnixNano())
	t.Logf("seed %d", seed)
	r := rand.New(rand.NewPCG(seed, 0))
	restored := 0
	for i := range 300 {
		snapshot, text := whole, manifest
		if i%2 == 0 {
			snapshot = damageOctets(r, whole)
		} else {
			text = damageOctets(r, manifest)
		}
		bad := filepath.Join(t.TempDir(), "bad")
		must.Succeed(t, errors.Join(os.WriteFile(bad, snapshot, 0o600), os.WriteFile(ManifestFile(bad), text, 0o600)))
		path, _, err := restoreBackup(t, bad)
		_, is := os.Stat(path)
		switch {
		case err != nil && !strings.Contains(err.Error(), bad) && !strings.Contains(err.Error(), "set the clock"):
			t.Errorf("change %d: %v names no file", i, err)
		case err != nil && !errors.Is(is, os.ErrNotExist):
			t.Errorf("change %d: something is left behind after %v", i, err)
		case err == nil:
			restored++
			if m, err := Verify(bad); err != nil || *m != *taken || !slices.Equal(snapshot, whole) {
				t.Errorf("change %d is restored: %s", i, text)
			}
		}
	}
	t.Logf("%d are refused; %d change nothing that the manifest says", 300-restored, restored)
}

// S7.5, S6.8: a held zone is still held after a restore, at the delivered serial that secondaries have. Steps lead
// back to that serial, which releases the deletions; the next delivered serial is ahead of all handed out.
func TestRestore_ofAHeldZone_S7_8(t *testing.T) {
	old, clock := startStore(t, t.TempDir()), store.Clock{}
	old.Server = old.store.Server(func(c *ledger.Config) { c.Now = clock.Now })
	stop := old.Run()
	z := store.Zone("infra", "example", "example.org.", store.Allow("infra", "*"))
	z.Spec.Limits = nil
	store.Must(old.CreateZone(z))
	old.store.Settle()
	for i := range 20 {
		store.Must(old.CreateRecord(t.Context(), store.Record("infra", fmt.Sprint("r", i), fmt.Sprintf("r%d.example.org.", i), "A", "192.0.2.1")))
	}
	clock.PassPeriods()
	for i := range 20 {
		must.Succeed(t, old.DeleteRecord(t.Context(), "infra", fmt.Sprint("r", i)))
	}
	was := old.Zone("infra", "example").Status
	if c := meta.FindStatusCondition(was.Conditions, v1alpha1.ConditionSettled); c.Reason != v1alpha1.ReasonMassDeletion {
		t.Fatalf("Settled is %s %s", c.Status, c.Reason)
	}
	if a := must.Get(old.Ledger.ZoneHistory(t.Context(), old.Zone("infra", "example"), history.Ask{Limit: 100}))(t); len(a.Items) != 41 {
		t.Errorf("the history has %d steps", len(a.Items))
	}
	file := filepath.Join(t.TempDir(), "backup")
	must.Get(Take(t.Context(), old.where, file))(t)
	stop()
	old.store.MustBeClean()
	old.store.Damaged = true // can be checked only while running
	old.member.Stop()

	path, _, err := restoreBackup(t, file)
	if err != nil {
		t.Fatal(err)
	}
	again := startStore(t, path)
	defer again.Run()()
	now := again.Zone("infra", "example").Status
	if c := meta.FindStatusCondition(now.Conditions, v1alpha1.ConditionSettled); c.Reason != v1alpha1.ReasonMassDeletion || now.SettledSerial != was.SettledSerial || !serial.Serial(now.Serial).Ahead(serial.Serial(was.Serial)) {
		t.Fatalf("Settled is %s %s; serial %d after %d, of which %d is settled after %d", c.Status, c.Reason, now.Serial, was.Serial, now.SettledSerial, was.SettledSerial)
	}
	zone := again.Zone("infra", "example")
	// S7.13: the history begins with the restore, which raises the serial.
	a := must.Get(again.Ledger.ZoneHistory(t.Context(), zone, history.Ask{Limit: 100}))(t)
	if len(a.Items) > 2 || a.Whole < time.Now().Add(-10*time.Minute).Unix() {
		t.Errorf("the restored history has %d steps, whole since %d", len(a.Items), a.Whole)
	}
	before, steps, err := again.Ledger.Steps(t.Context(), string(zone.UID), serial.Serial(now.SettledSerial), uint64(now.ContentGeneration))
	if err != nil || len(steps) == 0 || steps[0].From != serial.Serial(now.SettledSerial) {
		t.Fatalf("%d steps since serial %d with state %s: %v", len(steps), now.SettledSerial, before, err)
	}
	store.Must(again.UpdateZone("infra", "example", func(z *v1alpha1.Zone) {
		z.Annotations = map[string]string{v1alpha1.AnnotationPublishDeletions: fmt.Sprint(now.SettledSerial)}
	}))
	if got := again.Zone("infra", "example").Status; got.SettledSerial != got.Serial || !serial.Serial(got.SettledSerial).Ahead(serial.Serial(was.Serial)) {
		t.Errorf("serial %d, of which %d is settled, after %d was handed out", got.Serial, got.SettledSerial, was.Serial)
	}
	again.store.MustBeClean()
}
