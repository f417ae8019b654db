// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

package delivering

import (
	"context"
	"crypto/tls"
	"encoding/base64"
	"errors"
	"fmt"
	"strings"
	"time"

	"kubi.zone/kubizone/pkg/apis/kubizone/v1alpha1"
	"kubi.zone/kubizone/pkg/controller/class"
	"kubi.zone/kubizone/pkg/delivery"
	"kubi.zone/kubizone/pkg/delivery/dial"
	"kubi.zone/kubizone/pkg/delivery/rfc2136"
	"kubi.zone/kubizone/pkg/delivery/webhook"
	"kubi.zone/kubizone/pkg/delivery/webhook/protocol"
	"kubi.zone/kubizone/pkg/primary"
	"kubi.zone/kubizone/pkg/transfer"
)

// Providers are all there are, by their block in the spec of a DNSClass.
var Providers = map[string]class.NewProvider{
	"rfc2136": newRFC2136,
	"webhook": newWebhook,
}

func newRFC2136(of *v1alpha1.DNSClass, secret class.GetSecret) (delivery.Provider, string, error) {
	block := of.Spec.RFC2136
	key, err := tsigKey(block.TSIGSecretRef, secret)
	if err != nil {
		return nil, "", err
	}
	provider, err := rfc2136.New(rfc2136.Config{
		Server: block.Server, TransferServer: block.TransferServer, Key: *key, Dial: dial.New(of.Spec.AllowLocalAddresses).DialContext,
	})
	if err != nil {
		return nil, "", err
	}
	return provider, "rfc2136 " + block.Server, nil
}

func newWebhook(of *v1alpha1.DNSClass, secret class.GetSecret) (delivery.Provider, string, error) {
	block := of.Spec.Webhook
	config := webhook.Config{Server: block.Server, AllowLocalAddresses: of.Spec.AllowLocalAddresses}
	if block.TimeoutSeconds != nil {
		config.Timeout = time.Duration(*block.TimeoutSeconds) * time.Second
	}
	if auth := block.HMACAuth; auth != nil {
		shared := []byte(auth.Secret)
		if auth.SecretRef != nil {
			var err error
			if shared, err = value(secret, v1alpha1.SecretReference{Name: auth.SecretRef.Name, Namespace: auth.SecretRef.Namespace}, auth.SecretRef.Key); err != nil {
				return nil, "", err
			}
		}
		config.HMAC = &webhook.HMAC{Algorithm: protocol.Algorithm(auth.Algorithm), Secret: func(context.Context) ([]byte, error) { return shared, nil }}
	}
	if ref := block.BearerTokenFrom; ref != nil {
		token, err := value(secret, v1alpha1.SecretReference{Name: ref.Name, Namespace: ref.Namespace}, ref.Key)
		if err != nil {
			return nil, "", err
		}
		config.BearerToken = func(context.Context) (string, error) { return strings.TrimSpace(string(token)), nil }
	}
	if block.TLS != nil {
		config.CABundle = block.TLS.CABundle
		if ref := block.TLS.ClientSecretRef; ref != nil {
			certificate, err := clientCertificate(*ref, secret)
			if err != nil {
				return nil, "", err
			}
			config.ClientCertificate = func(context.Context) (*tls.Certificate, error) { return certificate, nil }
		}
	}
	provider, err := webhook.New(config)
	if err != nil {
		return nil, "", err
	}
	return provider, "webhook " + block.Server, nil
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

// tsigKey reads a key as BIND writes it: name, algorithm and secret in base64.
func tsigKey(ref v1alpha1.SecretReference, secret class.GetSecret) (*transfer.Key, error) {
	name, err := value(secret, ref, "name")
	if err != nil {
		return nil, err
	}
	encoded, err := value(secret, ref, "secret")
	if err != nil {
		return nil, err
	}
	data, err := secret(ref.Namespace, ref.Name)
	if err != nil {
		return nil, err
	}
	algorithm := string(primary.HMACSHA256)
	if text := strings.TrimSpace(string(data["algorithm"])); text != "" {
		algorithm = strings.TrimSuffix(strings.ToLower(text), ".") + "."
	}
	key, err := func() (primary.Key, error) {
		octets, err := base64.StdEncoding.DecodeString(strings.TrimSpace(string(encoded)))
		if err != nil {
			return primary.Key{}, errors.New("secret: is not base64; write it as tsig-keygen does")
		}
		return primary.NewKey(strings.TrimSpace(string(name)), primary.Algorithm(algorithm), octets)
	}()
	if err != nil {
		return nil, &delivery.Error{Reason: delivery.ReasonInvalidConfiguration, Message: fmt.Sprintf("Secret %s/%s: %v", ref.Namespace, ref.Name, err)}
	}
	return &transfer.Key{Name: key.Name, Algorithm: string(key.Algorithm), MAC: key.MAC}, nil
}
