// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

package kubeconfig

import (
	"fmt"

	"github.com/spf13/pflag"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
)

// Options are the flags.
type Options struct {
	rules     *clientcmd.ClientConfigLoadingRules
	overrides clientcmd.ConfigOverrides
}

// NewOptions are the defaults.
func NewOptions() *Options {
	rules := clientcmd.NewDefaultClientConfigLoadingRules()
	rules.DefaultClientConfig = &clientcmd.DefaultClientConfig
	return &Options{rules: rules}
}

// AddFlags binds the options to flags.
func (o *Options) AddFlags(flags *pflag.FlagSet) {
	flags.StringVar(&o.rules.ExplicitPath, clientcmd.RecommendedConfigPathFlag, o.rules.ExplicitPath, "kubeconfig file to use")
	clientcmd.BindOverrideFlags(&o.overrides, flags, clientcmd.RecommendedConfigOverrideFlags(""))
}

// Namespace is the one that -n asks for, empty where it does not.
func (o *Options) Namespace() string { return o.overrides.Context.Namespace }

// Client is what the flags and files together say: how to reach the server, and the namespace of -n or else of the
// context.
func (o *Options) Client() (config *rest.Config, namespace string, err error) {
	loading := clientcmd.NewNonInteractiveDeferredLoadingClientConfig(o.rules, &o.overrides)
	if config, err = loading.ClientConfig(); err != nil {
		return nil, "", fmt.Errorf("kubeconfig: %w", err)
	}
	if namespace, _, err = loading.Namespace(); err != nil {
		return nil, "", fmt.Errorf("kubeconfig: %w", err)
	}
	config.UserAgent = rest.DefaultKubernetesUserAgent()
	return config, namespace, nil
}
