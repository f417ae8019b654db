// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

package transferclass

import (
	"crypto/tls"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"kubi.zone/kubizone/api/kubizone/v1alpha1"
	"kubi.zone/kubizone/pkg/delivery"
	"kubi.zone/kubizone/pkg/delivery/secrets"
	"kubi.zone/kubizone/pkg/delivery/transfer"
	"kubi.zone/kubizone/pkg/primary"
)

// authorityKey is the key of authorities in a Secret, as cert-manager writes it.
const authorityKey = "ca.crt"

// readTLS reads the Secrets of a class's TLS; nil for nil. A missing or invalid value is a *delivery.Error, and errors
// of readSecret are returned unchanged.
func readTLS(of *v1alpha1.TransferTLS, readSecret secrets.GetFunc) (*primary.ClassTLS, error) {
	if of == nil {
		return nil, nil
	}
	read := func(ref v1alpha1.SecretReference, keys ...string) (values [][]byte, err error) {
		data, err := readSecret(ref.Namespace, ref.Name)
		if err != nil {
			return nil, err
		}
		for _, key := range keys {
			if len(data[key]) == 0 {
				return nil, delivery.Errorf(delivery.ReasonSecretNotFound, "Secret %s/%s: data[%q] is missing or empty; "+
					"put the value there", ref.Namespace, ref.Name, key)
			}
			values = append(values, data[key])
		}
		return values, nil
	}
	server, err := read(of.ServerSecretRef, corev1.TLSCertKey, corev1.TLSPrivateKeyKey)
	if err != nil {
		return nil, err
	}
	authorities, err := read(of.ClientCASecretRef, authorityKey)
	if err != nil {
		return nil, err
	}
	made, err := primary.NewClassTLS(server[0], server[1], authorities[0], of.ClientNames)
	if err != nil {
		return nil, delivery.Errorf(delivery.ReasonInvalidConfiguration, "Secrets %s/%s and %s/%s: %w", of.ServerSecretRef.Namespace,
			of.ServerSecretRef.Name, of.ClientCASecretRef.Namespace, of.ClientCASecretRef.Name, err)
	}
	return made, nil
}

// askOverTLS returns the configuration for questions to a secondary over TLS: the primary's certificate, the name of
// the secondary, and its authorities.
func askOverTLS(host string, of *primary.ClassTLS) *tls.Config {
	return &tls.Config{MinVersion: tls.VersionTLS13, ServerName: host, RootCAs: of.ClientCAs, NextProtos: []string{"dot"},
		Certificates: []tls.Certificate{of.Certificate}}
}

const tlsPort = 853

func rowOfTLS(s *transfer.Secondary, fault primary.TLSFault) v1alpha1.DeliveryNotify {
	remedy, known := tlsRemedies[fault.Cause]
	if !known {
		remedy = "see its log for the transfer"
	}
	return v1alpha1.DeliveryNotify{Server: s.Name, Answer: fault.Cause, Time: metav1.NewTime(fault.Since),
		Message: s.Name + " transfers nothing over TLS: " + fault.Text, Remedy: remedy}
}

var tlsRemedies = map[string]string{
	primary.TLSNotUsed: "let it transfer over TLS from port 853 of the primary: BIND primaries { ADDRESS port 853 tls NAME; }; " +
		"NSD request-xfr: ADDRESS@853 KEY NAME",
	primary.TLSNoALPN:  "update it, or let it send the ALPN token dot (RFC 9103 §7.1)",
	primary.TLSVersion: "let it use TLS 1.3",
	primary.TLSNoCertificate: "give it a certificate: BIND cert-file and key-file of the tls block; " +
		"NSD client-cert and client-key",
	primary.TLSUnknownAuthority: "issue its certificate, for client authentication, by an authority in " +
		"tls.clientCASecretRef of the class",
	primary.TLSCertificateExpired: "renew its certificate, and compare the clocks",
	primary.TLSWrongName: "issue its certificate for a name in tls.clientNames of the class, and let it verify a name of the " +
		"primary's certificate",
	primary.TLSRefusedByPeer: "compare the authority and the name in its configuration (BIND ca-file, remote-hostname; " +
		"NSD tls-cert-bundle, auth-domain-name) with the certificate in tls.serverSecretRef of the class, and the end of that",
}
