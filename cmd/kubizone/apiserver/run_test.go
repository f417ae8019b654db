// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

package apiserver

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"io"
	"net"
	"net/http"
	"net/http/httptrace"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/spf13/pflag"

	"kubi.zone/kubizone/pkg/kit/pki"
	"kubi.zone/kubizone/test/must"
)

func parseOptions(t *testing.T, arguments ...string) *Options {
	t.Helper()
	o := NewOptions()
	flags := pflag.NewFlagSet("apiserver", pflag.ContinueOnError)
	for _, group := range o.Flags().FlagSets {
		flags.AddFlagSet(group)
	}
	must.Succeed(t, flags.Parse(arguments))
	must.Succeed(t, o.Complete())
	return o
}

type running struct {
	url     string
	serving *pki.Pair
	stop    func() error
}

func startServer(t *testing.T, k *kube, arguments ...string) *running {
	t.Helper()
	return startServerWith(t, k, nil, arguments...)
}

func startServerWith(t *testing.T, k *kube, commands []subcommand, arguments ...string) *running {
	t.Helper()
	listener := must.Get(net.Listen("tcp", "127.0.0.1:0"))(t)
	r := &running{url: "https://" + listener.Addr().String(), serving: newAuthority(t, "serving")}
	path := filepath.Join(t.TempDir(), "serving")
	leaf := issueLeaf(t, r.serving, "server")
	must.Succeed(t, os.WriteFile(path+".key", leaf.KeyPEM, 0o600))
	must.Succeed(t, os.WriteFile(path+".crt", leaf.CertPEM, 0o600))
	o := parseOptions(t, append([]string{
		"--etcd-data-dir", filepath.Join(t.TempDir(), "data"), "--kubeconfig", k.writeKubeconfig(t),
		"--tls-cert-file", path + ".crt", "--tls-private-key-file", path + ".key", "--shutdown-delay-duration", "1s",
		"--authentication-token-webhook-cache-ttl", "0s", "--authorization-webhook-cache-authorized-ttl", "0s", "--authorization-webhook-cache-unauthorized-ttl", "0s",
	}, arguments...)...)
	must.Succeed(t, o.Validate())
	o.SecureServing.Listener = listener
	o.subcommands = commands
	ctx, cancel := context.WithCancel(context.Background())
	ended := make(chan error, 1)
	go func() { ended <- o.Run(ctx) }()
	var once bool
	r.stop = func() error {
		if once {
			return nil
		}
		once = true
		cancel()
		return <-ended
	}
	t.Cleanup(func() {
		if err := r.stop(); err != nil {
			t.Error(err)
		}
	})
	return r
}

// signer may be nil: no certificate.
func (r *running) makeClient(t *testing.T, signer *pki.Pair, name string) *http.Client {
	t.Helper()
	pool := x509.NewCertPool()
	pool.AddCert(r.serving.Cert)
	config := &tls.Config{RootCAs: pool}
	if signer != nil {
		leaf := issueLeaf(t, signer, name)
		pair := must.Get(tls.X509KeyPair(leaf.CertPEM, leaf.KeyPEM))(t)
		// Present it even if the server asks for other authorities.
		config.GetClientCertificate = func(*tls.CertificateRequestInfo) (*tls.Certificate, error) { return &pair, nil }
	}
	transport := &http.Transport{TLSClientConfig: config}
	t.Cleanup(transport.CloseIdleConnections)
	return &http.Client{Transport: transport, Timeout: 30 * time.Second}
}

func sendRequest(t *testing.T, client *http.Client, method, url string, headers map[string]string, body string) (int, string) {
	t.Helper()
	request := must.Get(http.NewRequest(method, url, strings.NewReader(body)))(t)
	request.Header.Set("Content-Type", "application/json")
	for name, value := range headers {
		request.Header.Set(name, value)
	}
	answer, err := client.Do(request)
	if err != nil {
		return 0, err.Error()
	}
	defer answer.Body.Close()
	text, err := io.ReadAll(answer.Body)
	if err != nil {
		return 0, err.Error()
	}
	return answer.StatusCode, string(text)
}

