// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

package cluster

import (
	"bufio"
	"context"
	"crypto/tls"
	"crypto/x509"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/netip"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	authenticationv1 "k8s.io/api/authentication/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"kubi.zone/kubizone/test/must"
	"kubi.zone/kubizone/test/rig"
	"kubi.zone/kubizone/test/rig/kuberig"
)

type answer struct {
	status int
	header http.Header
	body   string
}

// sendRaw has no HTTP client, which would correct the request: method and target, then header lines.
func (c *cluster) sendRaw(ctx context.Context, at netip.AddrPort, certificate *tls.Certificate, request string, headers ...string) (answer,
	error) {
	roots := x509.NewCertPool()
	roots.AppendCertsFromPEM(c.kube.ClusterCA.PEM)
	config := &tls.Config{RootCAs: roots, NextProtos: []string{"http/1.1"}}
	if certificate != nil {
		// An attacker ignores the server's list of authorities.
		config.GetClientCertificate = func(*tls.CertificateRequestInfo) (*tls.Certificate, error) { return certificate, nil }
	}
	connection, err := (&tls.Dialer{Config: config}).DialContext(ctx, "tcp", at.String())
	if err != nil {
		return answer{}, err
	}
	defer connection.Close()
	if deadline, ok := ctx.Deadline(); ok {
		connection.SetDeadline(deadline)
	}
	lines := append([]string{request + " HTTP/1.1", "Host: " + at.String(), "Accept: application/json"}, headers...)
	if !slices.ContainsFunc(headers, func(line string) bool { return strings.HasPrefix(line, "Connection:") }) {
		lines = append(lines, "Connection: close")
	}
	if _, err := io.WriteString(connection, strings.Join(lines, "\r\n")+"\r\n\r\n"); err != nil {
		return answer{}, err
	}
	response, err := http.ReadResponse(bufio.NewReader(connection), nil)
	if err != nil {
		return answer{}, err
	}
	defer response.Body.Close()
	a := answer{status: response.StatusCode, header: response.Header}
	if a.status == http.StatusSwitchingProtocols {
		return a, nil // no HTTP follows
	}
	body, err := io.ReadAll(response.Body)
	a.body = string(body)
	return a, err
}

type callers struct {
	tenant      *tls.Certificate // of the cluster, a user without rights
	namesake    *tls.Certificate // of the cluster, with the common name of the front proxy
	underling   *tls.Certificate // of the front proxy's authority, with another common name
	odd         *tls.Certificate // the same with the right name in capitals
	stranger    *tls.Certificate // of an unknown authority, with the right name
	admin       *tls.Certificate // of the cluster, system:masters
	front       *tls.Certificate // of kube-apiserver
	tenantsName string
}

func (c *cluster) makeCallers(t *testing.T, tenant string) callers {
	t.Helper()
	unknown := must.Get(rig.NewAuthority("unknown"))(t)
	client := func(by *rig.Authority, name string, groups ...string) *tls.Certificate {
		t.Helper()
		certificate := must.Get(must.Get(by.Client(name, groups...))(t).TLS())(t)
		return &certificate
	}
	front := must.Get(c.kube.FrontProxy())(t)
	return callers{
		tenant:    client(c.kube.ClusterCA, tenant, "tenants"),
		namesake:  client(c.kube.ClusterCA, kuberig.FrontProxyName),
		underling: client(c.kube.FrontProxyCA, "somebody-else"),
		odd:       client(c.kube.FrontProxyCA, strings.ToUpper(kuberig.FrontProxyName)),
		stranger:  client(unknown, kuberig.FrontProxyName, "system:masters"),
		admin:     client(c.kube.ClusterCA, "admin", "system:masters"),
		front:     &front, tenantsName: tenant,
	}
}

var forged = []string{"X-Remote-User: admin", "X-Remote-Group: system:masters", "X-Remote-Uid: 0", "X-Remote-Extra-Scopes: all"}

