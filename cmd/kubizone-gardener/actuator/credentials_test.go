// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

package actuator

import (
	"bytes"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	gardencorev1beta1 "github.com/gardener/gardener/pkg/apis/core/v1beta1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/rest"
)

func makeKubeconfig(cluster, user string) string {
	return "{apiVersion: v1, kind: Config, current-context: c, contexts: [{name: c, context: {cluster: c, user: u}}], clusters: [{name: c, cluster: {" + cluster + "}}], users: [{name: u, user: {" + user + "}}]}"
}

const (
	server = "server: 'https://dns.example.org:6443'"
	token  = "token: abc"
)

func newSecret(data map[string]string) *corev1.Secret {
	secret := &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: "shoot--foo--bar", Name: "dnsrecord-bar-external"}, Data: map[string][]byte{}}
	for key, value := range data {
		secret.Data[key] = []byte(value)
	}
	return secret
}

func TestReadSecret_bothNamings(t *testing.T) {
	a := &actuator{options: Options{Local: &rest.Config{Host: "https://local"}, LocalNamespaces: []string{"dns"}}}
	given := makeKubeconfig(server, token)
	for _, c := range []struct {
		name string
		data map[string]string
		want string // host, namespace, view
	}{
		{"camel case", map[string]string{"kubeconfig": given, "namespace": "gardener", "view": "inside"}, "https://dns.example.org:6443 gardener inside"},
		{"upper case", map[string]string{"KUBIZONE_KUBECONFIG": given, "KUBIZONE_NAMESPACE": "gardener", "KUBIZONE_VIEW": "inside"}, "https://dns.example.org:6443 gardener inside"},
		{"both, which agree", map[string]string{"kubeconfig": given, "namespace": "gardener", "KUBIZONE_NAMESPACE": "gardener\n"}, "https://dns.example.org:6443 gardener "},
		{"a namespace of this cluster", map[string]string{"namespace": "dns"}, "https://local dns "},
	} {
		t.Run(c.name, func(t *testing.T) {
			to, config, err := a.readSecret(newSecret(c.data))
			if err != nil {
				t.Fatal(err)
			}
			if got := config.Host + " " + to.namespace + " " + to.view; got != c.want {
				t.Errorf("%q, want %q", got, c.want)
			}
		})
	}
}

func TestReadSecret_refusesWhatIsIncomplete(t *testing.T) {
	given := makeKubeconfig(server, token)
	for _, c := range []struct {
		name string
		data map[string]string
		says string
	}{
		{"nothing", nil, "namespace or KUBIZONE_NAMESPACE"},
		{"no namespace", map[string]string{"kubeconfig": given}, "namespace or KUBIZONE_NAMESPACE"},
		{"two namespaces", map[string]string{"kubeconfig": given, "namespace": "a", "KUBIZONE_NAMESPACE": "b"}, "differ"},
		{"a namespace of this cluster that is not allowed", map[string]string{"namespace": "kube-system"}, "--local-namespaces"},
		{"no kubeconfig", map[string]string{"kubeconfig": "abc: [", "namespace": "a"}, "is no kubeconfig"},
	} {
		t.Run(c.name, func(t *testing.T) {
			a := &actuator{options: Options{Local: &rest.Config{}, LocalNamespaces: []string{"dns"}}}
			_, _, err := a.readSecret(newSecret(c.data))
			if code := codesOf(t, err); code != gardencorev1beta1.ErrorConfigurationProblem || !strings.Contains(err.Error(), c.says) {
				t.Errorf("%s: %v; want %q", code, err, c.says)
			}
		})
	}
	if _, _, err := (&actuator{options: Options{LocalNamespaces: []string{"dns"}}}).readSecret(newSecret(map[string]string{"namespace": "dns"})); err == nil {
		t.Error("a namespace of this cluster is taken, though there is no Kubizone in it")
	}
}

