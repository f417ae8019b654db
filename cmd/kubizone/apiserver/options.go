// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

package apiserver

import (
	"errors"
	"flag"
	"fmt"
	"reflect"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
	utilruntime "k8s.io/apimachinery/pkg/util/runtime"
	validatingadmissionpolicy "k8s.io/apiserver/pkg/admission/plugin/policy/validating"
	"k8s.io/apiserver/pkg/admission/plugin/resourcequota"
	"k8s.io/apiserver/pkg/features"
	genericoptions "k8s.io/apiserver/pkg/server/options"
	"k8s.io/apiserver/pkg/storage/storagebackend"
	"k8s.io/apiserver/pkg/util/compatibility"
	utilfeature "k8s.io/apiserver/pkg/util/feature"
	cliflag "k8s.io/component-base/cli/flag"
	basecompatibility "k8s.io/component-base/compatibility"
	"k8s.io/component-base/logs"
	logsapi "k8s.io/component-base/logs/api/v1"
	"k8s.io/component-base/metrics"
	"k8s.io/klog/v2"

	"kubi.zone/kubizone/cmd/kubizone/tracing"
	"kubi.zone/kubizone/pkg/apis/acme"
	"kubi.zone/kubizone/pkg/apis/kubizone/validation"
	"kubi.zone/kubizone/pkg/apiserver"
	"kubi.zone/kubizone/pkg/apiserver/admission/delegation"
	"kubi.zone/kubizone/pkg/apiserver/authorization"
	"kubi.zone/kubizone/pkg/apiserver/budget"
	"kubi.zone/kubizone/pkg/zone/ledger/history"
)

const (
	// DefaultPort is the kubelet's port, which is open from the control plane to nodes.
	DefaultPort = 10250

	// Services need time to remove the endpoint.
	defaultShutdownDelay    = 5 * time.Second
	defaultWatchTermination = 5 * time.Second
)

type Options struct {
	ServerRun     *genericoptions.ServerRunOptions
	Etcd          *genericoptions.EtcdOptions
	Member        MemberOptions
	SecureServing *genericoptions.SecureServingOptions
	// ServingSecret is NAMESPACE/NAME of the generated serving certificate's Secret.
	ServingSecret  string
	Authentication *genericoptions.DelegatingAuthenticationOptions
	Authorization  *authorization.Options
	Audit          *genericoptions.AuditOptions
	Features       *genericoptions.FeatureOptions
	CoreAPI        *genericoptions.CoreAPIOptions
	Admission      *genericoptions.AdmissionOptions
	Traces         tracing.Options
	Fleet          validation.FleetRules
	ACME           apiserver.ACME
	Budgets        budget.Limits
	// HistoryRetention applies to zones without historyRetention.
	HistoryRetention time.Duration
	Metrics          *metrics.Options
	Logs             *logs.Options

	subcommands []subcommand
}

var addLogGates = sync.OnceValue(func() error { return logsapi.AddFeatureGates(utilfeature.DefaultMutableFeatureGate) })

func NewOptions() *Options {
	utilruntime.Must(addLogGates())

	// Each Options has its own registry, so two of them share no flags. They share the feature gates of the process.
	components := basecompatibility.NewComponentGlobalsRegistry()
	utilruntime.Must(components.Register(basecompatibility.DefaultKubeComponent, compatibility.DefaultBuildEffectiveVersion(),
		utilfeature.DefaultMutableFeatureGate))

	o := &Options{
		ServerRun:      genericoptions.NewServerRunOptionsForComponent(basecompatibility.DefaultKubeComponent, components),
		Etcd:           genericoptions.NewEtcdOptions(storagebackend.NewDefaultConfig(apiserver.Prefix, nil)),
		SecureServing:  genericoptions.NewSecureServingOptions(),
		Authentication: genericoptions.NewDelegatingAuthenticationOptions(),
		Authorization:  authorization.NewOptions(),
		Audit:          genericoptions.NewAuditOptions(),
		Features:       genericoptions.NewFeatureOptions(),
		CoreAPI:        genericoptions.NewCoreAPIOptions(),
		Admission:      genericoptions.NewAdmissionOptions(),
		Metrics:        metrics.NewOptions(),
		Logs:           logs.NewOptions(),
		Budgets:        budget.Default,

		HistoryRetention: history.DefaultRetention,
		ACME:             apiserver.ACME{RecordsExpireAfter: acme.ChallengesExpireAfter},
		Fleet:            validation.FleetRules{Repositories: validation.DefaultImageRepositories},
	}

	// Delegation, the plugin for zones' rules, comes before policies and webhooks, so that they see no Record that it
	// refuses. Quota comes last, so that it counts only admitted requests.
	delegation.Register(o.Admission.Plugins)
	resourcequota.Register(o.Admission.Plugins)
	validating := slices.Index(o.Admission.RecommendedPluginOrder, validatingadmissionpolicy.PluginName)
	o.Admission.RecommendedPluginOrder = slices.Insert(o.Admission.RecommendedPluginOrder, validating, delegation.PluginName)
	o.Admission.RecommendedPluginOrder = append(o.Admission.RecommendedPluginOrder, resourcequota.PluginName)

	// While the server shuts down, late requests get Retry-After. A client would not retry a closed port.
	o.ServerRun.ShutdownDelayDuration = defaultShutdownDelay
	o.ServerRun.ShutdownWatchTerminationGracePeriod = defaultWatchTermination
	o.ServerRun.ShutdownSendRetryAfter = true

	o.SecureServing.Required = true
	o.SecureServing.BindPort = DefaultPort
	// The aggregator sends the requests of all users over a single connection.
	o.SecureServing.HTTP2MaxStreamsPerConnection = 1000
	// Without a directory no certificate is written: a container's file system is read-only.
	o.SecureServing.ServerCert.CertDirectory = ""
	return o
}