// A request's user comes from a certificate or token, or from the headers of kube-apiserver with its own certificate.
// Headers of other clients never change the user (attacks 41, 42, 43).
func TestIdentity_headersOfOthersAreNotBelieved(t *testing.T) {
	c := requireCluster(t)
	ctx := within(t, waitTimeout)
	who := c.makeCallers(t, "mallory")
	const records = "GET /apis/kubi.zone/v1alpha1/namespaces/kube-system/records"
	direct, aggregated := c.server.Addr, c.kube.Addr
	asMallory := `User \"mallory\" cannot list`
	masters := []string{"Impersonate-User: admin", "Impersonate-Group: system:masters"}

	for _, attack := range []struct {
		name    string
		at      netip.AddrPort
		with    *tls.Certificate
		headers []string
		want    int
		text    string
	}{
		// The right callers get an answer.
		{"a master is let in", direct, who.admin, nil, 200, "RecordList"},
		{"the front proxy speaks for a master", direct, who.front, forged[:2], 200, "RecordList"},

		{"41 headers without a certificate", direct, nil, forged, 401, "Unauthorized"},
		{"41 headers with a token that is none", direct, nil, append([]string{"Authorization: Bearer no.such.token"}, forged...), 401, "Unauthorized"},
		{"41 a certificate of an unknown authority", direct, who.stranger, forged, 401, "Unauthorized"},
		{"42 headers with a user's certificate", direct, who.tenant, forged, 403, asMallory},
		{"42 a user called like the front proxy", direct, who.namesake, forged, 403, `User \"front-proxy-client\" cannot list`},
		{"42 the right authority, another name", direct, who.underling, forged, 401, "Unauthorized"},
		{"42 the right authority, the name in capitals", direct, who.odd, forged, 401, "Unauthorized"},
		{"42 the right authority as a user of the cluster", direct, who.underling, nil, 401, "Unauthorized"},
		{"42 the front proxy without a user", direct, who.front, forged[1:], 401, "Unauthorized"},
		{"42 the front proxy with an empty user", direct, who.front, append([]string{"X-Remote-User:"}, forged[1:]...), 401, "Unauthorized"},
		{"43 odd case", direct, who.tenant, []string{"x-rEMOTE-uSER: admin", "X-REMOTE-GROUP: system:masters"}, 403, asMallory},
		{"43 underscores", direct, who.tenant, []string{"X_Remote_User: admin", "X_Remote_Group: system:masters"}, 403, asMallory},
		{"43 twice", direct, who.tenant, []string{"X-Remote-User: mallory", "X-Remote-User: admin", "X-Remote-Group: tenants", "X-Remote-Group: system:masters"}, 403, asMallory},
		{"43 impersonation without the right", direct, who.tenant, masters, 403, `User \"mallory\" cannot impersonate`},
		{"43 impersonation in odd case", direct, who.tenant, []string{"impersonate-USER: admin", "IMPERSONATE-group: system:masters"}, 403, `User \"mallory\" cannot impersonate`},
		{"43 impersonation without anybody", direct, nil, masters, 401, "Unauthorized"},
		{"43 impersonation for whom the front proxy speaks", direct, who.front, append([]string{"X-Remote-User: mallory"}, masters...), 403, `User \"mallory\" cannot impersonate`},

		{"43 through kube-apiserver", aggregated, who.tenant, forged, 403, asMallory},
		{"43 through kube-apiserver, odd case", aggregated, who.tenant, []string{"x-rEMOTE-uSER: admin", "X-REMOTE-GROUP: system:masters"}, 403, asMallory},
		{"43 through kube-apiserver, as hop-by-hop headers", aggregated, who.tenant, append([]string{"Connection: close, X-Remote-User, X-Remote-Group"}, forged...), 403, asMallory},
		{"43 through kube-apiserver, impersonation", aggregated, who.tenant, masters, 403, `User \"mallory\" cannot impersonate`},
		{"43 through kube-apiserver, nobody", aggregated, nil, forged, 403, `User \"system:anonymous\" cannot list`},
	} {
		got, err := c.sendRaw(ctx, attack.at, attack.with, records, attack.headers...)
		if err != nil || got.status != attack.want || !strings.Contains(got.body, attack.text) {
			t.Errorf("%s: %d %s, %v; want %d %s", attack.name, got.status, got.body, err, attack.want, attack.text)
		}
	}

	// Groups without a user are refused before authorization. The form is upstream's choice, but never a success.
	if got, err := c.sendRaw(ctx, direct, who.tenant, records, "Impersonate-Group: system:masters"); err != nil || got.status < 400 {
		t.Errorf("43 impersonation of a group alone: %d %s, %v", got.status, got.body, err)
	}
}

