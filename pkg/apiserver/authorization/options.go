// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

package authorization

import (
	"fmt"

	"github.com/spf13/pflag"
	"k8s.io/apiserver/pkg/authorization/authorizer"
	genericapiserver "k8s.io/apiserver/pkg/server"
	genericoptions "k8s.io/apiserver/pkg/server/options"
	authorizationclient "k8s.io/client-go/kubernetes/typed/authorization/v1"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"

	"kubi.zone/kubizone/pkg/kit/version"
)

const flagAskByName = "authorization-ask-by-name"

// Options has the generic apiserver's flags and Kubizone's. RemoteKubeConfigFileOptional is ignored.
type Options struct {
	*genericoptions.DelegatingAuthorizationOptions
	AskByName        bool
	InEveryNamespace func(authorizer.Attributes) bool
}

func NewOptions() *Options {
	return &Options{DelegatingAuthorizationOptions: genericoptions.NewDelegatingAuthorizationOptions()}
}

func (o *Options) AddFlags(flags *pflag.FlagSet) {
	o.DelegatingAuthorizationOptions.AddFlags(flags)
	flags.BoolVar(&o.AskByName, flagAskByName, o.AskByName,
		"Ask the 'core' kubernetes server about each object by its name. Without it a request is first asked about without the name of "+
			"the object, "+
			"which is exact under RBAC and remembered for all names. Set it where an authorizer of the cluster refuses single names of "+
			"what it allows in general.")
}

// Validate returns the faults of the flags, upstream's first.
func (o *Options) Validate() []error {
	wrong := o.DelegatingAuthorizationOptions.Validate()
	if o.AllowCacheTTL < 0 || o.DenyCacheTTL < 0 {
		wrong = append(wrong, fmt.Errorf("--authorization-webhook-cache-authorized-ttl %v and "+
			"--authorization-webhook-cache-unauthorized-ttl %v must not be negative (0: ask every time)", o.AllowCacheTTL, o.DenyCacheTTL))
	}
	if o.ClientTimeout <= 0 {
		wrong = append(wrong, fmt.Errorf("the timeout of authorization reviews is %v and must be positive: "+
			"a review that never ends holds its request for ever", o.ClientTimeout))
	}
	return wrong
}

// ApplyTo sets a server's authorizer. It asks the cluster of --authorization-kubeconfig, by default the pod's cluster.
func (o *Options) ApplyTo(info *genericapiserver.AuthorizationInfo) error {
	cluster, err := o.clientConfig()
	if err != nil {
		return err
	}
	client, err := authorizationclient.NewForConfig(cluster)
	if err != nil {
		return fmt.Errorf("--authorization-kubeconfig: %w", err)
	}
	config := Config{
		Client:            client,
		AllowCacheTTL:     o.AllowCacheTTL,
		DenyCacheTTL:      o.DenyCacheTTL,
		AlwaysAllowGroups: o.AlwaysAllowGroups,
		AlwaysAllowPaths:  o.AlwaysAllowPaths,
		InEveryNamespace:  o.InEveryNamespace,
		AskByName:         o.AskByName,
	}
	if o.WebhookRetryBackoff != nil {
		config.RetryBackoff = *o.WebhookRetryBackoff
	}
	info.Authorizer, err = New(config)
	return err
}

// clientConfig returns the connection to the cluster that answers reviews.
func (o *Options) clientConfig() (*rest.Config, error) {
	var config *rest.Config
	var err error
	if o.RemoteKubeConfigFile != "" {
		config, err = clientcmd.NewNonInteractiveDeferredLoadingClientConfig(
			&clientcmd.ClientConfigLoadingRules{ExplicitPath: o.RemoteKubeConfigFile}, &clientcmd.ConfigOverrides{}).ClientConfig()
	} else {
		config, err = rest.InClusterConfig()
	}
	if err != nil {
		return nil, fmt.Errorf("--authorization-kubeconfig %q: %w (name a kubeconfig of the cluster to ask; "+
			"without one the server must run in a pod)", o.RemoteKubeConfigFile, err)
	}
	config = rest.CopyConfig(config)
	config.UserAgent = version.UserAgent("kubizone")
	// No rate limit: priority and fairness bounds the requests already.
	config.QPS = -1
	config.Timeout = o.ClientTimeout
	config.ContentType = "application/vnd.kubernetes.protobuf"
	config.AcceptContentTypes = "application/vnd.kubernetes.protobuf,application/json"
	if o.CustomRoundTripperFn != nil {
		config.Wrap(o.CustomRoundTripperFn)
	}
	return config, nil
}
