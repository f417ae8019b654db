// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

package apiserver

import (
	"context"
	"crypto/x509"
	"errors"
	"fmt"
	"net/http"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/uuid"
	apiserverapi "k8s.io/apiserver/pkg/apis/apiserver"
	"k8s.io/apiserver/pkg/authentication/authenticatorfactory"
	"k8s.io/apiserver/pkg/authentication/request/headerrequest"
	genericapiserver "k8s.io/apiserver/pkg/server"
	"k8s.io/apiserver/pkg/server/dynamiccertificates"
	"k8s.io/apiserver/pkg/server/healthz"
	genericoptions "k8s.io/apiserver/pkg/server/options"
	"k8s.io/client-go/kubernetes"
	"k8s.io/klog/v2"

	"kubi.zone/kubizone/pkg/apiserver/permissions"
)

const (
	authenticationConfigMap = permissions.ConfigMap
	clientCAKey             = "client-ca-file"
	requestHeaderCAKey      = "requestheader-client-ca-file"
	allowedNamesKey         = "requestheader-allowed-names"
)

var healthPaths = []string{"/healthz", "/livez", "/readyz"}

// applyDelegatedAuthentication replaces the generic apiserver's ApplyTo, where an empty list of allowed names allows
// every requestheader certificate. Here it allows none, and anonymous clients reach only healthPaths (A6).
func applyDelegatedAuthentication(ctx context.Context, o *genericoptions.DelegatingAuthenticationOptions,
	client kubernetes.Interface, config *genericapiserver.Config) error {
	factory := authenticatorfactory.DelegatingAuthenticatorConfig{
		Anonymous:                &apiserverapi.AnonymousAuthConfig{Enabled: true},
		TokenAccessReviewClient:  client.AuthenticationV1(),
		TokenAccessReviewTimeout: o.TokenRequestTimeout,
		WebhookRetryBackoff:      o.WebhookRetryBackoff,
		CacheTTL:                 o.CacheTTL,
	}
	for _, path := range healthPaths {
		factory.Anonymous.Conditions = append(factory.Anonymous.Conditions, apiserverapi.AnonymousAuthCondition{Path: path})
	}

	// 1. Find the authority of client certificates: a flag, or kube-apiserver's config map.
	var trust map[string]string
	if !o.SkipInClusterLookup {
		found, err := client.CoreV1().ConfigMaps(metav1.NamespaceSystem).Get(ctx, authenticationConfigMap, metav1.GetOptions{})
		if err != nil {
			return err
		}
		trust = found.Data
	}
	var err error
	if factory.ClientCertificateCAContentProvider, err = clientCA(o, client, trust); err != nil {
		return err
	}
	if authority := factory.ClientCertificateCAContentProvider; authority != nil {
		if err := config.Authentication.ApplyClientCert(authority, config.SecureServing); err != nil {
			return fmt.Errorf("client CA: %w", err)
		}
	}

	// 2. Find the front proxy, which sends the user in headers.
	if factory.RequestHeaderConfig, err = requestHeader(ctx, o, client, trust); err != nil {
		return err
	}
	if header := factory.RequestHeaderConfig; header != nil {
		names := header.AllowedClientNames
		if len(names.Value()) == 0 {
			return errors.New("kube-apiserver's --requestheader-allowed-names is empty (configmap " +
				metav1.NamespaceSystem + "/" + authenticationConfigMap + "), so a client with any certificate of its " +
				"--requestheader-client-ca-file could act as any user: set it there to the common name of --proxy-client-cert-file, " +
				"or set both flags here (--requestheader-client-ca-file, --requestheader-allowed-names)")
		}
		header.AllowedClientNames = neverEmpty{names, "nobody:" + string(uuid.NewUUID())}
		config.AddReadyzChecks(healthz.NamedCheck(allowedNamesKey, func(*http.Request) error {
			if len(names.Value()) == 0 {
				return errors.New("the list is empty now: user headers are ignored until kube-apiserver's --requestheader-allowed-names " +
					"names the client that may send them")
			}
			return nil
		}))
		config.Authentication.RequestHeaderConfig = header
		if err := config.Authentication.ApplyClientCert(header.CAContentProvider, config.SecureServing); err != nil {
			return fmt.Errorf("requestheader client CA: %w", err)
		}
	}

	// 3. Build the authenticator.
	authenticator, definitions, err := factory.New()
	if err != nil {
		return err
	}
	config.Authentication.Authenticator = authenticator
	config.OpenAPIConfig.SecurityDefinitions = definitions
	return nil
}

