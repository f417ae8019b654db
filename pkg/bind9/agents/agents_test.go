// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

package agents

import (
	"context"
	"encoding/pem"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"

	"kubi.zone/kubizone/api/kubizone/v1alpha1"
	apiclass "kubi.zone/kubizone/pkg/apis/kubizone/class"
	"kubi.zone/kubizone/pkg/bind9/agent/client"
	"kubi.zone/kubizone/pkg/delivery"
	"kubi.zone/kubizone/pkg/delivery/secrets"
	"kubi.zone/kubizone/test/must"
)

type agentSecrets struct {
	mu   sync.Mutex
	data map[string]map[string][]byte
	away error
}

func (s *agentSecrets) Get(_ context.Context, namespace, name string) (map[string][]byte, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.away != nil {
		return nil, s.away
	}
	if data := s.data[namespace+"/"+name]; data != nil {
		return data, nil
	}
	return nil, secrets.ErrNotFound
}

func (s *agentSecrets) setSecret(at string, data map[string][]byte, away error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.data[at], s.away = data, away
}

// agentDouble accepts a token, and redirects all requests while redirect is set.
type agentDouble struct {
	*httptest.Server
	mu              sync.Mutex
	token, redirect string
}

func (d *agentDouble) acceptToken(token, redirect string) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.token, d.redirect = token, redirect
}

func startAgent(t *testing.T) *agentDouble {
	t.Helper()
	d := &agentDouble{}
	d.Server = httptest.NewTLSServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		d.mu.Lock()
		defer d.mu.Unlock()
		switch {
		case d.redirect != "":
			http.Redirect(w, r, d.redirect+r.URL.Path, http.StatusTemporaryRedirect)
		case d.token != "" && r.Header.Get("Authorization") != "Bearer "+d.token:
			w.WriteHeader(http.StatusUnauthorized)
		default:
			fmt.Fprint(w, `{"status":"ok","agent":"kubizone"}`)
		}
	}))
	t.Cleanup(d.Close)
	return d
}

func authorityOf(d *agentDouble) []byte {
	return pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: d.Certificate().Raw})
}

func mustClient(t *testing.T, agents *Agents, server apiclass.Server) *client.Client {
	t.Helper()
	return must.Get(agents.ClientOf(server, true))(t)
}

func reasonOf(err error) delivery.Reason {
	var failure *delivery.Error
	if !errors.As(err, &failure) {
		return ""
	}
	return failure.Reason
}

// A change of the token fails no request, and the last data of an unreadable Secret stays in use.
func TestAgents_followTheSecret_S11_14(t *testing.T) {
	d := startAgent(t)
	d.acceptToken("first", "")
	data := func(token string) map[string][]byte {
		return map[string][]byte{"token": []byte(token + "\n"), "ca.crt": authorityOf(d)}
	}
	secrets := &agentSecrets{data: map[string]map[string][]byte{"dns/edge-agent": data("first")}}
	agents := New(secrets)
	server := apiclass.Server{Namespace: "dns", Name: "edge", UID: "1", Agent: apiclass.Agent{
		URL: d.URL, AuthoritiesKey: "ca.crt", Token: v1alpha1.SecretKeyReference{Namespace: "dns", Name: "edge-agent", Key: "token"},
	}}
	agent := mustClient(t, agents, server)
	must.Succeed(t, agent.Health(t.Context()))
	now := time.Now()
	if first := agents.listExpiries(now); len(first) != 1 || first["dns"] != d.Certificate().NotAfter.Unix() {
		t.Errorf("certificates end at %v, not at %v", first, d.Certificate().NotAfter)
	}
	if first := agents.listExpiries(now.Add(2 * clientAge)); len(first) != 0 {
		t.Errorf("of a server that is not used any more: %v", first)
	}
	secrets.setSecret("dns/edge-agent", data("second"), nil)
	d.acceptToken("second", "")
	if err := agent.Health(t.Context()); err != nil {
		t.Errorf("after the token was changed: %v", err)
	}
	secrets.setSecret("dns/edge-agent", nil, errors.New("no kube-apiserver"))
	d.acceptToken("third", "")
	var failure *client.Error
	if err := agent.Health(t.Context()); !errors.As(err, &failure) || failure.Status != http.StatusUnauthorized {
		t.Errorf("with a token that is not taken: %v", err)
	}
	d.acceptToken("second", "")
	if err := agent.Health(t.Context()); err != nil {
		t.Errorf("with a Secret that cannot be read: %v", err)
	}
	again := server
	if agent != mustClient(t, agents, again) {
		t.Error("the server has another client")
	}
	again.UID = "2"
	if agent == mustClient(t, agents, again) {
		t.Error("another server of the name has the client of the first")
	}
	secrets.setSecret("dns/edge-agent", nil, nil)
	if err := mustClient(t, agents, again).Health(t.Context()); reasonOf(err) != delivery.ReasonSecretNotFound || !strings.Contains(err.Error()+errors.Unwrap(err).Error(), "dns/edge-agent") {
		t.Errorf("without a Secret: %v", err)
	}
	again.UID = "3"
	secrets.setSecret("dns/edge-agent", map[string][]byte{"token": []byte("third")}, nil)
	if err := mustClient(t, agents, again).Health(t.Context()); reasonOf(err) != delivery.ReasonSecretNotFound {
		t.Errorf("without an authority: %v", err)
	}
}

