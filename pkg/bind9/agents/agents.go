// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

package agents

import (
	"bytes"
	"context"
	"crypto/sha256"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"io"
	"maps"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"k8s.io/klog/v2"

	apiclass "kubi.zone/kubizone/pkg/apis/kubizone/class"
	"kubi.zone/kubizone/pkg/bind9/agent/client"
	"kubi.zone/kubizone/pkg/delivery"
	"kubi.zone/kubizone/pkg/delivery/dial"
	"kubi.zone/kubizone/pkg/delivery/secrets"
)

const (
	credentialsAge     = 5 * time.Second
	credentialsTimeout = 10 * time.Second
	clientAge          = time.Hour
	maxHeader          = 1 << 16
)

// Agents caches clients, and outlives the providers of classes.
type Agents struct {
	secrets secrets.Reader

	mu      sync.Mutex
	clients map[string]*agentClient
}

type agentClient struct {
	*client.Client
	namespace string
	transport *agentTransport
	usedAt    time.Time
}

func New(secrets secrets.Reader) *Agents {
	return &Agents{secrets: secrets, clients: map[string]*agentClient{}}
}

// ClientOf sends nothing. The error is a *delivery.Error.
func (a *Agents) ClientOf(server apiclass.Server, allowLocal bool) (*client.Client, error) {
	agent := server.Agent
	at, err := url.Parse(agent.URL)
	if err != nil || at.Scheme != "https" && !(at.Scheme == "http" && agent.PlainHTTP) {
		return nil, delivery.Errorf(delivery.ReasonInvalidConfiguration, "%s/%s: the URL of its agent has to be https, "+
			"or http with allowPlainHTTP", server.Namespace, server.Name)
	}

	// All parts that change the connection are in the key, so that a changed Bind9Instance gets another client.
	key := fmt.Sprintf("%s/%s %s %q %t %v %x %s %t", server.Namespace, server.Name, server.UID, agent.URL, agent.PlainHTTP, agent.Token,
		sha256.Sum256(agent.Authorities), agent.AuthoritiesKey, allowLocal)

	a.mu.Lock()
	defer a.mu.Unlock()
	now := time.Now()
	if known := a.clients[key]; known != nil {
		known.usedAt = now
		return known.Client, nil
	}

	// Clients are few, so each creation looks for clients unused for an hour.
	maps.DeleteFunc(a.clients, func(_ string, old *agentClient) bool { return now.Sub(old.usedAt) > clientAge })
	transport := &agentTransport{spec: agent, secrets: a.secrets, allowLocal: allowLocal}
	made, err := client.New(agent.URL, transport)
	if err != nil {
		return nil, &delivery.Error{Reason: delivery.ReasonInvalidConfiguration, Message: fmt.Sprintf("%s/%s: %v", server.Namespace,
			server.Name, err)}
	}

	a.clients[key] = &agentClient{made, server.Namespace, transport, now}
	return made, nil
}

type agentTransport struct {
	spec       apiclass.Agent
	secrets    secrets.Reader
	allowLocal bool

	// ends is when the last seen certificate ends, in Unix seconds; 0 if unknown.
	ends atomic.Int64

	mu      sync.Mutex
	readAt  time.Time
	current *credentials
}

type credentials struct {
	token     string
	digest    [sha256.Size]byte // of the CA certificates
	transport *http.Transport
}

// RoundTrip sends a request with the current token. If the agent answers 401 and the Secret has another token by now,
// the request is repeated once.
func (t *agentTransport) RoundTrip(request *http.Request) (*http.Response, error) {
	now, err := t.readCredentials(request.Context(), false)
	if err != nil {
		return nil, err
	}
	response, err := now.send(request)
	if err == nil && response.TLS != nil { // https, so the agent has shown a certificate
		t.ends.Store(response.TLS.PeerCertificates[0].NotAfter.Unix())
	}

	// A body without GetBody is spent, and cannot be sent again.
	if err != nil || response.StatusCode != http.StatusUnauthorized || request.Body != nil && request.GetBody == nil {
		return response, err
	}

	again, err := t.readCredentials(request.Context(), true)
	// The token is simply wrong: the 401 reaches the caller.
	if err != nil || again.token == now.token {
		return response, nil
	}

	// Drain the 401 to keep the connection.
	_, _ = io.CopyN(io.Discard, response.Body, maxHeader)
	response.Body.Close()
	repeat := request.Clone(request.Context())
	if request.GetBody != nil {
		if repeat.Body, err = request.GetBody(); err != nil {
			return nil, err
		}
	}
	return again.send(repeat)
}

