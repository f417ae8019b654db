// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

package server_test

import (
	"errors"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"kubi.zone/kubizone/cmd/webhook-server/masterfile"
	"kubi.zone/kubizone/cmd/webhook-server/server"
	"kubi.zone/kubizone/pkg/delivery/webhook/protocol"
	"kubi.zone/kubizone/pkg/dns/name"
	"kubi.zone/kubizone/pkg/dns/rdata"
	"kubi.zone/kubizone/test/must"
)

// Found 8: in a zone with foreign records the server keeps them, over restarts: 409 if they conflict, and only its
// own values are removed.
func TestShared_keepsWhatOthersWrote(t *testing.T) {
	zone := name.MustParse("example.org.")
	dir := t.TempDir()
	file, notes := filepath.Join(dir, "zone"), filepath.Join(dir, "notes")
	write := func(text string) {
		t.Helper()
		must.Succeed(t, os.WriteFile(file, []byte(text), 0o600))
	}
	write("$ORIGIN example.org.\n@ 60 IN SOA ns host 1 3600 600 86400 60\n@ 60 IN NS ns\nns 60 IN A 192.0.2.53\ntheirs 60 IN A 192.0.2.1\nsame 60 IN TXT \"x; y\"\n")
	begin := func() *server.Shared {
		t.Helper()
		files := must.Get(masterfile.New(masterfile.Config{Files: map[name.Name]string{zone: file}}))(t)
		return must.Get(server.NewShared(files, notes))(t)
	}
	shared := begin()
	set := func(owner string, kind rdata.Type, data ...string) protocol.RRset {
		n := must.Get(name.ParseIn(owner, zone))(t)
		return protocol.RRset{Zone: zone, Name: n, Type: kind, TTL: 60, Data: data}
	}
	const done, conflict, absent = 0, http.StatusConflict, http.StatusNotFound
	asks := func(what string, want int, sets ...protocol.RRset) {
		t.Helper()
		for _, err := range shared.Apply(t.Context(), zone, sets) {
			var refusal *protocol.Error
			status := done
			if errors.As(err, &refusal) {
				status = refusal.HTTPStatus()
			} else if err != nil {
				status = -1
			}
			if status != want {
				t.Errorf("%s: %v, want %d", what, err, want)
			}
		}
	}
	has := func(what string, want ...string) {
		t.Helper()
		text := must.Get(os.ReadFile(file))(t)
		flat := strings.Join(strings.Fields(string(text)), " ")
		for _, line := range want {
			if !strings.Contains(flat, line) {
				t.Errorf("%s: no %q in\n%s", what, line, text)
			}
		}
	}
	asks("new", done, set("www", rdata.A, "192.0.2.2", "192.0.2.3"), set("mx", rdata.MX, "10 www.example.org."), set("old", rdata.A, "192.0.2.4"))
	asks("in the place of another's", conflict, set("theirs", rdata.A, "192.0.2.9"), set("@", rdata.NS, "ns.other.example."))
	asks("as it stands there", done, set("same", rdata.TXT, `"x; y"`))
	asks("another's is not removed", absent, set("theirs", rdata.A), set("@", rdata.NS))
	asks("twice in one request", done, set("www", rdata.A, "192.0.2.5"), set("www", rdata.A, "192.0.2.6"))
	has("then", "theirs", "192.0.2.1", "192.0.2.6", "192.0.2.53")
	shared = begin()
	asks("ours, after a restart", done, set("www", rdata.A, "192.0.2.2"), set("mx", rdata.MX, "20 www.example.org."), set("same", rdata.TXT, `"z"`))
	asks("another's, after a restart", conflict, set("theirs", rdata.A, "192.0.2.9"))
	text, err := os.ReadFile(file)
	must.Succeed(t, err)
	write(string(text) + "old.example.org. 60 IN A 192.0.2.44\n")
	shared = begin()
	asks("what another joined", conflict, set("old", rdata.A, "192.0.2.7"))
	asks("all that is ours goes", done, set("old", rdata.A), set("www", rdata.A), set("mx", rdata.MX), set("same", rdata.TXT))
	has("at the end", "192.0.2.1", "192.0.2.44", "192.0.2.53")
	if text, err = os.ReadFile(file); err != nil || strings.Contains(string(text), "192.0.2.4\n") || strings.Contains(string(text), "192.0.2.2") {
		t.Errorf("%s, %v", text, err)
	}
	// A truncated line was never acted on; any other invalid line is a fault.
	kept, err := os.ReadFile(notes)
	must.Succeed(t, err)
	for text, good := range map[string]bool{string(kept) + `{"zone":"exa`: true, "x\n" + string(kept): false} {
		must.Succeed(t, os.WriteFile(notes, []byte(text), 0o600))
		if _, err := server.NewShared(shared.Backend, notes); (err == nil) != good {
			t.Errorf("%q: %v", text, err)
		}
	}
}