// Tokens are judged by kube-apiserver, which also returns the user. Refused with 401 are a token for another audience,
// with another signature, cut, or of a deleted account (attack 41).
func TestIdentity_tokensAreKubeAPIServersToJudge(t *testing.T) {
	c := requireCluster(t)
	ctx := within(t, waitTimeout)
	typed, _ := makeClients(t, c.kube.Admin())
	must.Get(c.kube.ServiceAccount(ctx, "tokens", "robot"))(t)
	accounts := typed.CoreV1().ServiceAccounts("tokens")
	token := func(audiences ...string) string {
		t.Helper()
		request := &authenticationv1.TokenRequest{Spec: authenticationv1.TokenRequestSpec{Audiences: audiences}}
		return must.Get(accounts.CreateToken(ctx, "robot", request, metav1.CreateOptions{}))(t).Status.Token
	}
	const records = "GET /apis/kubi.zone/v1alpha1/namespaces/tokens/records"
	ask := func(token string) answer {
		t.Helper()
		return must.Get(c.sendRaw(ctx, c.server.Addr, nil, records, "Authorization: Bearer "+token))(t)
	}
	good := token()
	if got := ask(good); got.status != 403 || !strings.Contains(got.body, `User \"system:serviceaccount:tokens:robot\" cannot list`) {
		t.Errorf("a token: %d %s", got.status, got.body)
	}
	for what, text := range map[string]string{
		"for another audience": token("https://elsewhere.example"), "with another signature": good[:len(good)-8] + "AAAAAAAA", "cut": good[:len(good)/2],
	} {
		if got := ask(text); got.status != 401 {
			t.Errorf("a token %s: %d %s", what, got.status, got.body)
		}
	}
	unused := token()
	must.Succeed(t, accounts.Delete(ctx, "robot", metav1.DeleteOptions{}))
	// Both servers cache a valid token for a moment.
	for got := ask(unused); got.status != 401; got = ask(unused) {
		if ctx.Err() != nil {
			t.Fatalf("a token of an account that is gone: %d %s", got.status, got.body)
		}
		time.Sleep(100 * time.Millisecond)
	}
}

func isHealth(path string) bool {
	return slices.Contains([]string{"/healthz", "/livez", "/readyz", "/readyz/permissions"}, path)
}

// Without an identity, a client gets answers only from the health paths. /readyz/permissions names the RBAC rule that
// the server lacks: without the rule of tokenreviews no client has an identity. A tenant without rights reads
// discovery, which RBAC grants to every authenticated user, but neither metrics nor debugging (attack 44).
func TestIdentity_everyPathAsksWho(t *testing.T) {
	c := requireCluster(t)
	ctx := within(t, waitTimeout)
	who := c.makeCallers(t, "mallory")
	index, err := c.sendRaw(ctx, c.server.Addr, who.admin, "GET /")
	if err != nil || index.status != http.StatusOK {
		t.Fatalf("%d %s, %v", index.status, index.body, err)
	}
	var registered struct{ Paths []string }
	if err := json.Unmarshal([]byte(index.body), &registered); err != nil || len(registered.Paths) < 20 {
		t.Fatalf("index: %d paths, %v", len(registered.Paths), err)
	}
	const group = "/apis/kubi.zone/v1alpha1"
	paths := append(registered.Paths, "/", "/api", "/api/v1", "/api/v1/namespaces", "/api/v1/namespaces/default", "/version/", "/openapi/v2", "/openapi/v3", "/logs", "/logs/",
		"/debug", "/debug/pprof", "/debug/pprof/", "/debug/pprof/profile", "/debug/pprof/symbol", "/debug/flags", "/debug/flags/v", "/debug/api_priority_and_fairness/dump_requests",
		"/metrics", "/metrics/slis", "/metrics/resources", "/statusz", "/flagz", "/swagger.json", "/swaggerapi", "/ui", "/favicon.ico", "/.well-known/openid-configuration",
		"/apis/", "/apis/kubi.zone/", group+"/", group+"/zones", group+"/records", group+"/watch/records", group+"/namespaces/default/records",
		group+"/namespaces/default/zones/x", group+"/namespaces/default/zones/x/entries", group+"/namespaces/default/zones/x/changes", group+"/namespaces/default/zones/x/status",
		group+"/namespaces/default/records/x/status", "/livez/ping", "/readyz/ping", "/healthz/etcd", "/healthzz", "/readyz/")
	var open []string
	for _, path := range paths {
		got, err := c.sendRaw(ctx, c.server.Addr, nil, "GET "+path)
		if err != nil {
			t.Errorf("%s: %v", path, err)
			continue
		}
		if got.status >= 300 && got.status < 400 {
			t.Errorf("%s redirects: %d to %s", path, got.status, got.header.Get("Location"))
		}
		if got.status != http.StatusUnauthorized && got.status != http.StatusForbidden {
			open = append(open, path)
			if !isHealth(path) {
				t.Errorf("%s answers nobody: %d %.200s", path, got.status, got.body)
			}
		}
	}
	if len(open) == 0 {
		t.Error("a prober without an identity gets no answer")
	}
	for _, path := range paths {
		for _, method := range []string{"POST", "PUT", "PATCH", "DELETE", "OPTIONS", "HEAD", "CONNECT", "TRACE"} {
			if isHealth(path) {
				continue
			}
			got, err := c.sendRaw(ctx, c.server.Addr, nil, method+" "+path)
			if err == nil && got.status != http.StatusUnauthorized && got.status != http.StatusForbidden && got.status != http.StatusBadRequest && got.status != http.StatusMethodNotAllowed {
				t.Errorf("%s %s answers nobody: %d %.200s", method, path, got.status, got.body)
			}
		}
	}
	for _, path := range paths {
		discovery := path == "/version" || path == "/version/" || isHealth(path) || strings.HasPrefix(path, "/openapi") || path == "/api" || path == "/apis" || path == "/apis/" ||
			groupOrVersion.MatchString(path) ||
			// RBAC's discovery role includes these and everything below.
			strings.HasPrefix(path, "/api/") && !strings.Contains(path, "namespaces")
		got, err := c.sendRaw(ctx, c.server.Addr, who.tenant, "GET "+path)
		if err != nil || !discovery && got.status != http.StatusForbidden {
			t.Errorf("%s answers who has no right: %d %.200s, %v", path, got.status, got.body, err)
		}
	}
}

