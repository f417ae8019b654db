// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

package rig

import (
	"context"
	"errors"
	"os"
	"strings"
	"syscall"
	"testing"
	"time"

	"kubi.zone/kubizone/test/must"
)

func TestFind_namesWhatBringsTheProgram(t *testing.T) {
	_, err := Find("no-such-program-anywhere", "apt-get install it")
	var missing *Missing
	if !errors.As(err, &missing) || !strings.Contains(err.Error(), "apt-get install it brings it") {
		t.Errorf("%v", err)
	}
}

// A primary BIND of the rig accepts a signed update only, and transfers the zone. Close ends its process and removes
// its directory.
func TestBIND_primaryTakesUpdatesAndCloseEndsIt(t *testing.T) {
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	key := TSIGKey{Name: "update.example", Algorithm: "hmac-sha256", Secret: "YSBzZWNyZXQgb2YgdGhpcnR5LXR3byBvY3RldHMgb2s="}
	bind, err := StartBIND(ctx, BINDConfig{Keys: []TSIGKey{key}, Primaries: []PrimaryZone{{
		Zone: "example.org.", UpdateKey: key.Name,
		Text: "example.org. 300 IN SOA ns.example.org. host.example.org. 1 3600 600 86400 300\nexample.org. 300 IN NS ns.example.org.\nns.example.org. 300 IN A 192.0.2.1\n",
	}}})
	SkipMissing(t, err)
	defer bind.Close()
	if _, err := Nsupdate(ctx, bind.Addr, nil, "zone example.org.\nupdate add a.example.org. 300 A 192.0.2.2\nsend\n"); err == nil {
		t.Error("an unsigned update passes")
	}
	must.Get(Nsupdate(ctx, bind.Addr, &key, "zone example.org.\nupdate add a.example.org. 300 TXT \"two  spaces\"\nsend\n"))(t)
	must.Succeed(t, bind.WaitSerial(ctx, "example.org.", 2))
	text, err := Dig{Server: bind.Addr, Key: &key}.Run(ctx, "+tcp", "+onesoa", "+nocomments", "+nostats", "+nocmd", "AXFR", "example.org.")
	if err != nil {
		t.Fatal(err)
	}
	lines := must.Get(Canonical(ctx, "example.org.", strings.Join(withoutTSIG(text), "\n")))(t)
	if len(lines) != 4 || lines[0] != "a.example.org. 300 IN TXT \"two  spaces\"" {
		t.Errorf("%q", lines)
	}
	if out, err := bind.Rndc(ctx, "status"); err != nil || !strings.Contains(out, "server is up") {
		t.Errorf("rndc: %q, %v", out, err)
	}
	pid := bind.Pid()
	if err := bind.Close(); err != nil {
		t.Error(err)
	}
	if err := syscall.Kill(pid, 0); !errors.Is(err, syscall.ESRCH) {
		t.Errorf("process %d is still there: %v", pid, err)
	}
	if _, err := os.Stat(bind.dir); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("%s is still there: %v", bind.dir, err)
	}
}

// dig's line about the signature is no record of the zone.
func withoutTSIG(text string) []string {
	var out []string
	for line := range strings.Lines(text) {
		if f := strings.Fields(line); len(f) > 3 && f[3] != "TSIG" {
			out = append(out, strings.TrimRight(line, "\n"))
		}
	}
	return out
}
