// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

package apiserver

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"time"

	"k8s.io/apiserver/pkg/admission/plugin/resourcequota"
	"k8s.io/apiserver/pkg/authorization/authorizer"
	genericapiserver "k8s.io/apiserver/pkg/server"
	"k8s.io/apiserver/pkg/server/healthz"
	genericoptions "k8s.io/apiserver/pkg/server/options"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/kubernetes"
	restclient "k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
	"k8s.io/component-base/tracing"

	"kubi.zone/kubizone/api/kubizone/v1alpha1"
	"kubi.zone/kubizone/pkg/apis/kubizone/install"
	"kubi.zone/kubizone/pkg/apis/kubizone/validation"
	"kubi.zone/kubizone/pkg/apiserver/admission/delegation"
	"kubi.zone/kubizone/pkg/apiserver/admission/traced"
	"kubi.zone/kubizone/pkg/apiserver/authorization"
	"kubi.zone/kubizone/pkg/apiserver/budget"
	"kubi.zone/kubizone/pkg/apiserver/loopback"
	"kubi.zone/kubizone/pkg/apiserver/permissions"
	"kubi.zone/kubizone/pkg/apiserver/quota"
	"kubi.zone/kubizone/pkg/kit/heartbeat"
	"kubi.zone/kubizone/pkg/kit/version"
	"kubi.zone/kubizone/pkg/zone/ledger"
	"kubi.zone/kubizone/pkg/zone/zoneview"
)

// Delegated configures an API server in a cluster. kube-apiserver authenticates and authorizes its clients. The options
// must be completed and validated. All pointers are required.
type Delegated struct {
	ServerRun      *genericoptions.ServerRunOptions
	Etcd           *genericoptions.EtcdOptions
	SecureServing  *genericoptions.SecureServingOptions
	Authentication *genericoptions.DelegatingAuthenticationOptions
	Authorization  *authorization.Options
	Audit          *genericoptions.AuditOptions
	Features       *genericoptions.FeatureOptions
	CoreAPI        *genericoptions.CoreAPIOptions
	Admission      *genericoptions.AdmissionOptions
	Traces         tracing.TracerProvider // optional

	// Zones gets the content of all zones and later changes from RunLedger.
	Zones *zoneview.Set
	Fleet validation.FleetRules
	ACME  ACME
	// Budgets limit each namespace without the annotation kubi.zone/budget.
	Budgets          budget.Limits
	HistoryRetention *time.Duration
	// PeerCertFile is the peer certificate of the etcd member in this process; "" without a member.
	PeerCertFile string
}

const (
	// With client-go's defaults (5, 10) admission in absent namespaces would queue for seconds.
	coreQPS, coreBurst = 50, 100
	// authenticationTimeout bounds the wait for kube-apiserver at startup.
	authenticationTimeout = 10 * time.Second
)

// NewDelegated is New behind a kube-apiserver. It fails if a file is unreadable, kube-apiserver does not answer, or
// authentication would admit every client.
func NewDelegated(ctx context.Context, cfg Delegated) (_ *Server, err error) {
	// 1. Serving, authentication, authorization, audit.
	registry := install.New()
	config, err := genericConfig(registry)
	if err != nil {
		return nil, err
	}
	if err := cfg.applyServing(&config.Config); err != nil {
		return nil, err
	}

	rights := &permissions.Checker{}
	if err := cfg.applyEntrance(ctx, &config.Config, rights); err != nil {
		return nil, err
	}
	if err := cfg.Audit.ApplyTo(&config.Config); err != nil {
		return nil, fmt.Errorf("audit: %w", err)
	}

	// 2. etcd.
	etcd := cfg.etcdOptions(registry)
	etcd.StorageConfig.Transport.TracerProvider = config.TracerProvider
	s, err := connectEtcd(ctx, config, etcd, &cfg.Budgets, cfg.HistoryRetention)
	if err != nil {
		return nil, err
	}
	defer func() {
		if err != nil {
			s.Close()
		}
	}()

	// 3. kube-apiserver: admission, Events, Leases, Namespaces.
	client, err := cfg.applyCore(config, rights, s.ledger)
	if err != nil {
		return nil, err
	}
	s.announcer = newAnnouncer(client)
	s.announcer.members = s.ledger.FirstMember

	if namespace := heartbeat.PodNamespace(); namespace != "" {
		s.leases = func(changed func()) *heartbeat.Watcher {
			return heartbeat.NewWatcher(client.CoordinationV1().Leases(namespace), changed)
		}
	}
	if slices.Contains(cfg.plugins(), resourcequota.PluginName) {
		s.core = client
	}

	config.AddReadyzChecks(healthz.NamedCheck("permissions", func(*http.Request) error { return rights.Check() }))
	if err := config.AddPostStartHook("kubizone-permissions", func(hook genericapiserver.PostStartHookContext) error {
		go rights.Run(hook)
		return nil
	}); err != nil {
		return nil, err
	}

	informer := config.SharedInformerFactory.Core().V1().Namespaces()
	s.namespaces = namespaces{informer.Lister(), informer.Informer().HasSynced, informer}
	return s, s.assembleServer(registry, config, etcd, storageOptions{zones: cfg.Zones, fleet: cfg.Fleet, acme: cfg.ACME,
		peerCertFile: cfg.PeerCertFile, permissions: rights.List, firstMissing: rights.FirstMissing})
}

