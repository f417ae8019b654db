// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

package delivering

import (
	"context"
	"crypto/sha256"
	"crypto/tls"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"kubi.zone/kubizone/pkg/apis/kubizone/v1alpha1"
	"kubi.zone/kubizone/pkg/controller/class"
	"kubi.zone/kubizone/pkg/controller/transferclass"
	"kubi.zone/kubizone/pkg/delivery"
	"kubi.zone/kubizone/pkg/delivery/dial"
	"kubi.zone/kubizone/pkg/delivery/rfc2136"
	"kubi.zone/kubizone/pkg/delivery/transfer"
	"kubi.zone/kubizone/pkg/delivery/webhook"
	"kubi.zone/kubizone/pkg/delivery/webhook/protocol"
	"kubi.zone/kubizone/pkg/dns/serial"
	"kubi.zone/kubizone/pkg/generated/clientset/versioned"
	wire "kubi.zone/kubizone/pkg/transfer"
	"kubi.zone/kubizone/pkg/zoneview"
)

// Providers are all there are, by their block in the spec of a DNSClass.
func Providers(transfer Transfer) map[string]class.NewProvider {
	return map[string]class.NewProvider{
		"rfc2136":  newRFC2136,
		"transfer": transfer.newProvider,
		"webhook":  newWebhook,
	}
}

// Transfer is what the provider of that name knows of zones beside what is in them.
type Transfer struct {
	Members *transferclass.Members
	Views   *zoneview.Set
	Client  versioned.Interface
}

func (t Transfer) newProvider(of *v1alpha1.DNSClass, secret class.GetSecret) (delivery.Provider, string, error) {
	peers, err := transferclass.ReadPeers(of, secret)
	if err != nil {
		return nil, "", err
	}
	provider, err := transfer.New(transfer.Config{
		Members: t.Members.OfClass(of.Name), Secondaries: peers.Secondaries, Catalog: peers.Catalog, Claims: peers.Claims(), Dial: dial.New(of.Spec.AllowLocalAddresses).DialContext,
		Served: func(uid string) serial.Serial {
			if zone, ok := t.Views.Settled(uid); ok {
				return zone.Serial()
			}
			return 0
		},
		Latest: func(ctx context.Context, uid string) (serial.Serial, error) {
			zone, ok := t.Views.Settled(uid)
			if !ok {
				return 0, errors.New("the zone is not here any more")
			}
			now, err := t.Client.KubizoneV1alpha1().Zones(zone.Zone().Namespace).Get(ctx, zone.Zone().Name, metav1.GetOptions{})
			if err != nil {
				return 0, err
			}
			if string(now.UID) != uid {
				return 0, errors.New("the zone is another one now")
			}
			return serial.Serial(now.Status.Serial), nil
		},
	})
	if err != nil {
		return nil, "", err
	}
	// What was confirmed was so by these servers, and by this class, which shows the zone by itself.
	addresses := make([]string, len(peers.Secondaries))
	for i, s := range peers.Secondaries {
		addresses[i] = s.Addr.String()
	}
	slices.Sort(addresses)
	sum := sha256.Sum256([]byte(strings.Join(addresses, " ")))
	return provider, fmt.Sprintf("transfer by %s to %d secondaries (%x)", of.Name, len(addresses), sum[:4]), nil
}

func newRFC2136(of *v1alpha1.DNSClass, secret class.GetSecret) (delivery.Provider, string, error) {
	block := of.Spec.RFC2136
	target := "rfc2136 " + block.Server
	key, err := transferclass.Key(block.TSIGSecretRef, secret)
	if err != nil {
		return nil, target, err
	}
	provider, err := rfc2136.New(rfc2136.Config{
		Server: block.Server, TransferServer: block.TransferServer, Dial: dial.New(of.Spec.AllowLocalAddresses).DialContext,
		Key:     wire.Key{Name: key.Name, Algorithm: string(key.Algorithm), MAC: key.MAC},
		Replace: block.ForeignRecords == v1alpha1.ForeignRecordsReplace,
	})
	if err != nil {
		return nil, target, err
	}
	return provider, target, nil
}

func newWebhook(of *v1alpha1.DNSClass, secret class.GetSecret) (delivery.Provider, string, error) {
	target := "webhook " + of.Spec.Webhook.Server
	if of.Spec.Webhook.ApexNS == v1alpha1.ApexNSSkip {
		target += " without the apex NS" // A class that sends them again delivers its zones anew.
	}
	config, err := WebhookConfig(of, secret)
	if err != nil {
		return nil, target, err
	}
	provider, err := webhook.New(config)
	if err != nil {
		return nil, target, err
	}
	return provider, target, nil
}

// WebhookConfig is what a class with a webhook says. Errors are *delivery.Error; those of secret are returned as they
// are.
func WebhookConfig(of *v1alpha1.DNSClass, secret class.GetSecret) (webhook.Config, error) {
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