var groupOrVersion = regexp.MustCompile(`^/apis/[^/]+(/[^/]+)?/?$`)

// Neither an upgrade nor an odd path bypasses authentication and authorization, and no answer is a redirect, which
// kube-apiserver might follow with its own certificate (attack 45).
func TestIdentity_pathsAndUpgradesAreNoWayRound(t *testing.T) {
	c := requireCluster(t)
	ctx := within(t, waitTimeout)
	who := c.makeCallers(t, "walker-user")
	must.Get(c.makeTenant(ctx, "walker", "walker-user", "walker.example."))(t)
	admin, err := c.sendRaw(ctx, c.server.Addr, who.admin, "GET /apis/kubi.zone/v1alpha1/namespaces/kube-system/records")
	if err != nil || admin.status != http.StatusOK {
		t.Fatalf("%d %s, %v", admin.status, admin.body, err)
	}
	const group = "/apis/kubi.zone/v1alpha1"
	upgrade := func(to string) []string {
		return []string{"Connection: Upgrade", "Upgrade: " + to, "Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==", "Sec-WebSocket-Version: 13", "Origin: https://evil.example"}
	}
	foreign := group + "/namespaces/kube-system/records"
	for _, attack := range []struct {
		target  string
		headers []string
	}{
		{"GET " + foreign, upgrade("websocket")},
		{"GET " + foreign + "?watch=true", upgrade("websocket")},
		{"GET " + group + "/watch/namespaces/kube-system/records", upgrade("websocket")},
		{"GET " + foreign, upgrade("SPDY/3.1")},
		{"POST " + foreign + "/x/exec", upgrade("SPDY/3.1")},
		{"GET " + foreign, []string{"Connection: Upgrade, HTTP2-Settings", "Upgrade: h2c", "HTTP2-Settings: AAMAAABkAARAAAAAAAIAAAAA"}},
		{"GET https://" + c.server.Addr.String() + foreign, nil},
		{"GET http://evil.example" + foreign, nil},
		{"GET https://healthz" + foreign, nil},
		{"GET //" + strings.TrimPrefix(foreign, "/"), nil},
		{"GET /" + foreign, nil},
		{"GET /healthz/.." + foreign, nil},
		{"GET /healthz/../metrics", nil},
		{"GET /healthz%2f..%2fmetrics", nil},
		{"GET /healthz/%2e%2e/metrics", nil},
		{"GET /readyz/../../metrics", nil},
		{"GET /healthz;/../metrics", nil},
		{"GET /healthz?/../metrics/..", upgrade("websocket")},
		{"GET /metrics/healthz", nil},
		{"GET /metrics?/healthz", nil},
		{"GET /metrics#/healthz", nil},
		{"GET \\metrics", nil},
		{"GET " + group + "/namespaces/walker/../kube-system/records", nil},
		{"GET " + group + "/namespaces/walker/..%2fkube-system/records", nil},
		{"GET " + group + "/namespaces/walker%2f..%2fkube-system/records", nil},
		{"GET " + group + "/namespaces/walker/records/..", nil},
		{"GET " + group + "/namespaces/walker/records/../../kube-system/records", nil},
		{"GET " + group + "/namespaces/walker/records/%2e%2e%2f%2e%2e%2fkube-system%2frecords", nil},
		{"GET " + group + "/namespaces//records", nil},
		{"GET " + group + "/records", nil},
		{"GET " + group + "/records?namespace=walker", nil},
		{"GET " + group + "/watch/records", nil},
		{"GET " + group + "/proxy/namespaces/walker/records/x", nil},
		{"GET " + group + "/namespaces/walker/zones/../../kube-system/zones/x/entries", nil},
		{"GET /apis/KUBI.ZONE/v1alpha1/records", nil},
		{"GET /apis/kubi.zone/v1alpha1/../v1alpha1/records", nil},
	} {
		for name, certificate := range map[string]*tls.Certificate{"nobody": nil, "a tenant": who.tenant} {
			got, err := c.sendRaw(ctx, c.server.Addr, certificate, attack.target, attack.headers...)
			if err != nil {
				t.Errorf("%s asks %s: %v", name, attack.target, err)
				continue
			}
			healthy := strings.HasPrefix(attack.target, "GET /healthz?")
			if got.status < 400 && !healthy || got.status >= 100 && got.status < 200 || got.status >= 300 && got.status < 400 {
				t.Errorf("%s asks %s: %d %s %.300s", name, attack.target, got.status, got.header.Get("Location"), got.body)
			}
			if strings.Contains(got.body, "# HELP") || strings.Contains(got.body, `"kind":"RecordList"`) {
				t.Errorf("%s asks %s and reads %.300s", name, attack.target, got.body)
			}
		}
	}

	// In its own namespace, a user with the right to watch may watch over WebSocket, as upstream.
	got, err := c.sendRaw(ctx, c.server.Addr, who.tenant, "GET "+group+"/namespaces/walker/records?watch=true", upgrade("websocket")...)
	if err != nil || got.status != http.StatusSwitchingProtocols {
		t.Errorf("own watch: %d %s, %v", got.status, got.body, err)
	}
}