func (c *credentials) send(request *http.Request) (*http.Response, error) {
	request = request.Clone(request.Context())
	request.Header.Set("Authorization", "Bearer "+c.token)
	return c.transport.RoundTrip(request)
}

// readCredentials returns the token and transport for an agent, at most credentialsAge old, or read now if fresh is
// true. A *delivery.Error is a missing or wrong Secret.
func (t *agentTransport) readCredentials(ctx context.Context, fresh bool) (*credentials, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if !fresh && t.current != nil && time.Since(t.readAt) < credentialsAge {
		return t.current, nil
	}
	ctx, cancel := context.WithTimeout(ctx, credentialsTimeout)
	defer cancel()
	now, err := t.makeCredentials(ctx)
	var failure *delivery.Error
	// kube-apiserver is away: the last token is better than none. A deleted Secret is a *delivery.Error, and ends the
	// use.
	if err != nil && t.current != nil && !errors.As(err, &failure) {
		klog.FromContext(ctx).V(1).Info("A Secret of an agent cannot be read; its last data stay in use", "agent", t.spec.URL, "err", err)
		now, err = t.current, nil
	}
	if err != nil {
		t.current = nil
		return nil, err
	}
	t.current, t.readAt = now, time.Now()
	return now, nil
}

// makeCredentials reads the Secret and builds the credentials. The transport, with its open connection, stays while the
// CA certificates do. The caller holds mu.
func (t *agentTransport) makeCredentials(ctx context.Context) (*credentials, error) {
	c, ref, roots := &credentials{}, t.spec.Token, t.spec.Authorities
	data, err := t.readSecret(ctx, ref.Namespace, ref.Name, ref.Key, t.spec.AuthoritiesKey)
	if err != nil {
		return nil, err
	}
	c.token = string(bytes.TrimSpace(data[ref.Key]))
	// A header with a line break would be a request of its own.
	if strings.ContainsAny(c.token, " \t\r\n") {
		return nil, delivery.Errorf(delivery.ReasonInvalidConfiguration, "Secret %s/%s: data[%q] has more than one word; "+
			"write one token there", ref.Namespace, ref.Name, ref.Key)
	}

	if t.spec.AuthoritiesKey != "" {
		roots = data[t.spec.AuthoritiesKey]
	}
	c.digest = sha256.Sum256(roots)

	config := &tls.Config{MinVersion: tls.VersionTLS12}
	if len(roots) > 0 {
		if config.RootCAs = x509.NewCertPool(); !config.RootCAs.AppendCertsFromPEM(roots) {
			return nil, delivery.Errorf(delivery.ReasonInvalidConfiguration, "the certificates that %s is verified with are not PEM; "+
				"write them in PEM into external.caBundle of the Bind9Instance, or into data[\"ca.crt\"] of its Secret", t.spec.URL)
		}
	}

	if t.current != nil && t.current.digest == c.digest {
		c.transport = t.current.transport
		return c, nil
	}

	c.transport = &http.Transport{
		// The check is at the connection, so a host name rebound to loopback or link-local is refused too.
		DialContext: dial.New(t.allowLocal).DialContext, TLSClientConfig: config, ForceAttemptHTTP2: true,
		MaxResponseHeaderBytes: maxHeader,
		TLSHandshakeTimeout:    credentialsTimeout, MaxIdleConnsPerHost: 1, IdleConnTimeout: time.Minute,
	}
	if t.current != nil {
		t.current.transport.CloseIdleConnections()
	}
	return c, nil
}

// readSecret requires a value for each of keys, except "".
func (t *agentTransport) readSecret(ctx context.Context, namespace, name string, keys ...string) (map[string][]byte, error) {
	data, err := t.secrets.Get(ctx, namespace, name)
	if errors.Is(err, secrets.ErrNotFound) {
		return nil, &delivery.Error{Reason: delivery.ReasonSecretNotFound,
			Message: fmt.Sprintf("there is no Secret %s/%s, which the agent %s is reached with; make it, "+
				"or name another one in the Bind9Instance", namespace, name, t.spec.URL), Err: err}
	}
	if err != nil {
		return nil, fmt.Errorf("the Secret %s/%s, which the agent %s is reached with, cannot be read: %w", namespace, name, t.spec.URL, err)
	}
	missing := slices.DeleteFunc(slices.Clone(keys), func(key string) bool { return key == "" || len(bytes.TrimSpace(data[key])) > 0 })
	if len(missing) > 0 {
		return nil, delivery.Errorf(delivery.ReasonSecretNotFound, "Secret %s/%s: data[%q] is missing or empty; put the value there",
			namespace, name, missing[0])
	}
	return data, nil
}