func (r *running) waitReady(t *testing.T) {
	t.Helper()
	anyone := r.makeClient(t, nil, "")
	must.Eventually(t, "ready", func() bool {
		code, _ := sendRequest(t, anyone, http.MethodGet, r.url+"/readyz", nil, "")
		return code == http.StatusOK
	})
}

const (
	zonesPath = "/apis/kubi.zone/v1alpha1/namespaces/a/zones"
	zoneBody  = `{"apiVersion": "kubi.zone/v1alpha1", "kind": "Zone", "metadata": {"name": "NAME"}, "spec": {"domainName": "NAME.example."}}`
)

func makeAdminHeaders() map[string]string {
	return map[string]string{"X-Remote-User": "admin", "X-Remote-Group": "system:masters"}
}

// At start a server does not know yet who may connect, which namespaces exist and which policies apply. Until it has
// read them, it answers with errors that clients retry; with 401 or 403 a client would give up.
func TestRun_noFinalAnswerBeforeItKnows(t *testing.T) {
	for what, path := range map[string]string{
		"the authorities of clients": "/api/v1/namespaces/kube-system/configmaps",
		"the namespaces":             "/api/v1/namespaces",
		"the policies":               "/apis/admissionregistration.k8s.io/v1/validatingadmissionpolicies",
	} {
		t.Run(what, func(t *testing.T) {
			t.Parallel()
			k := newKube(t)
			k.silent = path
			r := startServer(t, k)
			aggregator := r.makeClient(t, k.proxies, allowedProxy)
			received := false
			must.Eventually(t, "a zone is made", func() bool {
				body := strings.NewReader(strings.ReplaceAll(zoneBody, "NAME", "z"))
				request := must.Get(http.NewRequest(http.MethodPost, r.url+zonesPath, body))(t)
				request.Header.Set("Content-Type", "application/json")
				for name, value := range makeAdminHeaders() {
					request.Header.Set(name, value)
				}
				answer, err := aggregator.Do(request)
				if err != nil {
					return false
				}
				defer answer.Body.Close()
				text, _ := io.ReadAll(answer.Body)
				if code := answer.StatusCode; code != http.StatusCreated && (code != http.StatusServiceUnavailable ||
					answer.Header.Get("Retry-After") != "1") {
					t.Fatalf("%d %v %s", code, answer.Header, text)
				}
				if !received {
					t.Logf("the first answer: %d %s", answer.StatusCode, text)
				}
				received = true
				k.changeCluster(func() { k.silent = "" })
				return answer.StatusCode == http.StatusCreated
			})
		})
	}
}

