// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

package delivering

import (
	"errors"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"
	"time"

	"kubi.zone/kubizone/api/kubizone/v1alpha1"
	"kubi.zone/kubizone/pkg/controller/class"
	"kubi.zone/kubizone/pkg/controller/transferclass"
	"kubi.zone/kubizone/pkg/delivery"
	"kubi.zone/kubizone/test/must"
)

// Defaults: 5s, 60s, 5 attempts, a health check every 10m.
func TestReadRetries(t *testing.T) {
	want := Retries{delivery.Backoff{Base: 5 * time.Second, Max: time.Minute, Attempts: 5}, 10 * time.Minute}
	if got, err := ReadRetries(); got != want || err != nil {
		t.Errorf("%+v, %v", got, err)
	}
	t.Setenv(EnvRetryBaseDelay, "2s")
	t.Setenv(EnvRetryMaxAttempts, "7")
	t.Setenv(EnvHealthInterval, "1m")
	want = Retries{delivery.Backoff{Base: 2 * time.Second, Max: time.Minute, Attempts: 7}, time.Minute}
	if got, err := ReadRetries(); got != want || err != nil {
		t.Errorf("%+v, %v", got, err)
	}
}

func TestReadRetries_saysAllThatIsWrong(t *testing.T) {
	t.Setenv(EnvRetryBaseDelay, "soon")
	t.Setenv(EnvRetryMaxAttempts, "0")
	t.Setenv(EnvRetryMaxDelay, "1s")
	t.Setenv(EnvHealthInterval, "0s")
	_, err := ReadRetries()
	if err == nil {
		t.Fatal("no error")
	}
	for _, part := range []string{EnvRetryBaseDelay + `="soon"`, EnvRetryMaxAttempts + `="0"`, EnvRetryMaxDelay + " 1s",
		EnvHealthInterval + `="0s"`} {
		if !strings.Contains(err.Error(), part) {
			t.Errorf("%v: does not speak of %s", err, part)
		}
	}
}

func TestDirectorySecrets(t *testing.T) {
	dir := t.TempDir()
	for path, text := range map[string]string{"in/dns/hook/key": "v", "in/dns/hook/..data": "hidden", "out/hook/key": "outside"} {
		path = filepath.Join(dir, path)
		must.Succeed(t, os.MkdirAll(filepath.Dir(path), 0o755))
		must.Succeed(t, os.WriteFile(path, []byte(text), 0o600))
	}
	secrets := DirectorySecrets(filepath.Join(dir, "in"))
	data, err := secrets.Get(t.Context(), "dns", "hook")
	if err != nil || len(data) != 1 || string(data["key"]) != "v" {
		t.Errorf("%q, %v", data, err)
	}
	if _, err := secrets.Get(t.Context(), "dns", "none"); !errors.Is(err, class.ErrSecretNotFound) {
		t.Errorf("none: %v", err)
	}
	for _, in := range []DirectorySecrets{secrets, DirectorySecrets(filepath.Join(dir, "nowhere"))} {
		_, err := in.Get(t.Context(), "dns", "none")
		if want := filepath.Join(string(in), "dns", "none", "KEY"); !errors.Is(err, class.ErrSecretNotFound) || !strings.Contains(err.Error(), want) {
			t.Errorf("%v does not name %s", err, want)
		}
	}
	if data, err := secrets.Get(t.Context(), "../out", "hook"); err == nil {
		t.Errorf("led out of the directory, to %q", data)
	}
	if _, err := DirectorySecrets("").Get(t.Context(), "dns", "hook"); !errors.Is(err, class.ErrSecretNotFound) {
		t.Errorf("no directory: %v", err)
	}
}

// Create neither replaces a Secret nor leaves the directory.
func TestDirectorySecrets_create(t *testing.T) {
	dir := t.TempDir()
	secrets, data := DirectorySecrets(filepath.Join(dir, "new")), map[string]string{"name": "acme.team-a.", "secret": "c2VjcmV0"}
	must.Succeed(t, secrets.Create("team-a", "acme", data))
	for key, want := range data {
		if got := must.Get(secrets.Get(t.Context(), "team-a", "acme"))(t)[key]; string(got) != want {
			t.Errorf("%s is %q, want %q", key, got, want)
		}
		if info := must.Get(os.Stat(filepath.Join(dir, "new/team-a/acme", key)))(t); info.Mode().Perm() != 0o600 {
			t.Errorf("%s has mode %v", key, info.Mode())
		}
	}
	if err := secrets.Create("team-a", "acme", map[string]string{"name": "other."}); !errors.Is(err, fs.ErrExist) {
		t.Errorf("a second one: %v", err)
	}
	if err := secrets.Create("..", "outside", data); err == nil {
		t.Error("led out of the directory")
	}
	must.Succeed(t, secrets.Delete("team-a", "acme"))
	if data, err := secrets.Get(t.Context(), "team-a", "acme"); !errors.Is(err, class.ErrSecretNotFound) {
		t.Errorf("after the deletion: %q, %v", data, err)
	}
}

