// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

package doctor

import (
	"cmp"
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	corev1 "k8s.io/api/core/v1"
)

const (
	// checksQuery leaves out the check etcd, a duplicate of etcd-readiness. While etcd hangs each takes two seconds.
	checksQuery = "?verbose&exclude=etcd"

	// dialTime is short for the case of a firewall that drops packets.
	dialTime = 3 * time.Second

	// kubeAPIServer verifies the certificates, so its clock is the reference.
	kubeAPIServer = "kube-apiserver"
)

type answer struct {
	from         string
	chain        []*x509.Certificate // of a direct connection
	failedChecks []string
	lacks        string         // the missing RBAC rule or answer of kube-apiserver for which the server is not ready
	clockSkew    *time.Duration // relative to this machine; nil if unknown
	err          error
}

// getPage reads a page, up to 1 MiB. skew is how far the server's clock is ahead of this machine's, nil without a date
// in the answer. An answer with an error code is not an error here.
func getPage(ctx context.Context, client *http.Client, url string) (body []byte, response *http.Response, skew *time.Duration, err error) {
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, url, nil)
	if err != nil {
		return nil, nil, nil, err
	}
	asked := time.Now()
	response, err = client.Do(request)
	if err != nil {
		return nil, nil, nil, err
	}
	defer response.Body.Close()
	if date, err := http.ParseTime(response.Header.Get("Date")); err == nil { // whole seconds
		// The server wrote the date between request and answer, and dropped the fraction: compare the middle of both.
		skew = new(date.Add(time.Second / 2).Sub(asked.Add(time.Since(asked) / 2)).Round(time.Second))
	}
	body, err = io.ReadAll(io.LimitReader(response.Body, 1<<20))
	return body, response, skew, err
}

// askServer gets both pages of checks at once, because each may take seconds while etcd hangs.
func askServer(ctx context.Context, client *http.Client, from, url string) answer {
	var pages [2]answer
	var both sync.WaitGroup
	for i, page := range []string{"readyz", "healthz"} {
		both.Go(func() {
			body, response, skew, err := getPage(ctx, client, url+"/"+page+checksQuery)
			pages[i] = answer{failedChecks: listFailed(string(body)), clockSkew: skew}
			// A login page of a proxy has no checks in brackets.
			if !strings.Contains(string(body), "[") {
				pages[i].err = cmp.Or(err, errors.New("not an answer of /"+page))
			}
			if response != nil && response.TLS != nil {
				pages[i].chain = response.TLS.PeerCertificates
			}
		})
	}
	both.Wait()
	a := answer{from: from, clockSkew: cmp.Or(pages[0].clockSkew, pages[1].clockSkew), err: cmp.Or(pages[0].err, pages[1].err),
		chain: pages[0].chain, failedChecks: slices.Concat(pages[0].failedChecks, pages[1].failedChecks)}
	if a.chain == nil {
		a.chain = pages[1].chain
	}
	// The list names only the check. Its own page has the missing RBAC rule.
	if slices.Contains(a.failedChecks, "permissions") {
		if body, _, _, err := getPage(ctx, client, url+"/readyz/permissions"); err == nil {
			_, lacks, _ := strings.Cut(strings.TrimSpace(string(body)), "internal server error: ")
			a.lacks, _, _ = strings.Cut(lacks, "\n")
		}
	}
	slices.Sort(a.failedChecks)
	a.failedChecks = slices.Compact(a.failedChecks)
	return a
}

func listFailed(checks string) (names []string) {
	for line := range strings.Lines(checks) {
		if name, failed := strings.CutPrefix(strings.TrimSpace(line), "[-]"); failed {
			name, _, _ = strings.Cut(name, " ")
			names = append(names, name)
		}
	}
	return names
}

// askPod asks the pod directly and, for machines without a route to pods, through kube-apiserver. Only the direct
// answer has the pod's certificate.
func (c *collector) askPod(ctx context.Context, pod *corev1.Pod) answer {
	from := "pod " + pod.Name
	if pod.Status.Phase != corev1.PodRunning {
		return answer{from: from, err: fmt.Errorf("its phase is %s", pod.Status.Phase)}
	}
	var direct, proxied answer
	var requests sync.WaitGroup
	requests.Go(func() { direct = askDirect(ctx, net.JoinHostPort(pod.Status.PodIP, strconv.Itoa(int(portOf(pod))))) })
	requests.Go(func() {
		url := c.core.CoreV1().RESTClient().Get().Namespace(pod.Namespace).Resource("pods").Name("https:" + pod.Name + ":https").
			SubResource("proxy").URL()
		proxied = askServer(ctx, c.http, from, url.String())
		proxied.chain = nil // of kube-apiserver
	})
	requests.Wait()
	if direct.err == nil {
		direct.from = from
		return direct
	}
	return proxied
}

func portOf(pod *corev1.Pod) int32 {
	for _, container := range pod.Spec.Containers {
		for _, port := range container.Ports {
			if port.Name == "https" {
				return port.ContainerPort
			}
		}
	}
	return 0
}

// askDirect accepts any certificate, because the certificate is under test, and sends no secret.
func askDirect(ctx context.Context, address string) answer {
	transport := &http.Transport{TLSClientConfig: &tls.Config{InsecureSkipVerify: true},
		DialContext: (&net.Dialer{Timeout: dialTime}).DialContext}
	defer transport.CloseIdleConnections()
	return askServer(ctx, &http.Client{Transport: transport}, address, "https://"+address)
}