// A server that may believe no front proxy any more says so, and one that ends lets requests that are under way end.
// test/cluster has the rest of what a server does behind a kube-apiserver.
func TestRun_behindAKubeAPIServer(t *testing.T) {
	k := newKube(t)
	r := startServer(t, k)
	r.waitReady(t)
	aggregator := r.makeClient(t, k.proxies, allowedProxy)

	t.Run("an emptied list of names lets no client in", func(t *testing.T) {
		k.changeCluster(func() { k.allowedNames = nil })
		must.Eventually(t, "headers are believed no more", func() bool {
			code, _ := sendRequest(t, aggregator, http.MethodGet, r.url+zonesPath, makeAdminHeaders(), "")
			return code == http.StatusUnauthorized
		})
		if code, body := sendRequest(t, r.makeClient(t, nil, ""), http.MethodGet, r.url+"/readyz", nil, ""); code == http.StatusOK ||
			!strings.Contains(body, "requestheader-allowed-names") {
			t.Errorf("/readyz: %d %s", code, body)
		}
		k.changeCluster(func() { k.allowedNames = []string{allowedProxy} })
		r.waitReady(t)
	})
	t.Run("not ready before it closes", func(t *testing.T) {
		near := r.makeClient(t, k.proxies, allowedProxy)
		near.Transport.(*http.Transport).ForceAttemptHTTP2 = true
		if code, body := sendRequest(t, near, http.MethodGet, r.url+zonesPath, makeAdminHeaders(), ""); code != http.StatusOK {
			t.Fatalf("%d %s", code, body)
		}
		ended := make(chan error, 1)
		go func() { ended <- r.stop() }()
		must.Eventually(t, "not ready", func() bool {
			code, _ := sendRequest(t, aggregator, http.MethodGet, r.url+"/readyz", makeAdminHeaders(), "")
			return code == http.StatusInternalServerError
		})
		if code, body := sendRequest(t, r.makeClient(t, k.proxies, allowedProxy), http.MethodGet, r.url+zonesPath, makeAdminHeaders(),
			""); code != http.StatusOK {
			t.Errorf("on a new connection, not ready and not closed: %d %s", code, body)
		}
		expectSentAway(t, near, r.url+zonesPath)
		if err := <-ended; err != nil {
			t.Error(err)
		}
		if _, err := net.Dial("tcp", strings.TrimPrefix(r.url, "https://")); err == nil {
			t.Error("it listens after its end")
		}
	})
}

// expectSentAway requires that the server closes the connection between two requests.
func expectSentAway(t *testing.T, client *http.Client, url string) {
	t.Helper()
	for again := false; !again; time.Sleep(time.Millisecond) {
		ctx := httptrace.WithClientTrace(t.Context(), &httptrace.ClientTrace{GotConn: func(c httptrace.GotConnInfo) { again = !c.Reused }})
		request := must.Get(http.NewRequestWithContext(ctx, http.MethodGet, url, nil))(t)
		for name, value := range makeAdminHeaders() {
			request.Header.Set(name, value)
		}
		answer := must.Get(client.Do(request))(t)
		answer.Body.Close()
		if answer.StatusCode != http.StatusOK {
			t.Fatalf("on the connection from before: %s", answer.Status)
		}
	}
}

// Configurations that cannot work are refused at start, with the flag to change. An empty --requestheader-allowed-names
// is among them, because any client with a certificate could then act as any user (attack 42).
func TestRun_refusesToStart(t *testing.T) {
	taken := must.Get(net.Listen("tcp", "127.0.0.1:0"))(t)
	defer taken.Close()
	_, occupied, _ := net.SplitHostPort(taken.Addr().String())
	for name, c := range map[string]struct {
		change    func(*kube)
		arguments []string
		want      []string
	}{
		"any client may speak for users": {func(k *kube) { k.allowedNames = nil }, nil, []string{"--requestheader-allowed-names is empty", "kube-system/extension-apiserver-authentication", "set it"}},
		"port taken": {func(*kube) {}, []string{"--bind-address", "127.0.0.1", "--secure-port", occupied},
			[]string{"--secure-port 127.0.0.1:" + occupied, "free port"}},
		"no kube-apiserver": {func(k *kube) { k.server.Close() }, nil, []string{"authentication", "refused"}},
	} {
		t.Run(name, func(t *testing.T) {
			k := newKube(t)
			kubeconfig := k.writeKubeconfig(t)
			c.change(k)
			// Fails before any connection to etcd.
			o := parseOptions(t, append([]string{"--etcd-servers", "http://127.0.0.1:1", "--kubeconfig", kubeconfig}, c.arguments...)...)
			if len(c.arguments) == 0 {
				o.SecureServing.Listener = must.Get(net.Listen("tcp", "127.0.0.1:0"))(t)
			}
			ctx, cancel := context.WithTimeout(t.Context(), 30*time.Second)
			defer cancel()
			err := o.Run(ctx)
			must.Say(t, err, c.want...)
		})
	}
}
