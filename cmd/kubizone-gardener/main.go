// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"fmt"
	"os"
	"time"

	extensionscontroller "github.com/gardener/gardener/extensions/pkg/controller"
	controllercmd "github.com/gardener/gardener/extensions/pkg/controller/cmd"
	"github.com/gardener/gardener/extensions/pkg/controller/dnsrecord"
	"github.com/gardener/gardener/extensions/pkg/controller/heartbeat"
	heartbeatcmd "github.com/gardener/gardener/extensions/pkg/controller/heartbeat/cmd"
	gardenerhealthz "github.com/gardener/gardener/pkg/healthz"
	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
	coordinationv1 "k8s.io/api/coordination/v1"
	"k8s.io/client-go/rest"
	"k8s.io/utils/clock"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller"
	"sigs.k8s.io/controller-runtime/pkg/healthz"
	"sigs.k8s.io/controller-runtime/pkg/log"
	"sigs.k8s.io/controller-runtime/pkg/manager"
	"sigs.k8s.io/controller-runtime/pkg/manager/signals"

	"kubi.zone/kubizone/cmd/kubizone-gardener/actuator"
)

const (
	name             = "kubizone-gardener"
	recordType       = "kubizone"
	gardenletTimeout = 2 * time.Minute
)

func main() {
	if err := newCommand().ExecuteContext(signals.SetupSignalHandler()); err != nil {
		os.Exit(1)
	}
}

type options struct {
	rest       controllercmd.RESTOptions
	manager    controllercmd.ManagerOptions
	general    controllercmd.GeneralOptions
	reconciler controllercmd.ReconcilerOptions
	controller controllercmd.ControllerOptions
	heartbeat  heartbeatcmd.Options

	types    []string
	actuator actuator.Options
}

func newOptions() *options {
	namespace := os.Getenv("LEADER_ELECTION_NAMESPACE")
	return &options{
		manager: controllercmd.ManagerOptions{
			LeaderElection: true, LeaderElectionID: controllercmd.LeaderElectionNameID(name), LeaderElectionNamespace: namespace,
		},
		controller: controllercmd.ControllerOptions{MaxConcurrentReconciles: 20},
		heartbeat:  heartbeatcmd.Options{ExtensionName: name, Namespace: namespace, RenewIntervalSeconds: 30},
		types:      []string{recordType},
		actuator:   actuator.NewOptions(),
	}
}

func (o *options) aggregate() controllercmd.OptionAggregator {
	return controllercmd.NewOptionAggregator(&o.rest, &o.manager, &o.general, &o.reconciler,
		controllercmd.PrefixOption("dnsrecord-", &o.controller), controllercmd.PrefixOption("heartbeat-", &o.heartbeat))
}

func (o *options) addFlags(flags *pflag.FlagSet) {
	all := o.aggregate()
	all.AddFlags(flags)
	flags.StringSliceVar(&o.types, "types", o.types, "spec.type of the DNSRecords that this controller reconciles. "+
		"No other controller of the landscape may have one of them.")
	flags.StringSliceVar(&o.actuator.LocalNamespaces, "local-namespaces", nil, "Namespaces of the Kubizone of this cluster that a Secret "+
		"without a kubeconfig may name. A user of a project that brings such a Secret writes there with the rights of this controller.")
	flags.DurationVar(&o.actuator.ReadyTimeout, "ready-timeout", o.actuator.ReadyTimeout, "How long a reconciliation waits until a "+
		"Record is delivered to every server. gardenlet waits 2m in all.")
	flags.DurationVar(&o.actuator.RetryInterval, "retry-interval", o.actuator.RetryInterval, "How long after an error a DNSRecord is "+
		"reconciled again.")
}

func (o *options) completeOptions() error {
	all := o.aggregate()
	if err := all.Complete(); err != nil {
		return err
	}
	if err := o.heartbeat.Validate(); err != nil {
		return err
	}
	if o.heartbeat.Namespace == "" {
		return fmt.Errorf("--heartbeat-namespace is empty: give the namespace of this process, or set LEADER_ELECTION_NAMESPACE")
	}
	if len(o.types) == 0 {
		return fmt.Errorf("--types is empty: give one type at least")
	}
	if o.actuator.ReadyTimeout <= 0 || o.actuator.ReadyTimeout >= gardenletTimeout {
		return fmt.Errorf("--ready-timeout %s: it is more than 0 and less than %s, the time that gardenlet waits", o.actuator.ReadyTimeout,
			gardenletTimeout)
	}
	return nil
}

func newCommand() *cobra.Command {
	o := newOptions()
	cmd := &cobra.Command{
		Use:           name,
		Short:         "Makes a Record of Kubizone of each DNSRecord of Gardener",
		Args:          cobra.NoArgs,
		SilenceUsage:  true,
		SilenceErrors: false,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if err := o.completeOptions(); err != nil {
				return err
			}
			return runManager(cmd.Context(), o)
		},
	}
	o.addFlags(cmd.Flags())
	return cmd
}

func runManager(ctx context.Context, o *options) error {
	config := o.rest.Completed().Config
	// A migration of a seed takes thousands of requests.
	config.QPS = -1
	settings := o.manager.Completed().Options()
	settings.Scheme = extensionscontroller.ExtensionsScheme
	log.SetLogger(settings.Logger) // the default for libraries
	// Cache only the Leases of the heartbeat's namespace.
	settings.Cache.ByObject = map[client.Object]cache.ByObject{
		&coordinationv1.Lease{}: {Namespaces: map[string]cache.Config{o.heartbeat.Completed().Namespace: {}}},
	}
	mgr, err := manager.New(config, settings)
	if err != nil {
		return fmt.Errorf("manager: %w", err)
	}
	if err := mgr.AddHealthzCheck("ping", healthz.Ping); err != nil {
		return err
	}
	if err := mgr.AddReadyzCheck("informer-sync", gardenerhealthz.NewCacheSyncHealthz(mgr.GetCache())); err != nil {
		return err
	}
	if err := addControllers(ctx, mgr, config, o); err != nil {
		return err
	}
	return mgr.Start(ctx)
}

func addControllers(ctx context.Context, mgr manager.Manager, config *rest.Config, o *options) error {
	if len(o.actuator.LocalNamespaces) > 0 {
		o.actuator.Local = config
	}
	ignore := o.reconciler.Completed().IgnoreOperationAnnotation
	does := actuator.New(mgr.GetClient(), mgr.GetAPIReader(), o.actuator)
	for _, of := range o.types {
		settings := o.controller.Completed().Options()
		// The library names every controller "dnsrecord".
		unchecked := true
		settings.SkipNameValidation = &unchecked
		if err := dnsrecord.Add(mgr, dnsrecord.AddArgs{
			Actuator:                  does,
			ControllerOptions:         settings,
			Predicates:                dnsrecord.DefaultPredicates(ctx, mgr, ignore),
			Type:                      of,
			IgnoreOperationAnnotation: ignore,
			ExtensionClasses:          o.general.Completed().ExtensionClasses,
		}); err != nil {
			return fmt.Errorf("controller for type %s: %w", of, err)
		}
	}
	beat := o.heartbeat.Completed()
	return heartbeat.Add(mgr, heartbeat.AddArgs{ControllerOptions: controller.Options{}, ExtensionName: beat.ExtensionName,
		Namespace: beat.Namespace, RenewIntervalSeconds: beat.RenewIntervalSeconds, Clock: clock.RealClock{}})
}
