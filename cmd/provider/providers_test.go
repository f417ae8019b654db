// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

package provider

import (
	"errors"
	"strings"
	"testing"

	"kubi.zone/kubizone/api/kubizone/v1alpha1"
	"kubi.zone/kubizone/pkg/delivery"
)

// A Secret with a missing or broken value gives no provider, so nothing is sent unsigned. Errors quote no values.
func TestProviders_needTheirSecrets(t *testing.T) {
	ref := v1alpha1.SecretReference{Namespace: "dns", Name: "key"}
	update := &v1alpha1.DNSClass{Spec: v1alpha1.DNSClassSpec{RFC2136: &v1alpha1.RFC2136Provider{Server: "192.0.2.1", TSIGSecretRef: ref}}}
	hook := &v1alpha1.DNSClass{Spec: v1alpha1.DNSClassSpec{Webhook: &v1alpha1.WebhookProvider{
		Server: "https://dns.example.net", HMACAuth: &v1alpha1.HMACAuth{
			Algorithm: v1alpha1.HMACAlgorithmSHA256, SecretRef: &v1alpha1.SecretKeyReference{Namespace: "dns", Name: "key", Key: "secret"},
		}}}}
	token := &v1alpha1.DNSClass{Spec: v1alpha1.DNSClassSpec{Webhook: &v1alpha1.WebhookProvider{
		Server: "https://dns.example.net", BearerTokenFrom: &v1alpha1.SecretKeyReference{Namespace: "dns", Name: "key", Key: "token"},
		TLS: &v1alpha1.WebhookTLS{ClientSecretRef: &ref},
	}}}
	type data = map[string]string
	const invalid = delivery.ReasonInvalidConfiguration
	const key = "YSBzZWNyZXQgb2YgdGhpcnR5LXR3byBvY3RldHMgb2s="
	for name, test := range map[string]struct {
		block  string
		of     *v1alpha1.DNSClass
		secret data
		want   delivery.Reason
	}{
		"update":                      {"rfc2136", update, data{"name": "update.example", "secret": key + "\n"}, ""},
		"update, sha512":              {"rfc2136", update, data{"name": "update.example.", "secret": key, "algorithm": "HMAC-SHA512"}, ""},
		"update, sha384":              {"rfc2136", update, data{"name": "update.example.", "secret": key, "algorithm": "hmac-sha384"}, ""},
		"update, no name":             {"rfc2136", update, data{"secret": key}, delivery.ReasonSecretNotFound},
		"update, md5":                 {"rfc2136", update, data{"name": "u", "secret": key, "algorithm": "hmac-md5"}, invalid},
		"update, no base64":           {"rfc2136", update, data{"name": "u", "secret": "canary !"}, invalid},
		"webhook":                     {"webhook", hook, data{"secret": "canary"}, ""},
		"webhook, empty value":        {"webhook", hook, data{"secret": ""}, delivery.ReasonSecretNotFound},
		"webhook, blank token":        {"webhook", token, data{"token": "\n"}, delivery.ReasonSecretNotFound},
		"webhook, no certificate":     {"webhook", token, data{"token": "t"}, delivery.ReasonSecretNotFound},
		"webhook, broken certificate": {"webhook", token, data{"token": "t", "tls.crt": "canary", "tls.key": "canary"}, invalid},
	} {
		t.Run(name, func(t *testing.T) {
			provider, target, err := Providers[test.block](test.of, func(string, string) (map[string][]byte, error) {
				octets := map[string][]byte{}
				for name, text := range test.secret {
					octets[name] = []byte(text)
				}
				return octets, nil
			})
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
