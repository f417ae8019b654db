// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

package agent

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"
	"time"

	mdns "github.com/miekg/dns"

	"kubi.zone/kubizone/pkg/bind9/agent/rndc"
	"kubi.zone/kubizone/pkg/dns/transfer"
	"kubi.zone/kubizone/pkg/dns/tsig"
	"kubi.zone/kubizone/test/must"
	"kubi.zone/kubizone/test/rig"
)

var agentKey = rig.TSIGKey{Name: "agent", Algorithm: "hmac-sha256", Secret: "YSBzZWNyZXQgb2YgdGhpcnR5LXR3byBvY3RldHMgb2s="}

const testToken = "a token that is long enough"

type fixture struct {
	t      *testing.T
	bind   *rig.BIND
	agent  *Agent
	server *httptest.Server
	token  string
}

func newFixture(t *testing.T, change func(*rig.BINDConfig, *Config)) *fixture {
	t.Helper()
	control := must.Get(rig.FreePort())(t)
	named := rig.BINDConfig{Controls: []rig.Control{{Addr: control, Key: agentKey}}, Options: "allow-new-zones yes;\n"}
	keys := must.Get(tsig.ParseKeys(agentKey.Statement()))(t)
	config := Config{
		Control: &rndc.Client{Address: control.String(), Keys: func() ([]rndc.Key, error) {
			return []rndc.Key{{Algorithm: agentKey.Algorithm, MAC: keys[0].MAC}}, nil
		}},
		TSIGKey: func() (transfer.Key, error) {
			return transfer.Key{Name: keys[0].Name, Algorithm: string(keys[0].Algorithm), MAC: keys[0].MAC}, nil
		},
		Authenticate: func(r *http.Request) error {
			if r.Header.Get("Authorization") != "Bearer "+testToken {
				return refuse(http.StatusUnauthorized, "not our token")
			}
			return nil
		},
		Version: "test", Logger: slog.New(slog.NewTextHandler(t.Output(), nil)), Now: time.Now,
	}
	if change != nil {
		change(&named, &config)
	}
	bind := rig.NeedServer(rig.StartBIND(t.Context(), named))(t)
	config.Nameserver, config.ZoneDir = bind.Addr.String(), bind.Dir()
	agent := New(config)
	agent.limiter, agent.openLimiter = newLimiter(100_000, 100_000), newLimiter(100_000, 100_000)
	server := httptest.NewServer(agent)
	t.Cleanup(server.Close)
	return &fixture{t: t, bind: bind, agent: agent, server: server, token: testToken}
}

type reply struct {
	status int
	header http.Header
	text   string
	body   map[string]any
}

func (r reply) String() string { return fmt.Sprintf("%d %s", r.status, strings.TrimSpace(r.text)) }

// The body is JSON text, or a value to encode.
func (f *fixture) sendRequest(method, path string, body any) reply {
	f.t.Helper()
	var sent io.Reader
	switch body := body.(type) {
	case nil:
	case string:
		sent = strings.NewReader(body)
	default:
		encoded := must.Get(json.Marshal(body))(f.t)
		sent = bytes.NewReader(encoded)
	}
	request := must.Get(http.NewRequestWithContext(f.t.Context(), method, f.server.URL+path, sent))(f.t)
	request.Header.Set("Authorization", "Bearer "+f.token)
	response := must.Get(http.DefaultClient.Do(request))(f.t)
	defer response.Body.Close()
	text := must.Get(io.ReadAll(response.Body))(f.t)
	answer := reply{status: response.StatusCode, header: response.Header, text: string(text)}
	if strings.HasPrefix(response.Header.Get("Content-Type"), "application/json") {
		must.Succeed(f.t, json.Unmarshal(text, &answer.body))
	}
	return answer
}

func (f *fixture) expectAnswer(status int, text, method, path string, body any) reply {
	f.t.Helper()
	answer := f.sendRequest(method, "/api/v1"+path, body)
	if answer.status != status || !strings.Contains(answer.text, text) {
		f.t.Errorf("%s %s: %s; want %d with %q", method, path, answer, status, text)
	}
	return answer
}

func (f *fixture) digRRset(arguments ...string) string {
	f.t.Helper()
	text := must.Get(rig.Dig{Server: f.bind.Addr}.Run(f.t.Context(), append([]string{"+short", "+norecurse"}, arguments...)...))(f.t)
	lines := strings.Fields(strings.ReplaceAll(strings.TrimSpace(text), " ", "_"))
	slices.Sort(lines)
	return strings.Join(lines, " ")
}

func (f *fixture) update(text string) {
	f.t.Helper()
	record := must.Get(mdns.NewRR(text))(f.t)
	message := new(mdns.Msg)
	message.SetUpdate("example.org.")
	message.Insert([]mdns.RR{record})
	if answer, err := f.agent.exchangeMessage(f.t.Context(), message); err != nil || answer.Rcode != mdns.RcodeSuccess {
		f.t.Fatal(answer, err)
	}
}
