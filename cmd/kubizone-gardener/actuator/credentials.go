// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

package actuator

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
	clientcmdapi "k8s.io/client-go/tools/clientcmd/api"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"kubi.zone/kubizone/api/client/clientset/versioned"
)

var (
	kubeconfigKeys = []string{"kubeconfig", "KUBIZONE_KUBECONFIG"}
	namespaceKeys  = []string{"namespace", "KUBIZONE_NAMESPACE"}
	viewKeys       = []string{"view", "KUBIZONE_VIEW"}
)

type target struct {
	client    versioned.Interface
	namespace string
	view      string
}

// openTarget creates a client for each reconciliation, so that a rotated Secret is used at once.
func (a *actuator) openTarget(ctx context.Context, ref corev1.SecretReference) (target, error) {
	var secret corev1.Secret
	switch err := a.reader.Get(ctx, client.ObjectKey{Namespace: ref.Namespace, Name: ref.Name}, &secret); {
	case apierrors.IsNotFound(err):
		return target{}, configurationProblem("spec.secretRef: Secret %s/%s does not exist", ref.Namespace, ref.Name)
	case err != nil:
		return target{}, retryable("Secret %s/%s cannot be read: %w", ref.Namespace, ref.Name, err)
	}
	to, config, err := a.readSecret(&secret)
	if err != nil {
		return target{}, err
	}
	if to.client, err = a.newClient(config); err != nil {
		return target{}, configurationProblem("Secret %s/%s: no client can be made of its kubeconfig: %v", ref.Namespace, ref.Name, err)
	}
	return to, nil
}

func (a *actuator) newClient(config *rest.Config) (versioned.Interface, error) {
	config.QPS, config.Timeout, config.UserAgent = -1, a.options.CallTimeout, managedBy
	config.Wrap(func(to http.RoundTripper) http.RoundTripper { return guard{to} })
	client, err := rest.HTTPClientFor(config)
	if err != nil {
		return nil, err
	}
	client.CheckRedirect = func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }
	return versioned.NewForConfigAndClient(config, client)
}

// maxAnswer bounds a response in octets, enough for ten Records.
const maxAnswer = 1 << 20

// guard bounds responses, and removes Retry-After, for which client-go would wait.
type guard struct{ to http.RoundTripper }

func (g guard) RoundTrip(request *http.Request) (*http.Response, error) {
	answer, err := g.to.RoundTrip(request)
	if err != nil {
		return nil, err
	}
	answer.Header.Del("Retry-After")
	answer.Body = http.MaxBytesReader(nil, answer.Body, maxAnswer)
	return answer, nil
}

func (a *actuator) readSecret(secret *corev1.Secret) (to target, config *rest.Config, err error) {
	at := secret.Namespace + "/" + secret.Name
	kubeconfig, err := pickKey(secret, kubeconfigKeys)
	if err != nil {
		return to, nil, err
	}
	if to.namespace, err = pickKey(secret, namespaceKeys); err != nil {
		return to, nil, err
	}
	if to.view, err = pickKey(secret, viewKeys); err != nil {
		return to, nil, err
	}
	if to.namespace == "" {
		return to, nil, configurationProblem("Secret %s has no key %s: it names the namespace of Kubizone for Records", at,
			strings.Join(namespaceKeys, " or "))
	}
	if kubeconfig != "" {
		config, err = readKubeconfig([]byte(kubeconfig))
		if err != nil {
			return to, nil, configurationProblem("Secret %s: the kubeconfig %v", at, err)
		}
		return to, config, nil
	}
	// Without a kubeconfig the controller uses its own rights. Users of a project can create such a Secret, so only the
	// operator's namespaces are allowed.
	if a.options.Local == nil || !slices.Contains(a.options.LocalNamespaces, to.namespace) {
		return to, nil, configurationProblem("Secret %s has no key %s, and namespace %s of this cluster is not one that "+
			"--local-namespaces allows", at, strings.Join(kubeconfigKeys, " or "), to.namespace)
	}
	return to, rest.CopyConfig(a.options.Local), nil
}

// pickKey returns the value of the keys. Different values are an error, because some are outdated.
func pickKey(secret *corev1.Secret, keys []string) (value string, err error) {
	for _, key := range keys {
		found := strings.TrimSpace(string(secret.Data[key]))
		if value != "" && found != "" && found != value {
			return "", configurationProblem("Secret %s/%s: the keys %s differ: leave one of them out", secret.Namespace, secret.Name,
				strings.Join(keys, " and "))
		}
		value = cmp.Or(value, found)
	}
	return value, nil
}

// maxKubeconfig is in octets. A parsed empty entry takes a thousand times its size in memory.
const maxKubeconfig = 64 << 10

// readKubeconfig rejects fields that execute a program, read files or redirect requests. Errors continue the text "the
// kubeconfig".
func readKubeconfig(text []byte) (*rest.Config, error) {
	if len(text) > maxKubeconfig {
		return nil, fmt.Errorf("has more than %d octets: leave the clusters and users out that its current-context does not name",
			maxKubeconfig)
	}
	config, err := clientcmd.Load(text)
	if err != nil {
		// The parser's error may quote a token.
		return nil, errors.New("is no kubeconfig")
	}
	context := config.Contexts[config.CurrentContext]
	if context == nil {
		return nil, errors.New("has no current-context")
	}
	cluster, user := config.Clusters[context.Cluster], config.AuthInfos[context.AuthInfo]
	if cluster == nil || user == nil {
		return nil, errors.New("has no cluster or no user for its current-context")
	}
	for field, given := range map[string]bool{
		"exec": user.Exec != nil, "auth-provider": user.AuthProvider != nil, "tokenFile": user.TokenFile != "",
		"client-certificate": user.ClientCertificate != "", "client-key": user.ClientKey != "",
		"certificate-authority": cluster.CertificateAuthority != "", "proxy-url": cluster.ProxyURL != "",
		"insecure-skip-tls-verify": cluster.InsecureSkipTLSVerify, "as": isImpersonating(user),
	} {
		if given {
			return nil, errors.New("has the field " + field + ": give the server with certificate-authority-data, " +
				"and a token or client-certificate-data with client-key-data")
		}
	}
	if server, err := url.Parse(cluster.Server); err != nil || server.Scheme != "https" || server.Host == "" {
		return nil, errors.New("has a server that is no https:// URL")
	}
	if user.Token == "" && len(user.ClientCertificateData) == 0 {
		return nil, errors.New("has neither a token nor client-certificate-data")
	}
	made := clientcmdapi.NewConfig()
	made.Clusters["target"] = &clientcmdapi.Cluster{Server: cluster.Server, TLSServerName: cluster.TLSServerName,
		CertificateAuthorityData: cluster.CertificateAuthorityData}
	made.AuthInfos["target"] = &clientcmdapi.AuthInfo{Token: user.Token, ClientCertificateData: user.ClientCertificateData,
		ClientKeyData: user.ClientKeyData}
	made.Contexts["target"] = &clientcmdapi.Context{Cluster: "target", AuthInfo: "target"}
	made.CurrentContext = "target"
	rest, err := clientcmd.NewDefaultClientConfig(*made, nil).ClientConfig()
	if err != nil {
		return nil, errors.New("makes no client")
	}
	// Proxy stays nil, because the environment may name a proxy of this cluster.
	return rest, nil
}

func isImpersonating(user *clientcmdapi.AuthInfo) bool {
	return user.Impersonate != "" || user.ImpersonateUID != "" || len(user.ImpersonateGroups)+len(user.ImpersonateUserExtra) > 0
}