// etcdFlags are the supported flags of upstream's group. The others do not apply: every key has the prefix, objects
// have one storage version and a watch cache, and kube-controller-manager collects garbage.
var etcdFlags = []string{
	"etcd-servers", "etcd-cafile", "etcd-certfile", "etcd-keyfile",
	"encryption-provider-config", "encryption-provider-config-automatic-reload",
	"etcd-compaction-interval", "etcd-count-metric-poll-period", "etcd-db-metric-poll-interval",
	"etcd-healthcheck-timeout", "etcd-readycheck-timeout", "delete-collection-workers",
}

// notRunFlags are for servers with APIs of several releases, or reached by their own names.
var notRunFlags = []string{
	"emulation-forward-compatible", "runtime-config-emulation-forward-compatible", "emulated-version", "min-compatibility-version",
	"advertise-address", "external-hostname",
}

// With notAuthenticationFlags a server that failed to look up authorities would be ready, and answer 401 to all (A6 of
// package apiserver).
var notAuthenticationFlags = []string{"authentication-tolerate-lookup-failure"}

// without adds the flags of add to the set, except the named flags.
func without(names []string, to *pflag.FlagSet, add func(*pflag.FlagSet)) {
	all := pflag.NewFlagSet("", pflag.ContinueOnError)
	add(all)
	all.VisitAll(func(flag *pflag.Flag) {
		if !slices.Contains(names, flag.Name) {
			to.AddFlag(flag)
		}
	})
}

// Flags returns the flags in groups, as kube-apiserver's help has them.
func (o *Options) Flags() cliflag.NamedFlagSets {
	var all cliflag.NamedFlagSets
	without(notRunFlags, all.FlagSet("generic"), o.ServerRun.AddUniversalFlags)
	etcd := pflag.NewFlagSet("", pflag.ContinueOnError)
	o.Etcd.AddFlags(etcd)
	for _, name := range etcdFlags {
		all.FlagSet("etcd").AddFlag(etcd.Lookup(name))
	}
	o.Member.AddFlags(all.FlagSet("etcd"))
	o.SecureServing.AddFlags(all.FlagSet("secure serving"))
	all.FlagSet("secure serving").StringVar(&o.ServingSecret, "serving-cert-secret", o.ServingSecret, "NAMESPACE/NAME of a Secret "+
		"in the cluster where the servers keep a serving certificate that they make and renew, instead of --tls-cert-file. "+
		"They keep the caBundle of the APIServices "+strings.Join(apiServices, ", ")+" at its authority.")
	without(notAuthenticationFlags, all.FlagSet("authentication"), o.Authentication.AddFlags)
	o.Authorization.AddFlags(all.FlagSet("authorization"))
	o.Audit.AddFlags(all.FlagSet("auditing"))
	o.Features.AddFlags(all.FlagSet("features"))
	o.CoreAPI.AddFlags(all.FlagSet("cluster"))
	o.Admission.AddFlags(all.FlagSet("admission"))
	o.Traces.AddFlags(all.FlagSet("traces"))
	all.FlagSet("classes").StringSliceVar(&o.Fleet.Repositories, "bind9-image-repositories", o.Fleet.Repositories,
		"Repositories that images of Bind9Clusters and Bind9Instances may come from, with their registry; "+
			"one that ends in / stands for all below it.")
	all.FlagSet("acme").BoolVar(&o.ACME.Serve, "acme", o.ACME.Serve, "Serve the group acme.kubi.zone, a DNS-01 webhook solver for "+
		"cert-manager.")
	all.FlagSet("acme").StringSliceVar(&o.ACME.ClusterIssuers, "acme-cluster-issuers", o.ACME.ClusterIssuers,
		"Namespaces of a cert-manager whose ClusterIssuers may be solved. A user of one writes challenges for all names that the "+
			"namespace may have.")
	all.FlagSet("acme").DurationVar(&o.ACME.RecordsExpireAfter, "acme-records-expire-after", o.ACME.RecordsExpireAfter,
		"Time after which a challenge is deleted that its client has not cleaned up, in whole seconds; 0s: never.")
	o.Budgets.AddFlag(all.FlagSet("budgets"))
	all.FlagSet("history").DurationVar(&o.HistoryRetention, "history-retention", o.HistoryRetention, "Time for which changes of zones "+
		"without historyRetention are kept, 0s to 2160h.")
	o.Metrics.AddFlags(all.FlagSet("metrics"))
	logsapi.AddFlags(o.Logs, all.FlagSet("logs"))
	return all
}

