// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

package provider

import (
	"bytes"
	"crypto/tls"
	"time"

	"kubi.zone/kubizone/api/kubizone/v1alpha1"
	"kubi.zone/kubizone/pkg/delivery"
	"kubi.zone/kubizone/pkg/delivery/secrets"
	"kubi.zone/kubizone/pkg/delivery/webhook"
	"kubi.zone/kubizone/pkg/delivery/webhook/protocol"
)

// newWebhook returns the provider of a class with the block webhook, and its target. HMAC, bearer token and client
// certificate are read from the Secrets that the class names.
func newWebhook(of *v1alpha1.DNSClass, secret secrets.GetFunc) (delivery.Provider, string, error) {
	block := of.Spec.Webhook
	target := "webhook " + block.Server
	if block.ApexNS == v1alpha1.ApexNSSkip {
		target += " without the apex NS" // a change of apexNS delivers the zones again
	}
	config := webhook.Config{Server: block.Server, AllowLocalAddresses: of.Spec.AllowLocalAddresses,
		OwnApexNS: block.ApexNS == v1alpha1.ApexNSSkip}
	if block.TimeoutSeconds != nil {
		config.Timeout = time.Duration(*block.TimeoutSeconds) * time.Second
	}
	if auth := block.HMACAuth; auth != nil {
		config.HMAC = &webhook.HMAC{Algorithm: protocol.Algorithm(auth.Algorithm), Secret: []byte(auth.Secret)}
		// A secret in the class itself is for tests: every user who may read classes sees it.
		if ref := auth.SecretRef; ref != nil {
			var err error
			if config.HMAC.Secret, err = readValue(secret, ref.Namespace, ref.Name, ref.Key); err != nil {
				return nil, target, err
			}
		}
	}
	if ref := block.BearerTokenFrom; ref != nil {
		token, err := readValue(secret, ref.Namespace, ref.Name, ref.Key)
		if err != nil {
			return nil, target, err
		}
		config.BearerToken = string(token)
	}
	if block.TLS != nil {
		config.CABundle = block.TLS.CABundle
		if ref := block.TLS.ClientSecretRef; ref != nil {
			var err error
			if config.ClientCertificate, err = readCertificate(secret, *ref); err != nil {
				return nil, target, err
			}
		}
	}
	provider, err := webhook.New(config)
	if err != nil {
		return nil, target, err
	}
	return provider, target, nil
}

func readValue(secret secrets.GetFunc, namespace, name, key string) ([]byte, error) {
	data, err := secret(namespace, name)
	if err != nil {
		return nil, err
	}
	if len(bytes.TrimSpace(data[key])) == 0 {
		return nil, delivery.Errorf(delivery.ReasonSecretNotFound, "Secret %s/%s: data[%q] is missing or empty; put the value there",
			namespace, name, key)
	}
	return data[key], nil
}

func readCertificate(secret secrets.GetFunc, ref v1alpha1.SecretReference) (*tls.Certificate, error) {
	public, err := readValue(secret, ref.Namespace, ref.Name, "tls.crt")
	if err != nil {
		return nil, err
	}
	private, err := readValue(secret, ref.Namespace, ref.Name, "tls.key")
	if err != nil {
		return nil, err
	}
	certificate, err := tls.X509KeyPair(public, private)
	if err != nil {
		// The parser's error may reveal parts of the key.
		return nil, delivery.Errorf(delivery.ReasonInvalidConfiguration, "Secret %s/%s: tls.crt and tls.key are not a certificate and "+
			"its key in PEM; write both there as `kubectl create secret tls` does", ref.Namespace, ref.Name)
	}
	return &certificate, nil
}
