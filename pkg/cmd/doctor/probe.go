// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

package doctor

import (
	"cmp"
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"io"
	"maps"
	"net"
	"net/http"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	corev1 "k8s.io/api/core/v1"

	groups "kubi.zone/kubizone/pkg/cmd/cluster"
)

const (
	// excludedCheck duplicates etcd-readiness. While etcd hangs each takes two seconds.
	excludedCheck = "etcd"

	// dialTime is for firewalls that drop packets.
	dialTime = 3 * time.Second

	maxProbes = 16

	// kubeAPIServer verifies the certificates, so its clock is the reference.
	kubeAPIServer = "kube-apiserver"
)

type answer struct {
	from         string
	chain        []*x509.Certificate // of a direct connection
	failedChecks []string            // checks
	err          error
}

// Each path may take seconds while etcd hangs.
func askPaths(from string, get func(path string) ([]byte, error)) answer {
	var failed [2][]string
	var errs [2]error
	var both sync.WaitGroup
	for i, path := range []string{"readyz", "healthz"} {
		both.Go(func() {
			body, err := get(path)
			if failed[i] = listFailed(string(body)); !strings.Contains(string(body), "[") {
				errs[i] = cmp.Or(err, errors.New("not an answer of /"+path))
			}
		})
	}
	both.Wait()
	names := slices.Concat(failed[:]...)
	slices.Sort(names)
	return answer{from: from, failedChecks: slices.Compact(names), err: cmp.Or(errs[:]...)}
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

// prober is safe for concurrent use.
type prober struct {
	core   groups.Interface
	clocks *clocks
	places chan struct{}

	asking  sync.WaitGroup
	mu      sync.Mutex
	answers []answer
}

func newProber(core groups.Interface, seen *clocks) *prober {
	return &prober{core: core, clocks: seen, places: make(chan struct{}, maxProbes)}
}

func (p *prober) ask(probe func() answer) {
	p.asking.Go(func() {
		p.places <- struct{}{}
		a := probe()
		<-p.places
		p.mu.Lock()
		defer p.mu.Unlock()
		p.answers = append(p.answers, a)
	})
}

func (p *prober) askAddress(ctx context.Context, host string, port int32) {
	p.ask(func() answer { return askDirect(ctx, net.JoinHostPort(host, strconv.Itoa(int(port))), p.clocks) })
}

func (p *prober) askPod(ctx context.Context, pod *corev1.Pod) {
	if pod.Status.Phase != corev1.PodRunning {
		return
	}
	p.ask(func() answer {
		return askPaths("pod "+pod.Name, func(path string) ([]byte, error) {
			parameters := map[string]string{"verbose": "", "exclude": excludedCheck}
			return p.core.CoreV1().Pods(pod.Namespace).ProxyGet("https", pod.Name, "https", path, parameters).DoRaw(ctx)
		})
	})
}

func (p *prober) wait() []answer {
	p.asking.Wait()
	slices.SortFunc(p.answers, func(a, b answer) int { return cmp.Compare(a.from, b.from) })
	return p.answers
}

func askDirect(ctx context.Context, address string, seen *clocks) answer {
	var chain atomic.Pointer[[]*x509.Certificate]
	// The certificate is under test: accept any, and send no secret.
	transport := &http.Transport{
		TLSClientConfig: &tls.Config{InsecureSkipVerify: true, VerifyConnection: func(state tls.ConnectionState) error {
			chain.Store(&state.PeerCertificates)
			return nil
		}},
		DialContext: (&net.Dialer{Timeout: dialTime}).DialContext,
	}
	defer transport.CloseIdleConnections()
	client := &http.Client{Transport: transport}
	a := askPaths(address, func(path string) ([]byte, error) {
		request, err := http.NewRequestWithContext(ctx, http.MethodGet, "https://"+address+"/"+path+"?verbose&exclude="+excludedCheck, nil)
		if err != nil {
			return nil, err
		}
		asked := time.Now()
		response, err := client.Do(request)
		if err != nil {
			return nil, err
		}
		defer response.Body.Close()
		seen.note(address, response, asked, time.Now())
		return io.ReadAll(io.LimitReader(response.Body, 1<<20))
	})
	if served := chain.Load(); served != nil {
		a.chain = *served
	}
	return a
}

var proxiedPod = regexp.MustCompile(`/pods/https:([^:/]+):[^/]*/proxy/`)

// clocks is safe for concurrent use.
type clocks struct {
	sync.Mutex
	skews map[string]time.Duration // relative to this machine
}

func newClocks() *clocks { return &clocks{skews: map[string]time.Duration{}} }

// A Date header has whole seconds.
func (c *clocks) note(from string, answer *http.Response, asked, answered time.Time) {
	date, err := http.ParseTime(answer.Header.Get("Date"))
	if err != nil {
		return
	}
	c.Lock()
	defer c.Unlock()
	c.skews[from] = date.Add(time.Second / 2).Sub(asked.Add(answered.Sub(asked) / 2)).Round(time.Second)
}

func (c *clocks) list() map[string]time.Duration {
	c.Lock()
	defer c.Unlock()
	return maps.Clone(c.skews)
}

func (c *clocks) watch(next http.RoundTripper) http.RoundTripper { return &watchedTransport{next, c} }

type watchedTransport struct {
	next   http.RoundTripper
	clocks *clocks
}

func (w *watchedTransport) RoundTrip(request *http.Request) (*http.Response, error) {
	asked := time.Now()
	answer, err := w.next.RoundTrip(request)
	if err != nil {
		return nil, err
	}
	if pod := proxiedPod.FindStringSubmatch(request.URL.Path); pod != nil {
		w.clocks.note("pod "+pod[1], answer, asked, time.Now())
	} else if request.URL.Path == "/version" {
		w.clocks.note(kubeAPIServer, answer, asked, time.Now())
	}
	return answer, nil
}