// applyServing opens the listener, and applies the flags of the generic apiserver. Its own versions and gates stay
// those of genericConfig.
func (d *Delegated) applyServing(config *genericapiserver.Config) error {
	serving := *config
	if err := d.ServerRun.ApplyTo(config); err != nil {
		return err
	}
	config.EffectiveVersion, config.FeatureGate = serving.EffectiveVersion, serving.FeatureGate
	if err := loopback.ApplyTo(config, d.SecureServing); err != nil {
		return err
	}
	recordSpans(config, d.Traces)
	return nil
}

func recordSpans(config *genericapiserver.Config, traces tracing.TracerProvider) {
	if traces != nil {
		config.TracerProvider = traces
		config.LoopbackClientConfig.Wrap(tracing.WrapperFor(traces))
	}
}

// writesDelivery reports whether a request writes the state of deliveries, signing or update keys. A namespace's Role
// does not suffice for these writes.
func writesDelivery(asked authorizer.Attributes) bool {
	return asked.IsResourceRequest() && !asked.IsReadOnly() && asked.GetAPIGroup() == v1alpha1.GroupName &&
		(asked.GetResource() == "deliveries" || asked.GetSubresource() == "finalizers" ||
			asked.GetSubresource() == "dnssec" || asked.GetResource() == "updatekeys" && asked.GetSubresource() != "")
}

// applyEntrance sets authentication and authorization by kube-apiserver, and notes in rights the permissions that both
// need.
func (d *Delegated) applyEntrance(ctx context.Context, config *genericapiserver.Config, rights *permissions.Checker) error {
	client, err := clientOf("--authentication-kubeconfig", d.Authentication.RemoteKubeConfigFile)
	if err != nil {
		return err
	}
	rights.Needs = append(rights.Needs, permissions.Need{Flag: "--authentication-kubeconfig", Client: client,
		Rules: permissions.TokenReviews})
	if !d.Authentication.SkipInClusterLookup {
		rights.Needs = append(rights.Needs, permissions.Need{Flag: "--authentication-kubeconfig", Client: client,
			Rules: permissions.AuthenticationConfig})
	}
	if err := applyDelegatedAuthentication(ctx, d.Authentication, client, config); err != nil {
		// Most failures at this point are a missing Role, so name the rule beside the error.
		missing, _, unanswered := rights.Ask(ctx)
		return fmt.Errorf("authentication: %w", errors.Join(append(missing, err, unanswered)...))
	}
	// kubectl kubizone doctor asks a server for its missing rule while no request of a user is authenticated.
	d.Authorization.WithAlwaysAllowPaths("/readyz/permissions")
	d.Authorization.InEveryNamespace = writesDelivery
	if err := d.Authorization.ApplyTo(&config.Authorization); err != nil {
		return fmt.Errorf("authorization: %w", err)
	}
	reviewer, err := clientOf("--authorization-kubeconfig", d.Authorization.RemoteKubeConfigFile)
	if err != nil {
		return err
	}
	rights.Needs = append(rights.Needs, permissions.Need{Flag: "--authorization-kubeconfig", Client: reviewer,
		Rules: permissions.AccessReviews})
	return nil
}

