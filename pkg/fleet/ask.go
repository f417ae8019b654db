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
	"net"
	"net/http"
	"strconv"
	"time"

	corev1 "k8s.io/api/core/v1"

	"kubi.zone/kubizone/pkg/bindagent/protocol"
	"kubi.zone/kubizone/pkg/fleet/render"
)

const askTimeout, maxAnswer = 5 * time.Second, 1 << 16

// askAgent asks the agent of a pod which configuration its BIND has. Its certificate is for the name of its Service.
func askAgent(ctx context.Context, pod *corev1.Pod, server *render.Server) (string, error) {
	address, err := agentAddress(pod)
	if err != nil {
		return "", err
	}
	return AskAgentAt(ctx, address, server)
}

// askMembers asks the agent of a pod what its BIND lacks of the zones of its catalogs.
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

// AskAgentAt is askAgent for an address.
func AskAgentAt(ctx context.Context, address string, server *render.Server) (string, error) {
	var health protocol.Health
	err := askJSON(ctx, address, "/health", server, &health)
	return health.ConfigHash, err
}

// AskMembersAt is askMembers for an address.
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

func askJSON(ctx context.Context, address, path string, server *render.Server, into any) error {
	roots := x509.NewCertPool()
	if !roots.AppendCertsFromPEM(server.Access.Authority) {
		return errors.New("the authority of the agent's certificate cannot be read")
	}
	transport := &http.Transport{DisableKeepAlives: true, TLSClientConfig: &tls.Config{RootCAs: roots, ServerName: render.AgentHost(server.Namespace, server.Name)}}
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
