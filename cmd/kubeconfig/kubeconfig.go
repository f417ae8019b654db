// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

package kubeconfig

import (
	"context"
	"fmt"
	"net/http"
	"strings"

	"github.com/spf13/pflag"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"

	"kubi.zone/kubizone/api/client/clientset/versioned"
	"kubi.zone/kubizone/cmd/program"
	"kubi.zone/kubizone/pkg/apis/refusal"
	"kubi.zone/kubizone/pkg/client/find"
	"kubi.zone/kubizone/pkg/dns/name"
	"kubi.zone/kubizone/pkg/kit/version"
)

type Options struct {
	rules     *clientcmd.ClientConfigLoadingRules
	overrides clientcmd.ConfigOverrides
}

func NewOptions() *Options {
	rules := clientcmd.NewDefaultClientConfigLoadingRules()
	rules.DefaultClientConfig = &clientcmd.DefaultClientConfig
	return &Options{rules: rules}
}

// AddFlags binds the options to flags, without -n and basic authentication (gone from kube-apiserver).
func (o *Options) AddFlags(flags *pflag.FlagSet) {
	o.addFlags(flags, clientcmd.RecommendedConfigOverrideFlags(""))
}

// AddFlagsWithoutCluster is AddFlags for a sub-command whose own --cluster has another meaning.
func (o *Options) AddFlagsWithoutCluster(flags *pflag.FlagSet) {
	names := clientcmd.RecommendedConfigOverrideFlags("")
	names.ContextOverrideFlags.ClusterName = clientcmd.FlagInfo{}
	o.addFlags(flags, names)
}

func (o *Options) addFlags(to *pflag.FlagSet, names clientcmd.ConfigOverrideFlags) {
	flags := pflag.NewFlagSet("", pflag.ContinueOnError)
	flags.StringVar(&o.rules.ExplicitPath, clientcmd.RecommendedConfigPathFlag, o.rules.ExplicitPath, "kubeconfig file to use")
	names.AuthOverrideFlags.Username, names.AuthOverrideFlags.Password = clientcmd.FlagInfo{}, clientcmd.FlagInfo{}
	names.ContextOverrideFlags.Namespace = clientcmd.FlagInfo{}
	clientcmd.BindOverrideFlags(&o.overrides, flags, names)
	program.Shared(flags)
	to.AddFlagSet(flags)
}

func (o *Options) AddFlagsWithNamespace(flags *pflag.FlagSet) {
	o.AddFlags(flags)
	clientcmd.RecommendedConfigOverrideFlags("").ContextOverrideFlags.Namespace.BindStringFlag(flags, &o.overrides.Context.Namespace)
	namespace := flags.Lookup(clientcmd.FlagNamespace)
	namespace.Usage = "namespace to work in; absent: that of the context"
	program.Share(namespace)
}

func (o *Options) Namespace() string { return o.overrides.Context.Namespace }

func (o *Options) User() string { return o.overrides.AuthInfo.Impersonate }

// Object parses an argument: NAMESPACE/NAME, or NAME in a default namespace.
func (o *Options) Object(argument, namespace string) (types.NamespacedName, error) {
	before, after, found := strings.Cut(argument, "/")
	if !found {
		return types.NamespacedName{Namespace: namespace, Name: argument}, nil
	}
	if asked := o.Namespace(); asked != "" && asked != before {
		return types.NamespacedName{}, fmt.Errorf("%s is in namespace %s, and -n says %s: leave one of them out", argument, before, asked)
	}
	return types.NamespacedName{Namespace: before, Name: after}, nil
}

// ForZone returns a client and the Zone of an argument. Warnings of the server are not printed.
func (o *Options) ForZone(ctx context.Context, argument string) (versioned.Interface, types.NamespacedName, error) {
	client, namespace, err := o.Reader()
	if err != nil {
		return nil, types.NamespacedName{}, err
	}
	zone, err := o.Zone(ctx, client, argument, namespace)
	return client, zone, err
}