// While kube-apiserver does not answer, no request that needs a review is allowed: every request of a tenant ends,
// none with success (attack 46). Requests of system:masters need no review and succeed.
func TestIdentity_noAnswerIsNoPermission(t *testing.T) {
	c := requireCluster(t)
	ctx := within(t, 4*time.Minute)
	who := c.makeCallers(t, "sleeper-user")
	must.Get(c.makeTenant(ctx, "sleeper", "sleeper-user", "sleeper.example."))(t)
	const records = "GET /apis/kubi.zone/v1alpha1/namespaces/sleeper/records"
	if got, err := c.sendRaw(ctx, c.server.Addr, who.tenant, records); err != nil || got.status != http.StatusOK {
		t.Fatalf("before: %d %s, %v", got.status, got.body, err)
	}
	must.Succeed(t, c.kube.Pause())
	defer c.kube.Resume()
	if got, err := c.sendRaw(ctx, c.server.Addr, who.admin, records); err != nil || got.status != http.StatusOK {
		t.Errorf("a master: %d %s, %v", got.status, got.body, err)
	}
	begin := time.Now()
	var wait sync.WaitGroup
	var mu sync.Mutex
	seen := map[string]int{}
	for i := range 48 {
		wait.Go(func() {
			// Each request is new, so no cached review applies.
			request, certificate, headers := fmt.Sprintf("%s/r%d", records, i), who.tenant, []string(nil)
			switch i % 4 {
			case 1:
				certificate, headers = who.front, []string{fmt.Sprintf("X-Remote-User: sleeper-%d", i)}
			case 2:
				certificate, headers = nil, []string{fmt.Sprintf("Authorization: Bearer token-%d", i)}
			case 3:
				request = strings.Replace(request, "GET", "DELETE", 1)
			}
			got, err := c.sendRaw(ctx, c.server.Addr, certificate, request, headers...)
			mu.Lock()
			defer mu.Unlock()
			seen[fmt.Sprint(got.status)]++
			if err != nil && !errors.Is(err, io.EOF) {
				t.Errorf("%s: no end within the test: %v", request, err)
			} else if got.status != http.StatusUnauthorized && got.status != http.StatusForbidden && got.status != http.StatusTooManyRequests && got.status < 500 {
				// 404 would tell that the record does not exist.
				t.Errorf("%s while nobody can be asked: %d %s", request, got.status, got.body)
			}
		})
	}
	wait.Wait()
	t.Logf("48 requests ended within %s: %v", time.Since(begin).Round(time.Millisecond), seen)
	must.Succeed(t, c.kube.Resume())
	for {
		got, err := c.sendRaw(ctx, c.server.Addr, who.tenant, records)
		if err == nil && got.status == http.StatusOK {
			break
		}
		if ctx.Err() != nil {
			t.Fatalf("afterwards: %d %s, %v", got.status, got.body, err)
		}
		time.Sleep(100 * time.Millisecond)
	}
}

