// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

package agent

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"kubi.zone/kubizone/pkg/bind9/agent/protocol"
	"kubi.zone/kubizone/pkg/dns/name"
	"kubi.zone/kubizone/test/must"
	"kubi.zone/kubizone/test/rig"
)

func (f *fixture) listKeyFiles(zone string) []string {
	f.t.Helper()
	found := must.Get(filepath.Glob(filepath.Join(f.bind.Dir(), "K"+zone+".+*.private")))(f.t)
	slices.Sort(found)
	return found
}

func (f *fixture) signZone(zone, owner string) []string {
	f.t.Helper()
	asked := primaryZone(zone)
	configOf(asked)["dnssecPolicy"] = "default"
	if owner != "" {
		asked["keyOwner"] = owner
	}
	f.expectAnswer(201, "", "POST", "/zones", asked)
	must.Eventually(f.t, zone+" is signed", func() bool {
		var status protocol.ZoneResponse
		must.Succeed(f.t, json.Unmarshal([]byte(f.expectAnswer(200, "", "GET", "/zones/"+zone+"/status", nil).text), &status))
		if status.KeyOwner != owner {
			f.t.Fatalf("%s: keys of %q, want %q", zone, status.KeyOwner, owner)
		}
		return status.DNSSEC != nil && status.DNSSEC.Signed && len(f.listKeyFiles(zone)) > 0
	})
	return f.listKeyFiles(zone)
}

// DNSSEC keys stay on the signer after a zone is deleted. If the same namespace creates the zone again, the zone has
// the same keys, so a DS at the parent stays valid. A zone of that name in another namespace never gets these keys: the
// zone is refused while the former zone exists, and gets new keys afterwards. A new zone uses keys that an
// administrator put there (S12.10).
func TestCreate_takesNoKeysOfAnotherOwner_S12_10(t *testing.T) {
	t.Parallel()
	f := newFixture(t, nil)
	const zone = "example.org"
	first := f.signZone(zone, "team-a")
	f.expectAnswer(200, "", "DELETE", "/zones/"+zone, nil)
	again := f.signZone(zone, "team-a")
	if !slices.Equal(first, again) {
		t.Errorf("made again it has keys %q, before %q", again, first)
	}
	asked := primaryZone(zone)
	configOf(asked)["dnssecPolicy"], asked["keyOwner"] = "default", "team-b"
	f.expectAnswer(409, "keys of another owner", "POST", "/zones", asked)
	f.expectAnswer(409, "keys of another owner", "DELETE", "/zones/"+zone+"?keys=remove&keyOwner=team-b", nil)
	if got := f.listKeyFiles(zone); !slices.Equal(first, got) {
		t.Errorf("after the DELETE of another owner it has keys %q, before %q", got, first)
	}
	f.expectAnswer(200, "", "DELETE", "/zones/"+zone+"?keyOwner=team-a", nil)
	for _, file := range f.signZone(zone, "team-b") {
		if slices.Contains(first, file) {
			t.Errorf("the zone of another owner has the key %s", file)
		}
	}
	for _, file := range first {
		if _, err := os.Stat(file); err == nil {
			t.Errorf("the key %s of the former owner is still there", file)
		}
	}
	f.expectAnswer(200, "", "DELETE", "/zones/"+zone+"?keys=remove", nil)
	if left, err := filepath.Glob(filepath.Join(f.bind.Dir(), "K"+zone+".*")); err != nil || len(left) > 0 {
		t.Errorf("left: %q, %v", left, err)
	}
	for _, owner := range []string{" ", "a\nb", "../x"} {
		asked["keyOwner"] = owner
		f.expectAnswer(400, "keyOwner", "POST", "/zones", asked)
	}

	byHand := f.signZone(zone, "")
	f.expectAnswer(200, "", "DELETE", "/zones/"+zone, nil)
	f.sweepKeys()
	if got := f.signZone(zone, "team-a"); !slices.Equal(got, byHand) {
		t.Errorf("keys %q, by hand %q", got, byHand)
	}
}