// Projects bring their own Secrets, so a kubeconfig may attack the controller.
func TestReadKubeconfig_executesAndReadsNothing(t *testing.T) {
	file := filepath.Join(t.TempDir(), "secret")
	if err := os.WriteFile(file, []byte("of the controller"), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct{ field, cluster, user string }{
		{"exec", server, token + ", exec: {apiVersion: client.authentication.k8s.io/v1, command: /bin/sh, interactiveMode: Never}"},
		{"auth-provider", server, token + ", auth-provider: {name: gcp}"},
		{"tokenFile", server, "tokenFile: " + file},
		{"client-certificate", server, token + ", client-certificate: " + file},
		{"client-key", server, token + ", client-key: " + file},
		{"certificate-authority", server + ", certificate-authority: " + file, token},
		{"proxy-url", server + ", proxy-url: 'http://proxy.example.org'", token},
		{"insecure-skip-tls-verify", server + ", insecure-skip-tls-verify: true", token},
		{"as", server, token + ", as: admin"},
		{"as", server, token + ", as-groups: ['system:masters']"},
		{"as", server, token + ", as-uid: '1'"},
		{"as", server, token + ", as-user-extra: {scopes: [all]}"},
		{"https://", "server: 'http://dns.example.org'", token},
		{"https://", "server: ''", token},
		{"neither", server, "username: a"},
	} {
		t.Run(c.field, func(t *testing.T) {
			_, err := readKubeconfig([]byte(makeKubeconfig(c.cluster, c.user)))
			if err == nil || !strings.Contains(" "+err.Error()+" ", " "+c.field) {
				t.Errorf("%v; want a refusal that names %s", err, c.field)
			}
		})
	}
	for name, text := range map[string]string{
		"no current-context": "{apiVersion: v1, kind: Config}",
		"too long":           "{apiVersion: v1, kind: Config, users: [" + strings.Repeat("{},", 300_000) + "]}",
		"no cluster":         "{apiVersion: v1, kind: Config, current-context: c, contexts: [{name: c, context: {cluster: c, user: u}}]}",
	} {
		if _, err := readKubeconfig([]byte(text)); err == nil || name == "too long" && !strings.Contains(err.Error(), "octets") {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// Users of the project read the error in the DNSRecord's status.
func TestReadKubeconfig_errorsHoldNoSecret(t *testing.T) {
	for _, text := range []string{"apiVersion: v1\nkind: Config\nusers: s3cr3t", "s3cr3t",
		makeKubeconfig("server: 'https://s3cr3t.example.org', proxy-url: 'http://s3cr3t'", "token: s3cr3t"),
		makeKubeconfig("server: 's3cr3t'", "token: s3cr3t")} {
		_, err := readKubeconfig([]byte(text))
		if err == nil || strings.Contains(err.Error(), "s3cr3t") {
			t.Errorf("%q: %v", text, err)
		}
	}
}

// A project's Secret may name a server that answers anything.
func TestNewClient_isNotHeldSentOnOrFilled(t *testing.T) {
	var elsewhere atomic.Int32
	other := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { elsewhere.Add(1) }))
	defer other.Close()
	for _, c := range []struct {
		name   string
		answer http.HandlerFunc
		want   gardencorev1beta1.ErrorCode
	}{
		{"asks to wait", func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Retry-After", "3600")
			w.WriteHeader(http.StatusTooManyRequests)
		}, gardencorev1beta1.ErrorInfraRateLimitsExceeded},
		{"fails, and asks to wait", func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Retry-After", "3600")
			w.WriteHeader(http.StatusServiceUnavailable)
		}, gardencorev1beta1.ErrorRetryableInfraDependencies},
		{"leads elsewhere", func(w http.ResponseWriter, r *http.Request) {
			http.Redirect(w, r, other.URL, http.StatusTemporaryRedirect)
		}, gardencorev1beta1.ErrorConfigurationProblem},
		{"does not end", func(w http.ResponseWriter, r *http.Request) {
			for part := bytes.Repeat([]byte(" "), 1<<16); r.Context().Err() == nil; {
				if _, err := w.Write(part); err != nil {
					return
				}
			}
		}, gardencorev1beta1.ErrorRetryableInfraDependencies},
	} {
		t.Run(c.name, func(t *testing.T) {
			server := httptest.NewServer(c.answer)
			defer server.Close()
			a := &actuator{options: NewOptions()}
			client, err := a.newClient(&rest.Config{Host: server.URL})
			if err != nil {
				t.Fatal(err)
			}
			started := time.Now()
			_, err = client.KubizoneV1alpha1().Records("gardener").Get(t.Context(), "api", metav1.GetOptions{})
			if took := time.Since(started); took > a.options.CallTimeout/2 {
				t.Errorf("it took %s", took)
			}
			if err == nil || codeOf(err) != c.want {
				t.Errorf("%v: code %s, want %s", err, codeOf(err), c.want)
			}
		})
	}
	if n := elsewhere.Load(); n > 0 {
		t.Errorf("%d requests were sent on", n)
	}
}