// Complete sets the feature gates, and --kubeconfig as the default of the other kubeconfigs.
func (o *Options) Complete() error {
	if err := apiserver.SetGates(); err != nil {
		return err
	}
	if err := o.ServerRun.ComponentGlobalsRegistry.Set(); err != nil {
		return fmt.Errorf("--feature-gates: %w", err)
	}
	// Reviews of tokens and rights go to the same cluster, unless told otherwise.
	for _, other := range []*string{&o.Authentication.RemoteKubeConfigFile, &o.Authorization.RemoteKubeConfigFile} {
		if *other == "" {
			*other = o.CoreAPI.CoreAPIKubeconfigPath
		}
	}
	return nil
}

// Validate returns all faults of the options together (P1). Complete comes before.
func (o *Options) Validate() error {
	var wrong []error
	for _, faults := range [][]error{
		o.ServerRun.Validate(), o.validateEtcd(), o.SecureServing.Validate(), o.Authentication.Validate(), o.Authorization.Validate(),
		o.Audit.Validate(), o.Features.Validate(), o.CoreAPI.Validate(), o.Admission.Validate(), o.Metrics.Validate(),
	} {
		wrong = append(wrong, faults...)
	}
	if err := logsapi.Validate(o.Logs, utilfeature.DefaultFeatureGate, nil).ToAggregate(); err != nil {
		wrong = append(wrong, err)
	}
	if utilfeature.DefaultFeatureGate.Enabled(features.AllowUnsafeMalformedObjectDeletion) {
		wrong = append(wrong, fmt.Errorf("--feature-gates %s=true: deleting an unreadable object would leave its data in the zone; "+
			"leave it off, kubizone fsck names the damage", features.AllowUnsafeMalformedObjectDeletion))
	}
	if after := o.ACME.RecordsExpireAfter; after < 0 || after%time.Second != 0 {
		wrong = append(wrong, fmt.Errorf("--acme-records-expire-after %s: give whole seconds, or 0s for never", after))
	}
	if o.HistoryRetention < 0 || o.HistoryRetention > validation.MaxHistoryRetention || o.HistoryRetention%time.Second != 0 {
		wrong = append(wrong, fmt.Errorf("--history-retention %s: give whole seconds from 0s to 2160h, which is 90 days",
			o.HistoryRetention))
	}
	if (o.SecureServing.ServerCert.CertKey.CertFile == "") != (o.SecureServing.ServerCert.CertKey.KeyFile == "") {
		wrong = append(wrong, errors.New("--tls-cert-file and --tls-private-key-file: give both or none"))
	}
	// Priority and fairness divides the sum of both limits.
	if o.Features.EnablePriorityAndFairness && o.ServerRun.MaxRequestsInFlight+o.ServerRun.MaxMutatingRequestsInFlight <= 0 {
		wrong = append(wrong, errors.New("--max-requests-inflight and --max-mutating-requests-inflight: their sum must be positive, "+
			"or --enable-priority-and-fairness=false"))
	}
	if o.ServingSecret != "" && o.SecureServing.ServerCert.CertKey.CertFile != "" {
		wrong = append(wrong, errors.New("give either --serving-cert-secret or --tls-cert-file: one says which certificate is served"))
	}
	if namespace, name, _ := strings.Cut(o.ServingSecret, "/"); o.ServingSecret != "" && (namespace == "" || name == "" ||
		strings.Contains(name, "/")) {
		wrong = append(wrong, fmt.Errorf("--serving-cert-secret %q: write NAMESPACE/NAME, as kubizone-system/kubizone-apiserver-serving",
			o.ServingSecret))
	}
	_, err := o.Traces.Complete()
	wrong = append(append(wrong, err), o.validateRequestHeader()...)
	return errors.Join(wrong...)
}