// clientCA returns the authority of client certificates: from --client-ca-file, or else from kube-apiserver's config
// map, whose data trust is. It returns nil if there is none, and tokens and the front proxy remain.
func clientCA(o *genericoptions.DelegatingAuthenticationOptions, client kubernetes.Interface, trust map[string]string) (
	dynamiccertificates.CAContentProvider, error) {
	if o.ClientCert.ClientCA != "" {
		authority, err := o.ClientCert.GetClientCAContentProvider()
		if err != nil {
			return nil, fmt.Errorf("--client-ca-file: %w", err)
		}
		return authority, nil
	}
	if o.SkipInClusterLookup {
		return nil, nil
	}
	if trust[clientCAKey] == "" {
		klog.Warningf("configmap %s/%s has no %s: client certificates are accepted from the front proxy alone",
			metav1.NamespaceSystem, authenticationConfigMap, clientCAKey)
		return nil, nil
	}
	authority, err := dynamiccertificates.NewDynamicCAFromConfigMapController("client-ca", metav1.NamespaceSystem, authenticationConfigMap,
		clientCAKey, client)
	if err != nil {
		return nil, fmt.Errorf("client CA: %w", err)
	}
	return newKnownCA(authority, authority, trust, clientCAKey)
}

// requestHeader returns the authority, names and headers of the front proxy, from flags or from kube-apiserver's config
// map. It returns nil without both.
func requestHeader(ctx context.Context, o *genericoptions.DelegatingAuthenticationOptions, client kubernetes.Interface,
	trust map[string]string) (*authenticatorfactory.RequestHeaderConfig, error) {
	if o.RequestHeader.ClientCAFile != "" {
		header, err := o.RequestHeader.ToAuthenticationRequestHeaderConfig()
		if err != nil {
			return nil, fmt.Errorf("--requestheader-client-ca-file: %w", err)
		}
		return header, nil
	}
	if o.SkipInClusterLookup {
		return nil, nil
	}
	authority, err := dynamiccertificates.NewDynamicCAFromConfigMapController("requestheader-client-ca", metav1.NamespaceSystem,
		authenticationConfigMap, requestHeaderCAKey, client)
	if err != nil {
		return nil, fmt.Errorf("requestheader client CA: %w", err)
	}
	// kube-apiserver may rotate its proxy's CA, so a controller follows the config map.
	both := &genericoptions.DynamicRequestHeaderController{
		ConfigMapCAController: authority,
		RequestHeaderAuthRequestController: headerrequest.NewRequestHeaderAuthRequestController(authenticationConfigMap,
			metav1.NamespaceSystem, client,
			"requestheader-username-headers", "requestheader-uid-headers", "requestheader-group-headers",
			"requestheader-extra-headers-prefix", allowedNamesKey),
	}
	if err := both.RunOnce(ctx); err != nil {
		return nil, fmt.Errorf("configmap %s/%s: %w", metav1.NamespaceSystem, authenticationConfigMap, err)
	}
	known, err := newKnownCA(both, both, trust, requestHeaderCAKey)
	if err != nil {
		return nil, err
	}
	values := func(value func() []string) headerrequest.StringSliceProvider {
		return headerrequest.StringSliceProviderFunc(value)
	}
	return &authenticatorfactory.RequestHeaderConfig{
		CAContentProvider:   known,
		UsernameHeaders:     values(both.UsernameHeaders),
		UIDHeaders:          values(both.UIDHeaders),
		GroupHeaders:        values(both.GroupHeaders),
		ExtraHeaderPrefixes: values(both.ExtraHeaderPrefixes),
		AllowedClientNames:  values(both.AllowedClientNames),
	}, nil
}

// knownCA provides the CA that verifies client certificates. A controller reads the CA from a config map in the
// background. Until its first read, knownCA provides the CA read at startup. Otherwise early connections would have no
// CA in the TLS handshake, and all their requests would get 401.
type knownCA struct {
	// CAContentProvider has the CA from the controller, nil before the first read.
	dynamiccertificates.CAContentProvider
	dynamiccertificates.ControllerRunner
	first dynamiccertificates.CAContentProvider
}

func newKnownCA(content dynamiccertificates.CAContentProvider, runner dynamiccertificates.ControllerRunner,
	trust map[string]string, key string) (*knownCA, error) {
	first, err := dynamiccertificates.NewStaticCAContent(content.Name(), []byte(trust[key]))
	if err != nil {
		return nil, fmt.Errorf("configmap %s/%s, %s: %w; kube-apiserver writes it from its flag --%s",
			metav1.NamespaceSystem, authenticationConfigMap, key, err, key)
	}
	return &knownCA{content, runner, first}, nil
}

func (k *knownCA) CurrentCABundleContent() []byte {
	if bundle := k.CAContentProvider.CurrentCABundleContent(); bundle != nil {
		return bundle
	}
	return k.first.CurrentCABundleContent()
}

func (k *knownCA) VerifyOptions() (x509.VerifyOptions, bool) {
	if options, ok := k.CAContentProvider.VerifyOptions(); ok {
		return options, true
	}
	return k.first.VerifyOptions()
}

// neverEmpty replaces an empty list, which would allow every client, by a name that no client has.
type neverEmpty struct {
	names  headerrequest.StringSliceProvider
	nobody string
}

func (n neverEmpty) Value() []string {
	if names := n.names.Value(); len(names) > 0 {
		return names
	}
	return []string{n.nobody}
}
