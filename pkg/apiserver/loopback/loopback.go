// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

package loopback

import (
	"crypto/rand"
	"fmt"
	"slices"
	"time"

	genericapiserver "k8s.io/apiserver/pkg/server"
	"k8s.io/apiserver/pkg/server/dynamiccertificates"
	genericoptions "k8s.io/apiserver/pkg/server/options"

	"kubi.zone/kubizone/pkg/kit/pki"
)

const validity = 100 * 365 * 24 * time.Hour // longer than a process lives

// ApplyTo opens the listener of the options and sets LoopbackClientConfig. The server presents the certificate to
// clients that ask for its name (SNI). WithLoopback of genericoptions does the same with an RSA key, whose primes take
// a fifth of the CPU time of a start, and with a certificate that expires.
func ApplyTo(config *genericapiserver.Config, options *genericoptions.SecureServingOptions) error {
	if err := options.ApplyTo(&config.SecureServing); err != nil {
		return fmt.Errorf("serving: %w", err)
	}
	const name = genericapiserver.LoopbackClientServerNameOverride
	pair, err := pki.Issue(nil, pki.Serving(name, []string{name}), time.Now(), validity)
	if err != nil {
		return fmt.Errorf("loopback certificate: %w", err)
	}
	certificate, err := dynamiccertificates.NewStaticSNICertKeyContent("loopback", pair.CertPEM, pair.KeyPEM, name)
	if err != nil {
		return fmt.Errorf("loopback certificate: %w", err)
	}
	serving := config.SecureServing
	serving.SNICerts = slices.Insert(serving.SNICerts, 0, dynamiccertificates.SNICertKeyContentProvider(certificate))
	config.LoopbackClientConfig, err = serving.NewLoopbackClientConfig(rand.Text(), pair.CertPEM)
	return err
}