// validateRequestHeader returns the faults of the authentication by the front proxy, kube-apiserver.
func (o *Options) validateRequestHeader() []error {
	header := o.Authentication.RequestHeader
	if header.ClientCAFile != "" && len(header.AllowedNames) == 0 {
		return []error{errors.New("--requestheader-client-ca-file needs --requestheader-allowed-names, with the common name of " +
			"kube-apiserver's --proxy-client-cert-file: without it a client with any certificate of that authority could be any user")}
	}
	if header.ClientCAFile == "" && len(header.AllowedNames) > 0 {
		return []error{errors.New("--requestheader-allowed-names goes with --requestheader-client-ca-file: " +
			"without it the names in the cluster's configmap hold")}
	}
	return nil
}

func (o *Options) validateEtcd() (wrong []error) {
	transport, etcd := o.Etcd.StorageConfig.Transport, o.Etcd
	isExternal, isMember := len(transport.ServerList) > 0, o.Member.DataDir != ""
	hasCert, hasKey := transport.CertFile != "", transport.KeyFile != ""
	hasFile := hasCert || hasKey || transport.TrustedCAFile != ""
	for _, rule := range []struct {
		isBroken bool
		text     string
	}{
		{isExternal == isMember, "give either --etcd-servers or --etcd-data-dir: one says where zones and records are stored"},
		{hasCert != hasKey, "--etcd-certfile and --etcd-keyfile: give both or none"},
		{hasFile && !isExternal, "--etcd-cafile, --etcd-certfile and --etcd-keyfile go with --etcd-servers"},
		{etcd.EncryptionProviderConfigAutomaticReload && etcd.EncryptionProviderConfigFilepath == "",
			"--encryption-provider-config-automatic-reload goes with --encryption-provider-config"},
	} {
		if rule.isBroken {
			wrong = append(wrong, errors.New(rule.text))
		}
	}
	return append(wrong, o.Member.Validate()...)
}

func NewCommand() *cobra.Command {
	options := NewOptions()
	command := &cobra.Command{
		Use:   "apiserver",
		Short: "serve the API behind a kube-apiserver",
		Long: `Serve zones and records as an aggregated API until SIGTERM: kube-apiserver authenticates and authorizes clients, and
its namespaces, quotas, webhooks and policies hold. Objects are stored in an etcd cluster (--etcd-servers) that several
servers may share, or in an etcd that runs in this process (--etcd-data-dir). After --, kubizone controller and kubizone
primary run in this process too, each with its flags, and with the rights of the user of its --as.`,
		Example: `  kubizone apiserver --etcd-servers https://etcd-0:2379 --etcd-cafile ca.crt --etcd-certfile c.crt --etcd-keyfile c.key \
    --tls-cert-file tls.crt --tls-private-key-file tls.key
  kubizone apiserver --etcd-data-dir /var/lib/kubizone/data --kubeconfig cluster.kubeconfig
  kubizone apiserver --etcd-data-dir /var/lib/kubizone/data -- controller --as system:serviceaccount:kubizone-system:kubizone-controller`,
		Args: func(command *cobra.Command, arguments []string) error {
			// Arguments before "--" are a mistake, such as a flag without the dashes.
			if dash := command.ArgsLenAtDash(); dash != 0 {
				return cobra.NoArgs(command, arguments)
			}
			return nil
		},
		// Replaces the root command's hook, because a server logs for operators.
		PersistentPreRunE: func(command *cobra.Command, _ []string) error {
			flags := flag.NewFlagSet("klog", flag.ContinueOnError)
			klog.InitFlags(flags)
			for name, value := range map[string]string{"logtostderr": "false", "one_output": "true", "stderrthreshold": "FATAL"} {
				if err := flags.Set(name, value); err != nil {
					return fmt.Errorf("log: %w", err)
				}
			}
			klog.SetOutput(command.ErrOrStderr())
			return nil
		},
		RunE: func(command *cobra.Command, arguments []string) error {
			if err := options.Complete(); err != nil {
				return err
			}
			var besideErr error
			options.subcommands, besideErr = parseSubcommands(arguments, command.OutOrStdout(), options.Traces)
			if err := errors.Join(options.Validate(), besideErr); err != nil {
				return err
			}
			if err := logsapi.ValidateAndApply(options.Logs, utilfeature.DefaultFeatureGate); err != nil {
				return fmt.Errorf("logs: %w", err)
			}
			defer logs.FlushLogs()
			// Otherwise upstream's Apply logs an error about a manifest.
			if !reflect.DeepEqual(options.Metrics, metrics.NewOptions()) {
				options.Metrics.Apply()
			}
			return options.Run(command.Context())
		},
	}
	groups := options.Flags()
	for _, group := range groups.FlagSets {
		command.Flags().AddFlagSet(group)
	}
	const width = 120
	cliflag.SetUsageAndHelpFunc(command, groups, width)
	return command
}
