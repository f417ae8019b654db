// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

package apiserver

import (
	"bytes"
	"context"
	"crypto/tls"
	"crypto/x509"
	"encoding/json"
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
	kube    *kube
	url     string
	serving *authority
	cert    string // path without .crt and .key
	stop    func() error
}

func startServer(t *testing.T, k *kube, arguments ...string) *running {
	t.Helper()
	return startServerWith(t, k, nil, arguments...)
}

func startServerWith(t *testing.T, k *kube, commands []subcommand, arguments ...string) *running {
	t.Helper()
	listener := must.Get(net.Listen("tcp", "127.0.0.1:0"))(t)
	r := &running{kube: k, url: "https://" + listener.Addr().String(), serving: newAuthority(t, "serving"), cert: filepath.Join(t.TempDir(), "serving")}
	r.rotateCertificate(t, "first")
	o := parseOptions(t, append([]string{
		"--etcd-data-dir", filepath.Join(t.TempDir(), "data"), "--kubeconfig", k.writeKubeconfig(t),
		"--tls-cert-file", r.cert + ".crt", "--tls-private-key-file", r.cert + ".key", "--shutdown-delay-duration", "1s",
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

func (r *running) rotateCertificate(t *testing.T, name string) {
	t.Helper()
	cert, key := r.serving.issueLeaf(t, name)
	for file, content := range map[string][]byte{".key": key, ".crt": cert} {
		must.Succeed(t, os.WriteFile(r.cert+file, content, 0o600))
	}
}

// signer may be nil: no certificate.
func (r *running) makeClient(t *testing.T, signer *authority, name string, groups ...string) *http.Client {
	t.Helper()
	pool := x509.NewCertPool()
	pool.AddCert(r.serving.cert)
	config := &tls.Config{RootCAs: pool}
	if signer != nil {
		cert, key := signer.issueLeaf(t, name, groups...)
		pair := must.Get(tls.X509KeyPair(cert, key))(t)
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

func waitUntil(t *testing.T, what string, is func() bool) {
	t.Helper()
	for end := time.Now().Add(2 * time.Minute); !is(); time.Sleep(20 * time.Millisecond) {
		if time.Now().After(end) {
			t.Fatalf("%s: not within two minutes", what)
		}
	}
}

func (r *running) waitReady(t *testing.T) {
	t.Helper()
	anyone := r.makeClient(t, nil, "")
	waitUntil(t, "ready", func() bool {
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
			waitUntil(t, "a zone is made", func() bool {
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

func TestRun_behindAKubeAPIServer(t *testing.T) {
	k := newKube(t)
	r := startServer(t, k)
	r.waitReady(t)
	aggregator := r.makeClient(t, k.proxies, allowedProxy)

	t.Run("authentication", func(t *testing.T) { testEntrance(t, r) })
	t.Run("anonymous see health alone", func(t *testing.T) { testAnonymous(t, r, aggregator) })
	t.Run("a review that fails allows nothing", func(t *testing.T) {
		k.changeCluster(func() { k.broken = true })
		defer k.changeCluster(func() { k.broken = false })
		if code, body := sendRequest(t, r.makeClient(t, nil, ""), http.MethodGet, r.url+zonesPath,
			map[string]string{"Authorization": "Bearer alices"}, ""); code < 400 {
			t.Errorf("%d %s", code, body)
		}
	})
	t.Run("namespaces", func(t *testing.T) { testNamespaces(t, r, aggregator) })
	t.Run("metrics and OpenAPI", func(t *testing.T) {
		for _, path := range []string{"/metrics", "/openapi/v2", "/openapi/v3", "/readyz?verbose", "/apis"} {
			if code, body := sendRequest(t, aggregator, http.MethodGet, r.url+path, makeAdminHeaders(), ""); code != http.StatusOK {
				t.Errorf("%s: %d %s", path, code, body)
			}
		}
	})
	t.Run("an emptied list of names lets no client in", func(t *testing.T) {
		k.changeCluster(func() { k.allowedNames = nil })
		waitUntil(t, "headers are believed no more", func() bool {
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
	t.Run("certificate reload", func(t *testing.T) {
		r.rotateCertificate(t, "second")
		waitUntil(t, "the second certificate is shown", func() bool {
			connection, err := tls.Dial("tcp", strings.TrimPrefix(r.url, "https://"), &tls.Config{InsecureSkipVerify: true}) // the test reads the name
			if err != nil {
				return false
			}
			defer connection.Close()
			return connection.ConnectionState().PeerCertificates[0].Subject.CommonName == "second"
		})
	})
	t.Run("not ready before it closes", func(t *testing.T) {
		near := r.makeClient(t, k.proxies, allowedProxy)
		near.Transport.(*http.Transport).ForceAttemptHTTP2 = true
		if code, body := sendRequest(t, near, http.MethodGet, r.url+zonesPath, makeAdminHeaders(), ""); code != http.StatusOK {
			t.Fatalf("%d %s", code, body)
		}
		ended := make(chan error, 1)
		go func() { ended <- r.stop() }()
		waitUntil(t, "not ready", func() bool {
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
		answer, err := client.Do(request)
		if err != nil {
			t.Fatal(err)
		}
		answer.Body.Close()
		if answer.StatusCode != http.StatusOK {
			t.Fatalf("on the connection from before: %s", answer.Status)
		}
	}
}

// Hardening, attacks 41 to 43; 401 and 403 as kube-apiserver answers.
func testEntrance(t *testing.T, r *running) {
	k := r.kube
	foreign := newAuthority(t, "foreign")
	bearer := func(token string) map[string]string { return map[string]string{"Authorization": "Bearer " + token} }
	for name, c := range map[string]struct {
		client  *http.Client
		headers map[string]string
		code    int
		want    string
	}{
		"headers, no certificate": {r.makeClient(t, nil, ""), makeAdminHeaders(), http.StatusUnauthorized, ""},
		"headers, front proxy":    {r.makeClient(t, k.proxies, allowedProxy), makeAdminHeaders(), http.StatusOK, ""},
		"headers of a user who may nothing": {r.makeClient(t, k.proxies, allowedProxy), map[string]string{"X-Remote-User": "bob"},
			http.StatusForbidden, `"bob\"`},
		"headers, a name that is not allowed": {r.makeClient(t, k.proxies, "somebody"), makeAdminHeaders(),
			http.StatusUnauthorized, ""},
		"headers, a certificate of the clients' CA": {r.makeClient(t, k.clients, "bob"), makeAdminHeaders(), http.StatusForbidden,
			`"bob\"`},
		"headers, the allowed name of the clients' CA": {r.makeClient(t, k.clients, allowedProxy), makeAdminHeaders(), http.StatusForbidden,
			allowedProxy},
		"headers, the allowed name of a foreign CA": {r.makeClient(t, foreign, allowedProxy), makeAdminHeaders(),
			http.StatusUnauthorized, ""},
		"front proxy without headers":     {r.makeClient(t, k.proxies, allowedProxy), nil, http.StatusUnauthorized, ""},
		"certificate of a user who may":   {r.makeClient(t, k.clients, "alice"), nil, http.StatusOK, ""},
		"certificate of system:masters":   {r.makeClient(t, k.clients, "root", "system:masters"), nil, http.StatusOK, ""},
		"certificate of a foreign CA":     {r.makeClient(t, foreign, "alice"), nil, http.StatusUnauthorized, ""},
		"token of a user who may":         {r.makeClient(t, nil, ""), bearer("alices"), http.StatusOK, ""},
		"token of a user who may nothing": {r.makeClient(t, nil, ""), bearer("bobs"), http.StatusForbidden, `"bob\"`},
		"token of no user":                {r.makeClient(t, nil, ""), bearer("nobodys"), http.StatusUnauthorized, ""},
		"token and headers of another": {r.makeClient(t, nil, ""), map[string]string{"Authorization": "Bearer bobs",
			"X-Remote-User": "alice"}, http.StatusForbidden, `"bob\"`},
		"anonymous": {r.makeClient(t, nil, ""), nil, http.StatusUnauthorized, ""},
		"anonymous that impersonates": {r.makeClient(t, nil, ""), map[string]string{"Impersonate-User": "alice"},
			http.StatusUnauthorized, ""},
		"a user without rights that impersonates": {r.makeClient(t, nil, ""), map[string]string{"Authorization": "Bearer bobs",
			"Impersonate-User": "alice"}, http.StatusForbidden, "impersonate"},
	} {
		t.Run(name, func(t *testing.T) {
			if code, body := sendRequest(t, c.client, http.MethodGet, r.url+zonesPath, c.headers, ""); code != c.code ||
				!strings.Contains(body, c.want) {
				t.Errorf("%d, want %d that says %q: %s", code, c.code, c.want, body)
			}
		})
	}
}

// Hardening, attack 44: every path in the server's index, and some others.
func testAnonymous(t *testing.T, r *running, aggregator *http.Client) {
	_, body := sendRequest(t, aggregator, http.MethodGet, r.url+"/", makeAdminHeaders(), "")
	var root struct{ Paths []string }
	if err := json.Unmarshal([]byte(body), &root); err != nil || len(root.Paths) < 20 {
		t.Fatalf("paths: %v %s", err, body)
	}
	paths := append(root.Paths, "/", "/api", "/logs/", "/debug/flags/v", "/readyz/", "/readyz/x", "/healthz/../metrics", "//readyz", "/READYZ", zonesPath, "/apis/kubi.zone/v1alpha1/zones?watch=1")
	open := map[string]bool{"/healthz": true, "/livez": true, "/readyz": true}
	anyone := r.makeClient(t, nil, "")
	anyone.CheckRedirect = func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }
	for _, path := range paths {
		want := http.StatusUnauthorized
		if open[path] {
			want = http.StatusOK
		}
		if code, body := sendRequest(t, anyone, http.MethodGet, r.url+path, nil, ""); code != want {
			t.Errorf("%s: %d, want %d: %.200s", path, code, want, body)
		}
	}
	for _, path := range []string{"/readyz", "/livez"} {
		if code, body := sendRequest(t, anyone, http.MethodPost, r.url+path, nil, ""); code == http.StatusCreated {
			t.Errorf("POST %s: %d %s", path, code, body)
		}
	}
}

// NamespaceLifecycle, and the deletion of objects of a deleted namespace; S8.7.
func testNamespaces(t *testing.T, r *running, aggregator *http.Client) {
	zone := func(method, namespace, name, query string) (int, string) {
		path, body := strings.Replace(zonesPath, "/a/", "/"+namespace+"/", 1), ""
		if method == http.MethodPost {
			body = strings.ReplaceAll(zoneBody, "NAME", name)
		} else {
			path += "/" + name
		}
		return sendRequest(t, aggregator, method, r.url+path+query, makeAdminHeaders(), body)
	}
	if code, body := zone(http.MethodPost, "nowhere", "one", ""); code != http.StatusNotFound {
		t.Errorf("create in no namespace: %d %s", code, body)
	}
	if code, body := zone(http.MethodPost, "a", "dry", "?dryRun=All"); code != http.StatusCreated || !strings.Contains(body, `"serial"`) {
		t.Errorf("S7.3: %d %s", code, body)
	}
	for _, name := range []string{"one", "two"} {
		if code, body := zone(http.MethodPost, "a", name, ""); code != http.StatusCreated {
			t.Fatalf("create: %d %s", code, body)
		}
	}
	// A garbage collector exists to remove the finalizer.
	if code, body := zone(http.MethodDelete, "a", "two", "?propagationPolicy=Foreground"); code != http.StatusOK || !strings.Contains(body, "foregroundDeletion") {
		t.Errorf("S8.7: %d %s", code, body)
	}
	r.kube.changeCluster(func() { delete(r.kube.namespaces, "a") })
	if code, body := zone(http.MethodDelete, "a", "one", ""); code != http.StatusOK {
		t.Errorf("delete where the namespace is gone: %d %s", code, body)
	}
	waitUntil(t, "the namespace is known to be gone", func() bool {
		code, _ := zone(http.MethodPost, "a", "three", "?dryRun=All")
		return code == http.StatusNotFound
	})
	r.kube.changeCluster(func() { r.kube.namespaces["a"] = true })
}

// A7: a missing RBAC rule is named, and retried.
func TestRun_namesThePermissionItLacks(t *testing.T) {
	k := newKube(t)
	k.withheld = "mutatingadmissionpolicybindings"
	r := startServer(t, k)
	anyone, alice := r.makeClient(t, nil, ""), map[string]string{"Authorization": "Bearer alices"}
	waitUntil(t, "named", func() bool {
		_, body := sendRequest(t, anyone, http.MethodGet, r.url+"/readyz/permissions", alice, "")
		return strings.Contains(body, `--kubeconfig lacks the RBAC rule {apiGroups: ["admissionregistration.k8s.io"], resources: ["mutatingadmissionpolicybindings"], verbs: [list]}`)
	})
	if code, body := sendRequest(t, anyone, http.MethodGet, r.url+"/readyz", nil, ""); code == http.StatusOK ||
		!strings.Contains(body, "[-]permissions failed") {
		t.Errorf("/readyz: %d %s", code, body)
	}
	if code, body := sendRequest(t, anyone, http.MethodGet, r.url+"/livez", nil, ""); code != http.StatusOK {
		t.Errorf("/livez: %d %s", code, body)
	}
	k.changeCluster(func() { k.withheld = "" })
	r.waitReady(t)
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
			if err == nil {
				t.Fatal("it ran")
			}
			for _, want := range c.want {
				if !strings.Contains(err.Error(), want) {
					t.Errorf("%q does not say %q", err, want)
				}
			}
		})
	}
}

func TestCommand_saysWhatIsWrong(t *testing.T) {
	command := NewCommand()
	var out bytes.Buffer
	command.SetOut(&out)
	command.SetErr(&out)
	command.SilenceUsage, command.SilenceErrors = true, true
	command.SetArgs([]string{"--secure-port", "0", "--requestheader-client-ca-file", "ca.crt"})
	err := command.ExecuteContext(t.Context())
	if err == nil {
		t.Fatal("it ran")
	}
	for _, want := range []string{"--etcd-servers", "--secure-port", "--requestheader-allowed-names"} {
		if !strings.Contains(err.Error(), want) {
			t.Errorf("%q does not say %q", err, want)
		}
	}
}