// applyCore sets admission, and returns the client of kube-apiserver for Events, Leases and quotas.
func (d *Delegated) applyCore(config *genericapiserver.RecommendedConfig, rights *permissions.Checker, ledger *ledger.Ledger) (
	kubernetes.Interface, error) {
	if err := d.CoreAPI.ApplyTo(config); err != nil {
		return nil, fmt.Errorf("--kubeconfig: %w", err)
	}

	// Before all others, since the first informer of a kind stays.
	informOfPolicies(config.SharedInformerFactory, policyPause)
	config.ClientConfig.QPS, config.ClientConfig.Burst = coreQPS, coreBurst
	client, err := kubernetes.NewForConfig(config.ClientConfig)
	if err != nil {
		return nil, fmt.Errorf("--kubeconfig: %w", err)
	}
	objects, err := dynamic.NewForConfig(config.ClientConfig)
	if err != nil {
		return nil, fmt.Errorf("--kubeconfig: %w", err)
	}

	if err := d.Features.ApplyTo(&config.Config, client, config.SharedInformerFactory); err != nil {
		return nil, err
	}
	if err := d.Admission.ApplyTo(&config.Config, config.SharedInformerFactory, client, objects, config.FeatureGate,
		config.EffectiveVersion,
		delegation.NewInitializer(ledger), quota.Initializer{}); err != nil {
		return nil, fmt.Errorf("admission: %w", err)
	}
	if d.Traces != nil {
		config.AdmissionControl = traced.Chain{Interface: config.AdmissionControl}
	}

	// Note the permissions that these parts need.
	rules := slices.Concat(permissions.Namespaces, permissions.Events, permissions.OfAdmission(d.plugins()))
	if d.Features.EnablePriorityAndFairness {
		rules = append(rules, permissions.FlowControl...)
	}
	rights.Needs = append(rights.Needs, permissions.Need{Flag: "--kubeconfig", Client: client, Rules: rules})
	return client, nil
}

func (d *Delegated) plugins() []string {
	return slices.DeleteFunc(slices.Clone(d.Admission.RecommendedPluginOrder), func(plugin string) bool {
		return slices.Contains(d.Admission.DisablePlugins, plugin) ||
			d.Admission.DefaultOffPlugins.Has(plugin) && !slices.Contains(d.Admission.EnablePlugins, plugin)
	})
}

// etcdOptions returns the options of storage with those flags of etcd that Kubizone takes. Prefix and codec are fixed.
func (d *Delegated) etcdOptions(registry install.Registry) *genericoptions.EtcdOptions {
	options := etcdOptions(registry, d.Etcd.StorageConfig.Transport)
	asked, stored := d.Etcd.StorageConfig, &options.StorageConfig
	stored.CompactionInterval = asked.CompactionInterval
	stored.CountMetricPollPeriod = asked.CountMetricPollPeriod
	stored.DBMetricPollInterval = asked.DBMetricPollInterval
	stored.HealthcheckTimeout = asked.HealthcheckTimeout
	stored.ReadycheckTimeout = asked.ReadycheckTimeout
	options.EncryptionProviderConfigFilepath = d.Etcd.EncryptionProviderConfigFilepath
	options.EncryptionProviderConfigAutomaticReload = d.Etcd.EncryptionProviderConfigAutomaticReload
	options.DeleteCollectionWorkers = d.Etcd.DeleteCollectionWorkers
	// kube-controller-manager removes the finalizers of Orphan and Foreground.
	options.EnableGarbageCollection = true
	return options
}

// ClientConfig reads a client configuration from a kubeconfig file, or from the pod's service account if kubeconfig is
// "". Errors begin with the name of the flag.
func ClientConfig(flag, kubeconfig string) (*restclient.Config, error) {
	var config *restclient.Config
	var err error
	if kubeconfig != "" {
		config, err = clientcmd.NewNonInteractiveDeferredLoadingClientConfig(
			&clientcmd.ClientConfigLoadingRules{ExplicitPath: kubeconfig}, &clientcmd.ConfigOverrides{}).ClientConfig()
	} else {
		config, err = restclient.InClusterConfig()
	}
	if err != nil {
		return nil, fmt.Errorf("%s: %w; name a kubeconfig of the cluster, or run in a pod of it", flag, err)
	}
	config.UserAgent = version.UserAgent(version.Component)
	return config, nil
}

// clientOf returns a client for reviews by kube-apiserver: each request of a user may need a review, so the limit of
// requests is high.
func clientOf(flag, kubeconfig string) (kubernetes.Interface, error) {
	config, err := ClientConfig(flag, kubeconfig)
	if err != nil {
		return nil, err
	}
	config.QPS, config.Burst, config.Timeout = 200, 400, authenticationTimeout
	client, err := kubernetes.NewForConfig(config)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", flag, err)
	}
	return client, nil
}
