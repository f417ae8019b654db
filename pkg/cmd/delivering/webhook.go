// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

package delivering

import (
	"context"
	"crypto/tls"
	"strings"
	"time"

	"kubi.zone/kubizone/pkg/apis/kubizone/v1alpha1"
	"kubi.zone/kubizone/pkg/controller/class"
	"kubi.zone/kubizone/pkg/delivery"
	"kubi.zone/kubizone/pkg/delivery/webhook"
	"kubi.zone/kubizone/pkg/delivery/webhook/protocol"
)

func newWebhook(of *v1alpha1.DNSClass, secret class.GetSecret, _ Sources) (delivery.Provider, string, error) {
	target := "webhook " + of.Spec.Webhook.Server
	if of.Spec.Webhook.ApexNS == v1alpha1.ApexNSSkip {
		target += " without the apex NS" // A class that sends them again delivers its zones anew.
	}
	config, err := webhookConfig(of, secret)
	if err != nil {
		return nil, target, err
	}
	provider, err := webhook.New(config)
	if err != nil {
		return nil, target, err
	}
	return provider, target, nil
}

// webhookConfig is what a class with a webhook says. Errors are *delivery.Error; those of secret are returned as they
// are.
func webhookConfig(of *v1alpha1.DNSClass, secret class.GetSecret) (webhook.Config, error) {
	block := of.Spec.Webhook
	config := webhook.Config{Server: block.Server, AllowLocalAddresses: of.Spec.AllowLocalAddresses, OwnApexNS: block.ApexNS == v1alpha1.ApexNSSkip}
	if block.TimeoutSeconds != nil {
		config.Timeout = time.Duration(*block.TimeoutSeconds) * time.Second
	}
	if auth := block.HMACAuth; auth != nil {
		shared := []byte(auth.Secret)
		if auth.SecretRef != nil {
			var err error
			if shared, err = value(secret, v1alpha1.SecretReference{Name: auth.SecretRef.Name, Namespace: auth.SecretRef.Namespace}, auth.SecretRef.Key); err != nil {
				return webhook.Config{}, err
			}
		}
		config.HMAC = &webhook.HMAC{Algorithm: protocol.Algorithm(auth.Algorithm), Secret: func(context.Context) ([]byte, error) { return shared, nil }}
	}
	if ref := block.BearerTokenFrom; ref != nil {
		token, err := value(secret, v1alpha1.SecretReference{Name: ref.Name, Namespace: ref.Namespace}, ref.Key)
		if err != nil {
			return webhook.Config{}, err
		}
		config.BearerToken = func(context.Context) (string, error) { return strings.TrimSpace(string(token)), nil }
	}
	if block.TLS != nil {
		config.CABundle = block.TLS.CABundle
		if ref := block.TLS.ClientSecretRef; ref != nil {
			certificate, err := clientCertificate(*ref, secret)
			if err != nil {
				return webhook.Config{}, err
			}
			config.ClientCertificate = func(context.Context) (*tls.Certificate, error) { return certificate, nil }
		}
	}
	return config, nil
}

// value is one value of a Secret; a missing or empty one is none (nothing goes out unsigned).
func value(secret class.GetSecret, ref v1alpha1.SecretReference, key string) ([]byte, error) {
	data, err := secret(ref.Namespace, ref.Name)
	if err != nil {
		return nil, err
	}
	if len(data[key]) == 0 {
		return nil, delivery.Errorf(delivery.ReasonSecretNotFound, "Secret %s/%s: data[%q] is missing or empty; put the value there", ref.Namespace, ref.Name, key)
	}
	return data[key], nil
}

func clientCertificate(ref v1alpha1.SecretReference, secret class.GetSecret) (*tls.Certificate, error) {
	public, err := value(secret, ref, "tls.crt")
	if err != nil {
		return nil, err
	}
	private, err := value(secret, ref, "tls.key")
	if err != nil {
		return nil, err
	}
	certificate, err := tls.X509KeyPair(public, private)
	if err != nil {
		// What is wrong with a key says something about it.
		return nil, delivery.Errorf(delivery.ReasonInvalidConfiguration, "Secret %s/%s: tls.crt and tls.key are no certificate and its key in PEM", ref.Namespace, ref.Name)
	}
	return &certificate, nil
}
