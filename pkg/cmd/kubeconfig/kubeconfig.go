// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

package kubeconfig

import (
	"fmt"
	"strings"

	"github.com/spf13/pflag"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"

	"kubi.zone/kubizone/api/client/clientset/versioned"
	"kubi.zone/kubizone/pkg/version"
)

// Options are the flags.
type Options struct {
	rules     *clientcmd.ClientConfigLoadingRules
	overrides clientcmd.ConfigOverrides
}

// NewOptions returns the defaults.
func NewOptions() *Options {
	rules := clientcmd.NewDefaultClientConfigLoadingRules()
	rules.DefaultClientConfig = &clientcmd.DefaultClientConfig
	return &Options{rules: rules}
}

// AddFlags binds the options to flags, without -n and basic authentication, which kube-apiserver no longer has.
func (o *Options) AddFlags(flags *pflag.FlagSet) {
	o.addFlags(flags, clientcmd.RecommendedConfigOverrideFlags(""))
}

// AddFlagsWithoutCluster leaves --cluster to a sub-command with another meaning.
func (o *Options) AddFlagsWithoutCluster(flags *pflag.FlagSet) {
	names := clientcmd.RecommendedConfigOverrideFlags("")
	names.ContextOverrideFlags.ClusterName = clientcmd.FlagInfo{}
	o.addFlags(flags, names)
}

func (o *Options) addFlags(flags *pflag.FlagSet, names clientcmd.ConfigOverrideFlags) {
	flags.StringVar(&o.rules.ExplicitPath, clientcmd.RecommendedConfigPathFlag, o.rules.ExplicitPath, "kubeconfig file to use")
	names.AuthOverrideFlags.Username, names.AuthOverrideFlags.Password = clientcmd.FlagInfo{}, clientcmd.FlagInfo{}
	names.ContextOverrideFlags.Namespace = clientcmd.FlagInfo{}
	clientcmd.BindOverrideFlags(&o.overrides, flags, names)
}

// AddFlagsWithNamespace also binds -n.
func (o *Options) AddFlagsWithNamespace(flags *pflag.FlagSet) {
	o.AddFlags(flags)
	clientcmd.RecommendedConfigOverrideFlags("").ContextOverrideFlags.Namespace.BindStringFlag(flags, &o.overrides.Context.Namespace)
	flags.Lookup(clientcmd.FlagNamespace).Usage = "namespace to work in; absent: that of the context"
}

// Namespace returns the value of -n, or "".
func (o *Options) Namespace() string { return o.overrides.Context.Namespace }

// User returns the value of --as, or "".
func (o *Options) User() string { return o.overrides.AuthInfo.Impersonate }

// Object parses an argument: NAMESPACE/NAME, or NAME in the namespace of Client.
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

// ForZone returns a client and the zone of an argument, as Object does. It drops the server's warnings.
func (o *Options) ForZone(argument string) (versioned.Interface, types.NamespacedName, error) {
	config, namespace, err := o.Client()
	if err != nil {
		return nil, types.NamespacedName{}, err
	}
	zone, err := o.Object(argument, namespace)
	if err != nil {
		return nil, types.NamespacedName{}, err
	}
	config.QPS, config.WarningHandlerWithContext = -1, rest.NoWarnings{}
	client, err := versioned.NewForConfig(config)
	return client, zone, err
}

// Client returns the client configuration, and the namespace of -n or else the context.
func (o *Options) Client() (config *rest.Config, namespace string, err error) {
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
