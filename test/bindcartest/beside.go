// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

package bindcartest

import (
	"errors"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"kubi.zone/kubizone/pkg/bind9/agent"
	"kubi.zone/kubizone/pkg/bind9/agent/rndc"
	"kubi.zone/kubizone/pkg/dns/transfer"
	"kubi.zone/kubizone/pkg/dns/tsig"
	"kubi.zone/kubizone/test/must"
	"kubi.zone/kubizone/test/rig"
)

// Token is the bearer token of each agent that Start runs.
const Token = "the-token-of-the-test"

// Server is a named with an agent.
type Server struct {
	*rig.BIND
	Control *rndc.Client
	// Bindcar is the double; nil: Kubizone's agent, the real bindcar, or none.
	Bindcar *Bindcar
	// URL and StopAgent are of the agent.
	URL       string
	StopAgent func()
}

// Start runs a named with a control channel, and an agent beside it. The kind is "kubizone", "bindcar" for the real
// one, a version of bindcar for its double, or "" for none.
func Start(t *testing.T, kind string, config rig.BINDConfig, control, transferKey rig.TSIGKey) *Server {
	t.Helper()
	if kind == "bindcar" {
		rig.Need(rig.BindcarProgram())(t) // before a named is started
	}
	channel := rig.Control{Addr: must.Get(rig.FreePort())(t), Key: control}
	config.Controls = []rig.Control{channel}
	signs := must.Get(tsig.ParseKeys(control.Statement()))(t)[0]
	s := &Server{BIND: rig.NeedServer(rig.StartBIND(t.Context(), config))(t), StopAgent: func() {}}
	s.Control = &rndc.Client{Address: channel.Addr.String(), Keys: func() ([]rndc.Key, error) {
		return []rndc.Key{{Algorithm: control.Algorithm, MAC: signs.MAC}}, nil
	}}
	var handler http.Handler
	switch kind {
	case "":
		return s
	case "bindcar":
		real := rig.Need(rig.StartBindcar(t.Context(), rig.BindcarConfig{ZoneDir: s.Dir(), Control: channel, Nameserver: s.Addr, Token: Token}))(t)
		t.Cleanup(real.Close)
		t.Cleanup(func() {
			if t.Failed() {
				t.Log(real.Log())
			}
		})
		s.URL = real.URL
		return s
	case "kubizone":
		key := must.Get(tsig.ParseKeys(transferKey.Statement()))(t)[0]
		handler = agent.New(agent.Config{
			Control: s.Control, Nameserver: s.Addr.String(), ZoneDir: s.Dir(), Version: "test", Logger: slog.New(slog.DiscardHandler),
			Now: time.Now,
			TSIGKey: func() (transfer.Key, error) {
				return transfer.Key{Name: key.Name, Algorithm: string(key.Algorithm), MAC: key.MAC}, nil
			},
			Authenticate: func(r *http.Request) error {
				if r.Header.Get("Authorization") != "Bearer "+Token {
					return errors.New("another token")
				}
				return nil
			},
		})
	default:
		s.Bindcar = &Bindcar{Version: kind, Token: Token, Dir: s.Dir(), Control: s.Control}
		handler = s.Bindcar
	}
	server := httptest.NewServer(handler)
	t.Cleanup(server.Close)
	s.URL, s.StopAgent = server.URL, server.Close
	return s
}

func (s *Server) HasZone(t *testing.T, zone string) bool {
	t.Helper()
	_, err := s.Control.Call(t.Context(), "showzone "+strings.TrimSuffix(zone, "."))
	return err == nil
}