// Zone finds the Zone of an argument: zone/NAME, an object's name, or a DNS name. If the text could be both, the object
// wins.
func (o *Options) Zone(ctx context.Context, client versioned.Interface, argument, namespace string) (types.NamespacedName, error) {
	switch kind, object := find.CutKind(argument); kind {
	case find.KindZone:
		return types.NamespacedName{Namespace: namespace, Name: object}, nil
	case find.KindRecord:
		return types.NamespacedName{}, fmt.Errorf("%s is a Record: write a Zone, or the DNS name of a zone", argument)
	}
	id, err := o.Object(argument, namespace)
	mayBeDNSName := strings.Contains(argument, ".") && !strings.Contains(argument, "/")
	if err != nil || !mayBeDNSName {
		return id, err
	}

	// An object's name may have dots, but no trailing dot.
	if !strings.HasSuffix(argument, ".") {
		_, err := client.KubizoneV1alpha1().Zones(id.Namespace).Get(ctx, id.Name, metav1.GetOptions{})
		if !apierrors.IsNotFound(err) {
			return id, err
		}
	}
	fqdn, err := name.Parse(strings.TrimSuffix(argument, ".") + ".")
	if err != nil {
		return id, fmt.Errorf("%q is neither a Zone object nor a DNS name: %w", argument, err)
	}
	zone, err := o.Search(client, namespace).ZoneAt(ctx, fqdn)
	switch {
	case err != nil:
		return id, err
	case zone == nil:
		return id, fmt.Errorf("no Zone object and no zone has the name %s; kubectl kubizone tree lists the zones", argument)
	}
	return types.NamespacedName{Namespace: zone.Namespace, Name: zone.Name}, nil
}

func (o *Options) Search(client versioned.Interface, namespace string) *find.Search {
	return &find.Search{API: client.KubizoneV1alpha1(), Namespace: namespace, Everywhere: o.Namespace() == ""}
}

// Reader returns a client without rate limit, and the namespace.
func (o *Options) Reader() (versioned.Interface, string, error) {
	config, namespace, err := o.Client()
	if err != nil {
		return nil, "", err
	}
	config.QPS = -1
	client, err := versioned.NewForConfig(config)
	if err != nil {
		return nil, "", fmt.Errorf("kubeconfig: %w", err)
	}
	return client, namespace, nil
}

// Client returns a command's configuration and namespace. Reads, but not writes, fail after 15 seconds without an
// answer, because a person waits; --request-timeout bounds all requests instead. Warnings of the server are printed.
func (o *Options) Client() (config *rest.Config, namespace string, err error) {
	if config, namespace, err = o.ProcessClient(); err == nil {
		config.WarningHandlerWithContext = printedWarnings{}
		limits := commandTimeouts
		if config.Timeout > 0 {
			limits.limit, limits.failedLimit, limits.always = config.Timeout, config.Timeout, true
			config.Timeout = 0 // an error of http.Client would hide the cause
		}
		config.Wrap(func(next http.RoundTripper) http.RoundTripper { return &answers{RoundTripper: next, timeouts: limits} })
	}
	return config, namespace, err
}

type printedWarnings struct{}

func (printedWarnings) HandleWarningHeaderWithContext(ctx context.Context, code int, _, text string) {
	if code == 299 && text != "" {
		program.Warn(ctx, refusal.NameItem(text))
	}
}

// ProcessClient is Client without limits on the answer time, for a process that sets its own, and logs Warnings.
func (o *Options) ProcessClient() (config *rest.Config, namespace string, err error) {
	loading := clientcmd.NewNonInteractiveDeferredLoadingClientConfig(o.rules, &o.overrides)
	if config, err = loading.ClientConfig(); err == nil {
		namespace, _, err = loading.Namespace()
	}
	switch {
	case clientcmd.IsEmptyConfig(err):
		return nil, "", fmt.Errorf("--kubeconfig: none found in %s, and this is not a pod of a cluster; name a kubeconfig file",
			strings.Join(o.rules.GetLoadingPrecedence(), ", "))
	case err != nil:
		return nil, "", fmt.Errorf("--kubeconfig: %w; name a readable kubeconfig, by the flag or $KUBECONFIG, and an entry in it", err)
	}
	if user := o.overrides.AuthInfo; o.User() != "" { // client-go ignores --as in a pod
		config.Impersonate = rest.ImpersonationConfig{UserName: o.User(), UID: user.ImpersonateUID, Groups: user.ImpersonateGroups}
	}
	config.UserAgent = version.UserAgent("kubizone")
	return config, namespace, nil
}
