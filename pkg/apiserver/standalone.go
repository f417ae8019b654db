// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

package apiserver

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"slices"
	"time"

	"k8s.io/apiserver/pkg/authentication/authenticator"
	"k8s.io/apiserver/pkg/authentication/group"
	"k8s.io/apiserver/pkg/authentication/request/union"
	x509request "k8s.io/apiserver/pkg/authentication/request/x509"
	"k8s.io/apiserver/pkg/authentication/user"
	"k8s.io/apiserver/pkg/authorization/authorizer"
	genericapiserver "k8s.io/apiserver/pkg/server"
	"k8s.io/apiserver/pkg/server/dynamiccertificates"
	genericoptions "k8s.io/apiserver/pkg/server/options"
	"k8s.io/apiserver/pkg/storage/storagebackend"
	"k8s.io/component-base/tracing"

	"kubi.zone/kubizone/pkg/apis/kubizone/install"
	"kubi.zone/kubizone/pkg/apis/kubizone/validation"
	"kubi.zone/kubizone/pkg/apiserver/budget"
	"kubi.zone/kubizone/pkg/apiserver/loopback"
	"kubi.zone/kubizone/pkg/zone/zoneview"
)

// Config configures a standalone server, which authenticates clients by certificates. The fields up to Zones are
// required.
type Config struct {
	// Listener is open. The server closes it.
	Listener                net.Listener
	ServingCert, ServingKey []byte // PEM
	// ClientCA is the PEM certificate of the authority that signs clients' certificates.
	ClientCA []byte
	Etcd     storagebackend.TransportConfig
	// Zones gets the content of all zones and later changes from RunLedger.
	Zones *zoneview.Set

	// AllowInlineSecrets lets a DNSClass contain secrets itself, in place of references to Secrets.
	AllowInlineSecrets bool
	Fleet              validation.FleetRules
	// Parts names the other processes in this process, for example "controller".
	Parts []string
	ACME  ACME
	// Budgets limit each namespace. Nil means no limits.
	Budgets          *budget.Limits
	HistoryRetention *time.Duration
	Traces           tracing.TracerProvider

	plain bool // for NewPlain
}

// New connects to etcd and returns a server. Call Run and RunLedger next. New fails if ctx ends, or if this program
// does not know the store's format.
func New(ctx context.Context, cfg Config) (*Server, error) {
	if err := cfg.validate(); err != nil {
		return nil, err
	}
	registry := install.New(addReviews)
	config, err := genericConfig(registry)
	if err != nil {
		return nil, err
	}
	if err := serveStandalone(&config.Config, cfg); err != nil {
		return nil, err
	}
	if err := applyStandalone(&config.Config, cfg.ClientCA); err != nil {
		return nil, err
	}
	recordSpans(&config.Config, cfg.Traces)
	etcd := etcdOptions(registry, cfg.Etcd)
	etcd.StorageConfig.Transport.TracerProvider = config.TracerProvider
	s, err := connectEtcd(ctx, config, etcd, cfg.Budgets, cfg.HistoryRetention)
	if err != nil {
		return nil, err
	}
	if err := s.assembleServer(registry, config, etcd, storageOptions{zones: cfg.Zones, inlineSecrets: cfg.AllowInlineSecrets,
		fleet: cfg.Fleet, acme: cfg.ACME, plain: cfg.plain}); err != nil {
		s.Close()
		return nil, err
	}
	// The Installation lists these parts as processes of this server.
	s.inventory.Parts = cfg.Parts
	if err := serveCluster(s.generic, registry, s.authorizer); err != nil {
		s.Close()
		return nil, err
	}
	return s, nil
}

// NewPlain returns a server that writes without the ledger, for benchmarks. New must never open the resulting store.
func NewPlain(ctx context.Context, cfg Config) (*Server, error) {
	cfg.plain = true
	return New(ctx, cfg)
}

// validate returns an error for each required field that is missing.
func (c *Config) validate() error {
	var wrong []error
	for what, missing := range map[string]bool{
		"Listener": c.Listener == nil, "ServingCert": len(c.ServingCert) == 0, "ServingKey": len(c.ServingKey) == 0,
		"ClientCA": len(c.ClientCA) == 0, "Etcd.ServerList": len(c.Etcd.ServerList) == 0, "Zones": c.Zones == nil,
	} {
		if missing {
			wrong = append(wrong, fmt.Errorf("apiserver: %s is required", what))
		}
	}
	return errors.Join(wrong...)
}

// publicPaths need no certificate, and reveal no stored data (A3).
var publicPaths = []string{"/healthz", "/livez", "/readyz", "/version"}

// serveStandalone serves on the open listener with the given certificate.
func serveStandalone(config *genericapiserver.Config, cfg Config) error {
	serving := genericoptions.NewSecureServingOptions()
	serving.Listener = cfg.Listener
	certificate, err := dynamiccertificates.NewStaticCertKeyContent("serving-cert", cfg.ServingCert, cfg.ServingKey)
	if err != nil {
		return fmt.Errorf("serving certificate: %w", err)
	}
	serving.ServerCert = genericoptions.GeneratableKeyCert{GeneratedCert: certificate}
	if err := loopback.ApplyTo(config, serving); err != nil {
		return err
	}
	// Otherwise the generic apiserver looks for an address to advertise.
	config.PublicAddress = net.IPv4(127, 0, 0, 1)
	return nil
}

// applyStandalone authenticates clients by certificates of the authority, and authorizes a single role. The common name
// is the user, and organizations are groups.
func applyStandalone(config *genericapiserver.Config, clientCA []byte) error {
	authority, err := dynamiccertificates.NewStaticCAContent("client-ca", clientCA)
	if err != nil {
		return fmt.Errorf("client CA: %w", err)
	}
	if err := config.Authentication.ApplyClientCert(authority, config.SecureServing); err != nil {
		return fmt.Errorf("client CA: %w", err)
	}
	config.Authentication.Authenticator = union.NewFailOnError(
		group.NewAuthenticatedGroupAdder(x509request.NewDynamic(authority.VerifyOptions, x509request.CommonNameUserConversion)),
		authenticator.RequestFunc(anonymousOnPublicPaths),
	)
	config.Authorization.Authorizer = authorizer.AuthorizerFunc(authorizeStandalone)
	return nil
}

func anonymousOnPublicPaths(request *http.Request) (*authenticator.Response, bool, error) {
	if !slices.Contains(publicPaths, request.URL.Path) {
		return nil, false, nil
	}
	return &authenticator.Response{User: &user.DefaultInfo{Name: user.Anonymous, Groups: []string{user.AllUnauthenticated}}}, true, nil
}

// authorizeStandalone allows the group system:masters all, and all others the public paths.
func authorizeStandalone(_ context.Context, attributes authorizer.Attributes) (authorizer.Decision, string, error) {
	client := attributes.GetUser()
	if slices.Contains(client.GetGroups(), user.SystemPrivilegedGroup) {
		return authorizer.DecisionAllow, "", nil
	}
	if !attributes.IsResourceRequest() && attributes.GetVerb() == "get" && slices.Contains(publicPaths, attributes.GetPath()) {
		return authorizer.DecisionAllow, "", nil
	}
	return authorizer.DecisionDeny, fmt.Sprintf(
		"a standalone server has one role, group %s, and user %q is not in it: use the kubeconfig in the server's data directory",
		user.SystemPrivilegedGroup, client.GetName()), nil
}
