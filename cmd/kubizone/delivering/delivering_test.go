// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

package delivering

import (
	"maps"
	"reflect"
	"strings"
	"testing"
	"time"

	"kubi.zone/kubizone/api/kubizone/v1alpha1"
	"kubi.zone/kubizone/pkg/delivery"
	"kubi.zone/kubizone/pkg/delivery/controller/transferclass"
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
	must.Say(t, err, EnvRetryBaseDelay+`="soon"`, EnvRetryMaxAttempts+`="0"`, EnvRetryMaxDelay+" 1s",
		EnvHealthInterval+`="0s"`)
}

// A primary can have only one TSIG key of a name. Classes therefore claim the names of their keys: classes with equal
// keys of a name have equal claims, and different keys of a name give different claims. A claim reveals nothing of the
// secret.
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
