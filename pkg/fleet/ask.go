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

	"kubi.zone/kubizone/pkg/fleet/render"
)

const askTimeout, maxAnswer = 5 * time.Second, 1 << 16

// askAgent asks the agent of a pod which configuration its BIND has. Its certificate is for the name of its Service.
func askAgent(ctx context.Context, pod *corev1.Pod, server *render.Server) (string, error) {
	if pod.Status.PodIP == "" {
		return "", errors.New("the pod has no address yet")
	}
	return AskAgentAt(ctx, net.JoinHostPort(pod.Status.PodIP, strconv.Itoa(render.AgentPort)), server)
}

// AskAgentAt asks an agent at an address.
func AskAgentAt(ctx context.Context, address string, server *render.Server) (string, error) {
	roots := x509.NewCertPool()
	if !roots.AppendCertsFromPEM(server.Access.Authority) {
		return "", errors.New("the authority of the agent's certificate cannot be read")
	}
	transport := &http.Transport{DisableKeepAlives: true, TLSClientConfig: &tls.Config{RootCAs: roots, ServerName: render.AgentHost(server.Namespace, server.Name)}}
	ctx, cancel := context.WithTimeout(ctx, askTimeout)
	defer cancel()
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, "https://"+address+"/api/v1/health", nil)
	if err != nil {
		return "", err
	}
	response, err := transport.RoundTrip(request)
	if err != nil {
		return "", err
	}
	defer response.Body.Close()
	var health struct {
		ConfigHash string `json:"configHash"`
	}
	if response.StatusCode != http.StatusOK {
		return "", fmt.Errorf("the agent answers %s", response.Status)
	}
	if err := json.NewDecoder(io.LimitReader(response.Body, maxAnswer)).Decode(&health); err != nil {
		return "", err
	}
	return health.ConfigHash, nil
}