// The controller sends its bearer token only to an agent with https and the expected certificate, and follows no
// redirect, because otherwise another server could obtain the token. Plain http, or an agent at a local address, needs
// explicit permission (S11.14).
func TestAgents_reachNoOther_S11_14(t *testing.T) {
	d, other := startAgent(t), startAgent(t)
	d.acceptToken("token", "")
	other.acceptToken("token", "")
	secrets := &agentSecrets{data: map[string]map[string][]byte{"dns/vm": {"key": []byte("token")}}}
	agents := New(secrets)
	server := func(change func(*apiclass.Agent)) apiclass.Server {
		s := apiclass.Server{Namespace: "dns", Name: "vm", Agent: apiclass.Agent{URL: d.URL, Authorities: authorityOf(d),
			Token: v1alpha1.SecretKeyReference{Namespace: "dns", Name: "vm", Key: "key"}}}
		change(&s.Agent)
		return s
	}
	as := func(url string) func(*apiclass.Agent) { return func(a *apiclass.Agent) { a.URL = url } }
	for what, change := range map[string]func(*apiclass.Agent){
		"http": as("http://192.0.2.1"), "no host": as("https://"), "a path": as(d.URL + "/other"), "a file": as("file:///etc/passwd"), "none": as(""),
	} {
		if _, err := agents.ClientOf(server(change), true); reasonOf(err) != delivery.ReasonInvalidConfiguration {
			t.Errorf("%s: %v", what, err)
		}
	}
	if _, err := agents.ClientOf(server(func(a *apiclass.Agent) { a.URL, a.PlainHTTP = "http://192.0.2.1", true }), true); err != nil {
		t.Errorf("http with leave: %v", err)
	}
	local := must.Get(agents.ClientOf(server(func(*apiclass.Agent) {}), false))(t)
	if err := local.Health(t.Context()); err == nil || !strings.Contains(errors.Unwrap(err).Error(), "allowLocalAddresses") {
		t.Errorf("a local address: %v", err)
	}
	if err := mustClient(t, agents, server(func(a *apiclass.Agent) { a.Authorities = nil })).Health(t.Context()); err == nil {
		t.Error("a certificate of no known authority is taken")
	}
	d.acceptToken("token", other.URL)
	var failure *client.Error
	if err := mustClient(t, agents, server(func(*apiclass.Agent) {})).Health(t.Context()); !errors.As(err, &failure) || failure.Status != http.StatusTemporaryRedirect {
		t.Errorf("a redirect: %v", err)
	}
}