// A Secret with a missing or broken value gives no provider, so nothing is sent unsigned. Errors quote no values.
func TestProviders_needTheirSecrets(t *testing.T) {
	ref := v1alpha1.SecretReference{Namespace: "dns", Name: "key"}
	update := &v1alpha1.DNSClass{Spec: v1alpha1.DNSClassSpec{RFC2136: &v1alpha1.RFC2136Provider{Server: "192.0.2.1", TSIGSecretRef: ref}}}
	hook := &v1alpha1.DNSClass{Spec: v1alpha1.DNSClassSpec{Webhook: &v1alpha1.WebhookProvider{Server: "https://dns.example.net", HMACAuth: &v1alpha1.HMACAuth{
		Algorithm: v1alpha1.HMACAlgorithmSHA256, SecretRef: &v1alpha1.SecretKeyReference{Namespace: "dns", Name: "key", Key: "secret"},
	}}}}
	token := &v1alpha1.DNSClass{Spec: v1alpha1.DNSClassSpec{Webhook: &v1alpha1.WebhookProvider{
		Server: "https://dns.example.net", BearerTokenFrom: &v1alpha1.SecretKeyReference{Namespace: "dns", Name: "key", Key: "token"},
		TLS: &v1alpha1.WebhookTLS{ClientSecretRef: &ref},
	}}}
	const key = "YSBzZWNyZXQgb2YgdGhpcnR5LXR3byBvY3RldHMgb2s="
	for name, test := range map[string]struct {
		block  string
		of     *v1alpha1.DNSClass
		secret map[string]string
		want   delivery.Reason
	}{
		"update":                      {"rfc2136", update, map[string]string{"name": "update.example", "secret": key + "\n"}, ""},
		"update, sha512":              {"rfc2136", update, map[string]string{"name": "update.example.", "secret": key, "algorithm": "HMAC-SHA512"}, ""},
		"update, sha384":              {"rfc2136", update, map[string]string{"name": "update.example.", "secret": key, "algorithm": "hmac-sha384"}, ""},
		"update, no name":             {"rfc2136", update, map[string]string{"secret": key}, delivery.ReasonSecretNotFound},
		"update, md5":                 {"rfc2136", update, map[string]string{"name": "u", "secret": key, "algorithm": "hmac-md5"}, delivery.ReasonInvalidConfiguration},
		"update, no base64":           {"rfc2136", update, map[string]string{"name": "u", "secret": "canary !"}, delivery.ReasonInvalidConfiguration},
		"webhook":                     {"webhook", hook, map[string]string{"secret": "canary"}, ""},
		"webhook, empty value":        {"webhook", hook, map[string]string{"secret": ""}, delivery.ReasonSecretNotFound},
		"webhook, blank token":        {"webhook", token, map[string]string{"token": "\n"}, delivery.ReasonSecretNotFound},
		"webhook, no certificate":     {"webhook", token, map[string]string{"token": "t"}, delivery.ReasonSecretNotFound},
		"webhook, broken certificate": {"webhook", token, map[string]string{"token": "t", "tls.crt": "canary", "tls.key": "canary"}, delivery.ReasonInvalidConfiguration},
	} {
		t.Run(name, func(t *testing.T) {
			provider, target, err := Providers[test.block].New(test.of, func(string, string) (map[string][]byte, error) {
				data := map[string][]byte{}
				for name, text := range test.secret {
					data[name] = []byte(text)
				}
				return data, nil
			}, Sources{})
			if test.want == "" {
				if err != nil || provider == nil || target == "" {
					t.Fatalf("%v, %q, %v", provider, target, err)
				}
				if err := provider.Close(); err != nil {
					t.Error(err)
				}
				return
			}
			var e *delivery.Error
			if !errors.As(err, &e) || e.Reason != test.want || strings.Contains(err.Error(), "canary") {
				t.Errorf("%v, want %s", err, test.want)
			}
		})
	}
}

// A primary has only one key of a name: different keys of a name have different claims, equal keys equal claims. A
// claim reveals nothing of the secret.
func TestProviders_claimTheNamesOfTheirKeys(t *testing.T) {
	claims := func(secret string) map[string]string {
		of := &v1alpha1.DNSClass{Spec: v1alpha1.DNSClassSpec{Transfer: &v1alpha1.TransferProvider{TSIGSecretRef: &v1alpha1.SecretReference{Namespace: "dns", Name: "key"}}}}
		provider, _, err := Sources{Members: transferclass.NewMembers(nil), Keys: &transferclass.Keys{}}.Constructors()["transfer"](of, func(string, string) (map[string][]byte, error) {
			return map[string][]byte{"name": []byte("one.example"), "secret": []byte(secret)}, nil
		})
		if err != nil {
			t.Fatal(err)
		}
		defer provider.Close()
		if reflect.TypeOf(provider).Kind() != reflect.Pointer {
			t.Errorf("%T is no pointer, and delivery.Class compares providers", provider)
		}
		return provider.Abilities().Claims
	}
	const one, other = "YSBzZWNyZXQgb2YgdGhpcnR5LXR3byBvY3RldHMgb2s=", "YW5vdGhlciBzZWNyZXQgb2YgMzIgb2N0ZXRzLCBvay4="
	if got := claims(one); !maps.Equal(got, claims(one)) || maps.Equal(got, claims(other)) || got["one.example."] == "" || strings.Contains(got["one.example."], "a secret") {
		t.Errorf("%q, %q", got, claims(other))
	}
}
