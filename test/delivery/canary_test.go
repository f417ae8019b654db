// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

package delivery

import (
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"encoding/pem"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"kubi.zone/kubizone/api/kubizone/v1alpha1"
	"kubi.zone/kubizone/cmd/kubizone/delivering"
	"kubi.zone/kubizone/pkg/delivery/webhook/protocol"
	"kubi.zone/kubizone/test/must"
	"kubi.zone/kubizone/test/rig"
)

// Secrets appear in no log at -v=6, no status and no metric, raw or encoded, with an echoing, an absent and a
// refusing provider, and the shipped webhook server.
func TestCanary_secretsAreNowhere(t *testing.T) {
	dir := t.TempDir()
	canary := func(what string) string { return "canary-" + what + "-7d1f0c9b5a3e" }
	secrets := map[string]string{}
	for _, what := range []string{"inline", "hmac", "wrong", "bearer", "update", "transfer", "backend"} {
		secrets[what] = canary(what)
	}
	write := func(path, text string) string {
		t.Helper()
		path = filepath.Join(dir, path)
		must.Succeed(t, os.MkdirAll(filepath.Dir(path), 0o755))
		must.Succeed(t, os.WriteFile(path, []byte(text), 0o600))
		return path
	}
	encoded := func(what string) string { return base64.StdEncoding.EncodeToString([]byte(secrets[what])) }
	for _, tsig := range []string{"update", "transfer"} {
		write("secrets/dns/"+tsig+"/name", tsig+".example")
		write("secrets/dns/"+tsig+"/secret", encoded(tsig))
	}
	write("secrets/dns/hook/key", secrets["wrong"])
	write("secrets/dns/bearer/token", secrets["bearer"])

	// The server echoes each request: as a protocol answer, as an invalid answer, and as a header.
	echo := httptest.NewTLSServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		all, no := fmt.Sprint(r.Header, r.URL), false
		if strings.HasPrefix(r.URL.Path, "/inline/") { // inline secrets are not in requests; a server knows no secrets of other classes
			all += secrets["inline"] + encoded("inline")
		}
		w.Header().Set("X-Echo", all)
		switch r.URL.Path {
		case "/bearer/health":
			w.WriteHeader(http.StatusInternalServerError)
			fmt.Fprint(w, all)
		default:
			w.WriteHeader(http.StatusBadRequest)
			_ = json.NewEncoder(w).Encode(protocol.Response{Success: &no, Error: &protocol.Error{Code: all, Message: all}, Message: all})
		}
	}))
	defer echo.Close()
	vouch := &v1alpha1.WebhookTLS{CABundle: pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: echo.Certificate().Raw})}
	gone := must.Get(rig.FreePort())(t)
	at := must.Get(rig.FreePort())(t)
	path := must.Get(rig.WebhookServer(t.Context(), t.TempDir()))(t)
	server := rig.RunProcess(t, path, "--listen", at.String(), "--hmac-secret-file", write("shared", secrets["hmac"]), "--rfc2136-server", gone.String(),
		"--tsig-key-file", write("backend.key", fmt.Sprintf("key \"backend.example\" {\n\talgorithm hmac-sha256;\n\tsecret \"%s\";\n};\n", encoded("backend"))), "-v=6")

	t.Setenv(delivering.EnvRetryBaseDelay, "1s")
	t.Setenv(delivering.EnvHealthInterval, "2s")
	w := startWorld(t, "-v=6", "--allow-inline-secrets", "--secrets-dir", filepath.Join(dir, "secrets"))
	h := newHook(t)
	w.makeClass("inline", h, func(spec *v1alpha1.DNSClassSpec) {
		spec.Webhook.Server, spec.Webhook.TLS, spec.Webhook.HMACAuth = echo.URL+"/inline", vouch, &v1alpha1.HMACAuth{Secret: secrets["inline"], Algorithm: v1alpha1.HMACAlgorithmSHA256}
	})
	w.makeClass("bearer", h, func(spec *v1alpha1.DNSClassSpec) {
		spec.Webhook.Server, spec.Webhook.TLS, spec.Webhook.BearerTokenFrom = echo.URL+"/bearer", vouch, &v1alpha1.SecretKeyReference{Name: "bearer", Namespace: "dns", Key: "token"}
	})
	w.makeClass("shipped", h, func(spec *v1alpha1.DNSClassSpec) {
		spec.Webhook.Server = "http://" + at.String()
		spec.Webhook.HMACAuth = &v1alpha1.HMACAuth{SecretRef: &v1alpha1.SecretKeyReference{Name: "hook", Namespace: "dns", Key: "key"}, Algorithm: v1alpha1.HMACAlgorithmSHA256}
	})
	w.makeClass("update", h, func(spec *v1alpha1.DNSClassSpec) {
		spec.Webhook, spec.RFC2136 = nil, &v1alpha1.RFC2136Provider{Server: gone.String(), TSIGSecretRef: v1alpha1.SecretReference{Name: "update", Namespace: "dns"}, ForeignRecords: v1alpha1.ForeignRecordsKeep}
	})
	w.makeClass("transfer", h, func(spec *v1alpha1.DNSClassSpec) {
		spec.Webhook = nil
		spec.Transfer = &v1alpha1.TransferProvider{Secondaries: []v1alpha1.Secondary{{Address: gone.String()}}, TSIGSecretRef: &v1alpha1.SecretReference{Name: "transfer", Namespace: "dns"}}
	})
	classes := []string{"inline", "bearer", "shipped", "update", "transfer"}
	w.makeZone("example", "example.org.", classes...)
	must.Succeed(t, w.makeRecord("www", "example", "192.0.2.1"))
	failed := func(reason string) func() bool {
		return func() bool {
			all := must.Get(w.api.Deliveries("default").List(w.Context(), metav1.ListOptions{}))(t)
			for _, one := range all.Items {
				if reason == "" && one.Status.Error == nil || reason != "" && one.Spec.ClassRef.Name == "shipped" && one.Status.Error != nil && one.Status.Error.Reason == reason {
					return reason != ""
				}
			}
			return reason == "" && len(all.Items) == len(classes)
		}
	}
	waitUntil(t, "every class has failed", failed(""))
	waitUntil(t, "the webhook server refuses the wrong secret", failed("AuthenticationFailed"))
	write("secrets/dns/hook/key", secrets["hmac"])
	waitUntil(t, "the webhook server cannot reach its DNS server", failed("ServerError"))
	w.changeRecord("www", "192.0.2.2")
	waitUntil(t, "every class was asked for its health", func() bool {
		all := must.Get(w.api.DNSClasses().List(w.Context(), metav1.ListOptions{}))(t)
		for _, one := range all.Items {
			if one.Status.Health == nil {
				return false
			}
		}
		return true
	})

	places := map[string]string{}
	zones, err := w.api.Zones("").List(w.Context(), metav1.ListOptions{})
	places["zones"] = marshalValue(t, zones, err)
	records, err := w.api.Records("").List(w.Context(), metav1.ListOptions{})
	places["records"] = marshalValue(t, records, err)
	deliveries, err := w.api.Deliveries("").List(w.Context(), metav1.ListOptions{})
	places["deliveries"] = marshalValue(t, deliveries, err)
	of, err := w.api.DNSClasses().List(w.Context(), metav1.ListOptions{})
	for i := range of.Items {
		of.Items[i].Spec = v1alpha1.DNSClassSpec{} // contains the inline secret
	}
	places["dnsclasses"] = marshalValue(t, of, err)
	metrics, err := w.raw.Get().AbsPath("/metrics").DoRaw(w.Context())
	places["metrics"] = marshalValue(t, string(metrics), err)
	w.up.End()
	server.End()
	places["log of up"], places["log of webhook-server"] = w.up.Log(), server.Log()
	for place, what := range places {
		if len(what) < 200 {
			t.Errorf("%s: nothing to look at: %q", place, what)
		}
		for name, secret := range secrets {
			for form, looks := range map[string]string{
				"as it is": secret, "in base64": base64.StdEncoding.EncodeToString([]byte(secret)), "in base64 for URLs": base64.RawURLEncoding.EncodeToString([]byte(secret)),
				"in hexadecimal": hex.EncodeToString([]byte(secret)), "quoted": fmt.Sprint([]byte(secret)),
			} {
				if at := strings.Index(what, looks); at >= 0 {
					t.Errorf("the %s secret is in %s, %s: %s", name, place, form, what[max(0, at-300):at])
				}
			}
		}
	}
}

func marshalValue(t *testing.T, value any, err error) string {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
	out := must.Get(json.Marshal(value))(t)
	return string(out)
}
