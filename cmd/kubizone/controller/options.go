// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

package controller

import (
	"errors"
	"fmt"
	"io"
	"net/netip"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/rest"

	"kubi.zone/kubizone/cmd/kubeconfig"
	"kubi.zone/kubizone/cmd/kubizone/delivering"
	"kubi.zone/kubizone/cmd/kubizone/dnsserving"
	"kubi.zone/kubizone/cmd/kubizone/process"
	"kubi.zone/kubizone/cmd/kubizone/tracing"
	"kubi.zone/kubizone/cmd/program"
)

type Options struct {
	Client        *kubeconfig.Options
	HealthListen  string
	Lease         string
	LeaseDuration time.Duration
	Traces        tracing.Options
}

func NewOptions() *Options {
	return &Options{
		Client: kubeconfig.NewOptions(), HealthListen: ":8080",
		Lease: "kubizone-system/kubizone-controller", LeaseDuration: 15 * time.Second,
	}
}

func (o *Options) AddFlags(flags *pflag.FlagSet) {
	o.Client.AddFlags(flags)
	o.Traces.AddFlags(flags)
	flags.StringVar(&o.HealthListen, "health-listen", o.HealthListen, "address and port of /livez, /readyz and /metrics, over HTTP; "+
		"port 0 takes a free one")
	flags.StringVar(&o.Lease, "lease", o.Lease, "NAMESPACE/NAME of the Lease by which one of several controllers is elected")
	flags.DurationVar(&o.LeaseDuration, "lease-duration", o.LeaseDuration, "time after which another controller may take a Lease that "+
		"is not renewed; a controller that loses it ends its calls within half of this")
}

type Config struct {
	delivering.Retries
	HealthListen netip.AddrPort
	Client       *rest.Config
	// Server is nil if the API server is another process.
	Server        *process.Server
	Lease         types.NamespacedName
	LeaseDuration time.Duration
	Traces        *tracing.Config
	Out           io.Writer
}

// Complete returns the configuration, or all errors of the flags together.
func (o *Options) Complete(out io.Writer) (*Config, error) {
	c := &Config{LeaseDuration: o.LeaseDuration, Out: out}
	var err error
	c.Retries, err = delivering.ReadRetries()
	wrong := []error{err}
	c.HealthListen, err = dnsserving.ListenAddress("--health-listen", o.HealthListen, 8080)
	wrong = append(wrong, err)
	namespace, name, ok := strings.Cut(o.Lease, "/")
	if !ok || namespace == "" || name == "" || strings.Contains(name, "/") {
		wrong = append(wrong, fmt.Errorf("--lease %q: write NAMESPACE/NAME", o.Lease))
	}
	c.Lease = types.NamespacedName{Namespace: namespace, Name: name}
	if o.LeaseDuration < 3*time.Second {
		wrong = append(wrong, fmt.Errorf("--lease-duration %s: must be at least 3s, for it is renewed every fifth of it", o.LeaseDuration))
	}
	c.Traces, err = o.Traces.Complete()
	wrong = append(wrong, err)
	c.Client, _, err = o.Client.ProcessClient()
	return c, errors.Join(append(wrong, err)...)
}

func NewCommand() *cobra.Command {
	return program.AddRun(&cobra.Command{
		Use:   "controller",
		Short: "deliver zones of the API by their DNSClasses",
		Long: `Deliver the zones of an API by their DNSClasses until SIGTERM: to secondaries, by dynamic update (RFC 2136) and
to webhooks. Deliveries, and the condition Ready of Zones and Records, show the progress of each. It acts as the user of the
kubeconfig, or as its pod's
ServiceAccount; Secrets are got by the names that DNSClasses have, and not listed. A line that begins with "ready" shows
that it could work, one that begins with "leading" that it does.`,
		Example: `  kubizone controller --kubeconfig cluster.kubeconfig --health-listen 127.0.0.1:0`,
	}, NewOptions())
}