func (f *fixture) sweepKeys() {
	f.t.Helper()
	must.Succeed(f.t, f.agent.removeOldKeys(f.t.Context()))
}

// Keys of a removed zone stay for keyTime, keys of an existing zone forever. Each owner keeps the keys of the last
// maxOrphanedKeys removed zones.
func TestSweepKeys_S12_10(t *testing.T) {
	t.Parallel()
	now := time.Now()
	f := newFixture(t, func(_ *rig.BINDConfig, config *Config) { config.Now = func() time.Time { return now } })
	f.signZone("stays.example", "team-a")
	f.signZone("goes.example", "team-a")
	f.expectAnswer(200, "", "DELETE", "/zones/goes.example", nil)
	// A client that creates and removes zones endlessly, simulated by files.
	left := func(zone, owner string, at time.Time) {
		of := name.MustParse(zone)
		must.Succeed(t, f.agent.files.writeKeyOwner(of, owner))
		must.Succeed(t, f.agent.files.markOrphaned(of, at))
		must.Succeed(t, os.WriteFile(filepath.Join(f.bind.Dir(), "K"+zone+"+013+00001.private"), nil, 0o600))
	}
	for i := range maxOrphanedKeys + 2 {
		left(fmt.Sprintf("n%d.example.", i), "mallory", now.Add(time.Duration(i)*time.Second))
	}
	f.sweepKeys()
	if len(f.listKeyFiles("goes.example")) == 0 {
		t.Error("the keys of a removed zone went at once")
	}
	for zone, want := range map[string]int{"n0.example": 0, "n1.example": 0, "n2.example": 1,
		fmt.Sprintf("n%d.example", maxOrphanedKeys+1): 1} {
		if got := len(f.listKeyFiles(zone)); got != want {
			t.Errorf("%s has %d keys, want %d", zone, got, want)
		}
	}
	now = now.Add(keyTime + time.Minute)
	ctx, cancel := context.WithCancel(t.Context())
	cancel() // a single sweep
	f.agent.SweepKeys(ctx, nil)
	if len(f.listKeyFiles("goes.example")) == 0 {
		t.Error("keys went although named was not asked")
	}
	f.sweepKeys()
	if got, err := filepath.Glob(filepath.Join(f.bind.Dir(), "Kgoes.example.*")); err != nil || len(got) > 0 {
		t.Errorf("left of the removed zone: %q, %v", got, err)
	}
	if len(f.listKeyFiles("stays.example")) == 0 {
		t.Error("the zone that is there has lost its keys")
	}
	if got := f.listKeyFiles("n2.example"); len(got) > 0 {
		t.Errorf("left: %q", got)
	}
}

// named cuts off the status of a zone with very many keys. The agent then gives an error rather than a part of the
// keys, because the controller would remove the DS of a key that the status lacks.
func TestStatus_isOfAllKeysOrNone(t *testing.T) {
	t.Parallel()
	f := newFixture(t, nil)
	const zone = "example.org"
	f.signZone(zone, "team-a")
	keygen := rig.Need(rig.Find("dnssec-keygen", "apt-get install bind9-utils"))(t)
	last := 0
	for refused := 0; refused < 2; {
		if out, err := exec.CommandContext(t.Context(), keygen, "-q", "-f", "KSK", "-a", "ECDSAP256SHA256", "-K", f.bind.Dir(), zone).CombinedOutput(); err != nil {
			t.Fatalf("%v: %s", err, out)
		}
		made := len(f.listKeyFiles(zone))
		answer := f.sendRequest("GET", "/api/v1/zones/"+zone+"/status", nil)
		switch answer.status {
		case 409:
			refused++
		case 200:
			var status protocol.ZoneResponse
			must.Succeed(t, json.Unmarshal([]byte(answer.text), &status))
			if last = len(status.DNSSEC.Keys); last != made || refused > 0 {
				t.Fatalf("the status has %d of %d keys", last, made)
			}
		default:
			t.Fatal(answer)
		}
	}
	t.Logf("%d keys fit", last)
	if last < 6 { // three waiting, the next, and two that sign
		t.Errorf("a status has %d keys at most", last)
	}
}
