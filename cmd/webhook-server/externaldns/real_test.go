// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

package externaldns

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"kubi.zone/kubizone/pkg/client/externaldns/contract"
	"kubi.zone/kubizone/pkg/delivery"
	"kubi.zone/kubizone/pkg/delivery/webhook/protocol"
	"kubi.zone/kubizone/pkg/dns/name"
	"kubi.zone/kubizone/pkg/dns/rdata"
	"kubi.zone/kubizone/test/deliverytest"
	"kubi.zone/kubizone/test/must"
	"kubi.zone/kubizone/test/rig"
)

func startProvider(t *testing.T, arguments ...string) string {
	t.Helper()
	program := rig.Need(rig.GitOpsProgram("external-dns-webhook", "webhookprovider"))(t)
	at := must.Get(rig.FreePort())(t)
	process := must.Get(rig.StartProcess(nil, t.TempDir(), program, append(arguments, "--listen", at.String())...))(t)
	t.Cleanup(func() {
		if t.Failed() {
			t.Log(process.Log())
		}
		process.End()
	})
	url := "http://" + at.String()
	backend := must.Get(New(Config{URL: url}))(t)
	for deadline := time.Now().Add(time.Minute); ; time.Sleep(10 * time.Millisecond) {
		err := backend.Health(t.Context())
		if err == nil {
			return url
		}
		if time.Now().After(deadline) {
			t.Fatalf("%v\n%s", err, process.Log())
		}
	}
}

func nameZones(most int) (names []string, next func(*testing.T) name.Name) {
	for i := range most {
		names = append(names, fmt.Sprintf("zone%d.example", i))
	}
	var taken atomic.Int64
	return names, func(*testing.T) name.Name { return name.MustParse(names[taken.Add(1)-1] + ".") }
}

func askProvider(t *testing.T, method, url string, body any, into any) {
	t.Helper()
	var content io.Reader
	if body != nil {
		content = bytes.NewReader(must.Get(json.Marshal(body))(t))
	}
	request := must.Get(http.NewRequestWithContext(t.Context(), method, url, content))(t)
	request.Header.Set("X-Api-Key", "key")
	answer := must.Get(http.DefaultClient.Do(request))(t)
	defer answer.Body.Close()
	text := must.Get(io.ReadAll(answer.Body))(t)
	if answer.StatusCode/100 != 2 {
		t.Fatalf("%s %s: %d %s", method, url, answer.StatusCode, text)
	}
	if into != nil {
		must.Succeed(t, json.Unmarshal(text, into))
	}
}

// external-dns' PowerDNS provider, with PowerDNS.
func TestBackend_passesTheExamBeforePowerDNS(t *testing.T) {
	names, next := nameZones(32)
	config := rig.PowerDNSConfig{APIKey: "key"}
	for _, zone := range names {
		text := fmt.Sprintf("%[1]s. 3600 IN SOA ns.%[1]s. host.%[1]s. 1 3600 600 86400 300\n%[1]s. 3600 IN NS ns.example.net.\n", zone)
		config.Zones = append(config.Zones, rig.PrimaryZone{Zone: zone + ".", Text: text})
	}
	powerdns := rig.NeedServer(rig.StartPowerDNS(t.Context(), config))(t)
	url := startProvider(t, "--provider", "pdns", "--pdns-server", powerdns.API, "--pdns-api-key", "key")
	clock := new(clock)
	backend := openBackend(t, Config{URL: url, Types: contract.Types, Now: clock.readTime})
	deliverytest.Run(t, deliverytest.Subject{
		New: connectClass(t, backend), Zone: next, Timeout: time.Minute,
		Inspect: func(t *testing.T, zone name.Name) []delivery.RRset {
			lines := must.Get(powerdns.Transfer(t.Context(), zone.String()))(t)
			return deliverytest.ReadRRsets(t, strings.NewReader(strings.Join(lines, "\n")+"\n"), zone)
		},
		Disturb: func(t *testing.T, zone name.Name, set delivery.RRset) {
			type record struct {
				Content string `json:"content"`
			}
			change := map[string]any{"name": set.Name.String(), "type": set.Type.String(), "changetype": "DELETE"}
			if len(set.Data) > 0 {
				var records []record
				for _, data := range set.Data {
					records = append(records, record{data})
				}
				change["changetype"], change["ttl"], change["records"] = "REPLACE", set.TTL, records
			}
			askProvider(t, http.MethodPatch, powerdns.API+"/api/v1/servers/localhost/zones/"+zone.String(),
				map[string]any{"rrsets": []any{change}}, nil)
			clock.passTime(listLife)
		},
		// external-dns accepts PTR only in reverse zones.
		Unsupported: func(set delivery.RRset) bool { return !hasForm(set) || set.Type == rdata.PTR },
	})
	// PowerDNS refuses a CNAME beside an address: external-dns answers 500 for the whole request.
	zone := next(t)
	set := func(owner string, kind rdata.Type, data string) protocol.RRset {
		n := must.Get(name.ParseIn(owner, zone))(t)
		return protocol.RRset{Zone: zone, Name: n, Type: kind, TTL: 60, Data: []string{data}}
	}
	must.Succeed(t, backend.Apply(t.Context(), zone, []protocol.RRset{set("www", rdata.A, "192.0.2.1")})[0])
	results := backend.Apply(t.Context(), zone, []protocol.RRset{
		set("one", rdata.A, "192.0.2.2"), set("www", rdata.CNAME, "one.example.net."), set("two", rdata.AAAA, "2001:db8::2"),
	})
	expectStatus(t, "before", results[0], 0)
	expectStatus(t, "a CNAME beside an address", results[1], http.StatusConflict, "beside the A")
	expectStatus(t, "behind", results[2], 0)
}
