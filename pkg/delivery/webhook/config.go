// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

package webhook

import (
	"cmp"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"time"

	"kubi.zone/kubizone/pkg/delivery"
	"kubi.zone/kubizone/pkg/delivery/dial"
	"kubi.zone/kubizone/pkg/delivery/webhook/protocol"
	"kubi.zone/kubizone/pkg/dns/name"
)

// Config configures a Provider. Its credentials are never logged, and are in no error.
type Config struct {
	// Server is the base URL, "https://dns.example.org/api", without user, query and fragment.
	Server string
	// Timeout bounds a request; 0 means 30 s.
	Timeout time.Duration
	// HMAC signs requests; nil means unsigned.
	HMAC *HMAC
	// CABundle has PEM certificates for the server; empty means the system's authorities.
	CABundle          []byte
	ClientCertificate *tls.Certificate
	// BearerToken needs https; "" means none.
	BearerToken         string
	AllowLocalAddresses bool
	OwnApexNS           bool
	// VerifyAtMost is the number of RRsets compared by a Verify, since each needs a request; 0 means 500. The next
	// Verify continues after them.
	VerifyAtMost int
}

type HMAC struct {
	Algorithm protocol.Algorithm
	Secret    []byte
}

const (
	defaultTimeout = 30 * time.Second
	defaultVerify  = 500
	maxHeader      = 64 << 10
)

// New works without network access. The error is a *delivery.Error that names all faults.
func New(config Config) (*Provider, error) {
	base, wrong := readServer(config)
	fault := func(format string, args ...any) { wrong = append(wrong, fmt.Errorf(format, args...)) }

	if config.Timeout < 0 {
		fault("timeoutSeconds: must be positive")
	}
	if config.HMAC != nil {
		if err := config.HMAC.Algorithm.Validate(); err != nil {
			fault("hmacAuth: %w", err)
		}
		if len(config.HMAC.Secret) == 0 {
			fault("hmacAuth: the secret is empty; put one under the key that the class names")
		}
	}

	config.BearerToken = strings.TrimSpace(config.BearerToken)
	// Such a header would fail each request, so the class reports the fault at once.
	if strings.IndexFunc(config.BearerToken, func(r rune) bool { return r <= ' ' || r > '~' }) >= 0 {
		fault("bearerTokenFrom: the token has octets that a header cannot have")
	}

	client := &tls.Config{MinVersion: tls.VersionTLS12}
	if len(config.CABundle) > 0 {
		client.RootCAs = x509.NewCertPool()
		if !client.RootCAs.AppendCertsFromPEM(config.CABundle) {
			fault("tls.caBundle: has no certificate in PEM")
		}
	}

	if len(wrong) > 0 {
		return nil, &delivery.Error{Reason: delivery.ReasonInvalidConfiguration, Permanent: true, WholeClass: true,
			Message: errors.Join(wrong...).Error()}
	}

	if certificate := config.ClientCertificate; certificate != nil {
		client.GetClientCertificate = func(*tls.CertificateRequestInfo) (*tls.Certificate, error) { return certificate, nil }
	}

	config.Timeout, config.VerifyAtMost = cmp.Or(config.Timeout, defaultTimeout), cmp.Or(config.VerifyAtMost, defaultVerify)

	transport := &http.Transport{
		// No proxy, because the addresses to which a proxy connects are unchecked.
		DialContext:         dial.New(config.AllowLocalAddresses).DialContext,
		TLSClientConfig:     client,
		TLSHandshakeTimeout: config.Timeout,
		ForceAttemptHTTP2:   true,
		// Without compression a bound on a body is a bound on memory.
		DisableCompression:     true,
		MaxResponseHeaderBytes: maxHeader,
		MaxIdleConnsPerHost:    16,
		IdleConnTimeout:        90 * time.Second,
	}

	return &Provider{
		config: config, base: base, lastVerified: map[name.Name]delivery.RRsetKey{}, basePath: strings.TrimRight(base.EscapedPath(), "/"),
		transport: transport,
		client: &http.Client{
			Transport: transport,
			// A redirect may lead to a host that must not get the signed request.
			CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
		},
	}, nil
}

// readServer parses the base URL, and returns its faults. base is nil if the URL cannot be parsed.
func readServer(config Config) (base *url.URL, wrong []error) {
	fault := func(text string) { wrong = append(wrong, errors.New(text)) }
	base, err := url.Parse(config.Server)
	switch {
	case err != nil:
		// The error of url.Parse repeats the text, which may contain a password.
		fault("server: is no URL")
	case base.Scheme != "http" && base.Scheme != "https", base.Host == "", base.Opaque != "":
		fault("server: must begin with http:// or https:// and name a host")
	case base.User != nil, base.RawQuery != "", base.ForceQuery, base.Fragment != "":
		fault("server: has no place for a user, a query or a fragment; credentials come from Secrets")
	default:
		segments := strings.Split(base.Path, "/")
		if slices.Contains(segments, ".") || slices.Contains(segments, "..") {
			fault("server: the path may not have the segments . and ..")
		}
		if config.BearerToken != "" && base.Scheme != "https" {
			fault("bearerTokenFrom: needs an https URL, because a token that is read on its way can be used; write https, or use hmacAuth")
		}
	}
	return base, wrong
}