// Without --requestheader-allowed-names the server would accept user headers from every certificate of the front
// proxy's authority, so it refuses to start and names the flag (attack 42).
func TestIdentity_allowedNamesAreRequired(t *testing.T) {
	c := requireCluster(t)
	ctx := within(t, waitTimeout)
	_, err := kuberig.StartServer(ctx, filepath.Join(t.TempDir(), "open"), kuberig.ServerConfig{
		Program: c.kubizone, Kube: c.kube, Kubeconfig: c.kubeconfig, Etcd: c.etcd.Endpoint, Serving: c.serving,
		Args: []string{"--requestheader-client-ca-file", filepath.Join(home, "kube", "front-proxy-ca.crt")},
	})
	if err == nil || !strings.Contains(err.Error(), "--requestheader-allowed-names") {
		t.Errorf("it starts, or does not name the flag: %v", err)
	}
}

// The commands of docs/gitops.md make a kubeconfig for a pipeline. With it Records of the namespace can be written, and
// other namespaces cannot be read.
func TestGitOpsPage_makesAKubeconfig(t *testing.T) {
	c := requireCluster(t)
	page := string(must.Get(os.ReadFile("../../docs/gitops.md"))(t))
	_, section, _ := strings.Cut(page, "\n## A kubeconfig for another cluster or a pipeline\n")
	_, block, _ := strings.Cut(section, "```sh\n")
	block, _, found := strings.Cut(block, "```")
	const server = "https://api.example.org"
	if !found || strings.Count(block, server) != 1 {
		t.Fatalf("docs/gitops.md has no commands with %s", server)
	}
	shell := rig.Shell{Dir: t.TempDir(), Kubeconfig: c.kube.AdminKubeconfig()}
	for name, path := range map[string]string{"kubectl": c.kubectl, "kubectl-kubizone": c.client} {
		must.Succeed(t, os.Symlink(path, filepath.Join(shell.Dir, name)))
	}
	must.Succeed(t, c.kube.Namespace(t.Context(), "team-a"))
	run := func(line string) string {
		t.Helper()
		return must.Get(shell.Run(within(t, waitTimeout), line, ""))(t)
	}
	administrator := shell
	t.Cleanup(func() {
		const line = "kubectl delete -n team-a serviceaccount/writer rolebinding/writer secret/writer"
		_, _ = administrator.Run(context.Background(), line, "")
	})
	// Another test's zone may give every namespace a name.
	out := run("set -e\n" + strings.Replace(block, server, c.kube.Admin().Host, 1))
	if !strings.Contains(out, "No rule of a zone gives") && !strings.Contains(out, "ZONE  ") {
		t.Errorf("the names of the namespace: %s", out)
	}
	shell.Kubeconfig = filepath.Join(shell.Dir, "writer.kubeconfig")
	const record = "{apiVersion: kubi.zone/v1alpha1, kind: Record, metadata: {name: x}, " +
		"spec: {domainName: x.gitops.example., type: A, rdata: 192.0.2.1}}"
	run("kubectl create -f - <<'END'\n" + record + "\nEND")
	run("kubectl delete record x")
	if out, err := shell.Run(within(t, waitTimeout), "kubectl get records -n kube-system", ""); err == nil {
		t.Errorf("it reads another namespace: %s", out)
	}
}
