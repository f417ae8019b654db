// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

package fleet

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"net"
	"net/http"
	"strconv"
	"sync"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/client-go/tools/cache"
	"k8s.io/utils/clock"

	"kubi.zone/kubizone/pkg/bind9/agent/protocol"
	"kubi.zone/kubizone/pkg/bind9/fleet/render"
)

const (
	askTimeout, maxAnswer = 5 * time.Second, 1 << 16
	// After an answer that took slowAnswer or longer, the server gets no request for restFactor times that duration.
	slowAnswer, restFactor = 250 * time.Millisecond, 20
)

// slowPods caches the last result of each slow server for a while, because a tenant's slow pod must not block all
// workers.
type slowPods struct {
	clock    clock.Clock
	mu       sync.Mutex
	byServer map[cache.ObjectName]slowAnswers
}

type slowAnswers struct {
	until    time.Time
	question string
	result   error
}

var errNotAsked = errors.New("agents of pods answer late; they are asked again within two minutes")

// find returns the cached result of a slow server; rests is false if the server may be asked. Another question than the
// cached gets errNotAsked.
func (s *slowPods) find(server cache.ObjectName, question string, now time.Time) (result error, rests bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	maps.DeleteFunc(s.byServer, func(_ cache.ObjectName, of slowAnswers) bool { return !now.Before(of.until) })
	last, rests := s.byServer[server]
	if rests && last.question != question {
		return errNotAsked, true
	}
	return last.result, rests
}

// askPods returns a cached result only for the same question and pods.
func (s *slowPods) askPods(ctx context.Context, server *render.Server, question string, pods []*corev1.Pod,
	ask func(ctx context.Context, pod *corev1.Pod) error) error {
	at, began := cache.ObjectName{Namespace: server.Namespace, Name: server.Name}, s.clock.Now()
	for _, pod := range pods {
		question += " " + string(pod.UID)
	}

	if result, rests := s.find(at, question, began); rests {
		return result
	}

	// A tenant may label pods of any number as those of the server.
	if most := int(server.Replicas) + 1; len(pods) > most {
		return fmt.Errorf("there are %d pods, and a server of %d replicas has %d at most", len(pods), server.Replicas, most)
	}

	ctx, cancel := context.WithTimeout(ctx, askTimeout)
	defer cancel()
	var err error
	for _, pod := range pods {
		// All pods must agree, so the first error is the result.
		if err = ask(ctx, pod); err != nil {
			break
		}
	}

	now := s.clock.Now()
	if latency := now.Sub(began); latency >= slowAnswer {
		s.mu.Lock()
		defer s.mu.Unlock()
		s.byServer[at] = slowAnswers{now.Add(restFactor * latency), question, err}
	}
	return err
}

var errOtherConfig = errors.New("BIND has not loaded its configuration yet")

func askAgent(ctx context.Context, pod *corev1.Pod, server *render.Server) (string, error) {
	address, err := agentAddress(pod)
	if err != nil {
		return "", err
	}
	return AskAgentAt(ctx, address, server)
}

func askMembers(ctx context.Context, pod *corev1.Pod, server *render.Server) error {
	address, err := agentAddress(pod)
	if err != nil {
		return err
	}
	return AskMembersAt(ctx, address, server)
}

func agentAddress(pod *corev1.Pod) (string, error) {
	if pod.Status.PodIP == "" {
		return "", errors.New("the pod has no address yet")
	}
	return net.JoinHostPort(pod.Status.PodIP, strconv.Itoa(render.AgentPort)), nil
}

func AskAgentAt(ctx context.Context, address string, server *render.Server) (string, error) {
	var health protocol.Health
	err := askJSON(ctx, address, "/health", server, &health)
	return health.ConfigHash, err
}

func AskMembersAt(ctx context.Context, address string, server *render.Server) error {
	var members protocol.Members
	if err := askJSON(ctx, address, "/server/members", server, &members); err != nil {
		return err
	}
	if members.Missing > 0 {
		return fmt.Errorf("%d of %d zones are not loaded: %s", members.Missing, members.Zones, members.Some)
	}
	return nil
}

// askJSON sends a GET to an agent at an address, and decodes the answer. The certificate must be for the agent's host
// name and from the authority in the server's Secret, because a pod of another tenant may have the address by now.
func askJSON(ctx context.Context, address, path string, server *render.Server, into any) error {
	roots := x509.NewCertPool()
	if !roots.AppendCertsFromPEM(server.Access.Authority) {
		return errors.New("the authority of the agent's certificate cannot be read")
	}
	transport := &http.Transport{DisableKeepAlives: true, TLSClientConfig: &tls.Config{RootCAs: roots,
		ServerName: render.AgentHost(server.Namespace, server.Name)}}

	ctx, cancel := context.WithTimeout(ctx, askTimeout)
	defer cancel()
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, "https://"+address+protocol.Base+path, nil)
	if err != nil {
		return err
	}
	request.Header.Set("Authorization", "Bearer "+server.Access.Token)

	response, err := transport.RoundTrip(request)
	if err != nil {
		return err
	}
	defer response.Body.Close()
	if response.StatusCode != http.StatusOK {
		return fmt.Errorf("the agent answers %s", response.Status)
	}
	return json.NewDecoder(io.LimitReader(response.Body, maxAnswer)).Decode(into)
}
