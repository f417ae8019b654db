// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

package primary

import (
	"errors"
	"fmt"
	"io"
	"net/netip"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/validation"
	"k8s.io/client-go/rest"

	"kubi.zone/kubizone/cmd/kubeconfig"
	"kubi.zone/kubizone/cmd/kubizone/dnsserving"
	"kubi.zone/kubizone/cmd/kubizone/process"
	"kubi.zone/kubizone/cmd/kubizone/tracing"
	"kubi.zone/kubizone/cmd/program"
)

type Options struct {
	dnsserving.Options
	Client       *kubeconfig.Options
	HealthListen string
	SecretsDir   string
	Service      string
	Traces       tracing.Options
}

func NewOptions() *Options {
	return &Options{Options: dnsserving.NewOptions(), Client: kubeconfig.NewOptions(), HealthListen: ":8080"}
}

func (o *Options) AddFlags(flags *pflag.FlagSet) {
	o.Options.AddFlags(flags)
	o.Client.AddFlags(flags)
	o.Traces.AddFlags(flags)
	flags.StringVar(&o.HealthListen, "health-listen", o.HealthListen, "address and port of /livez, /readyz and /metrics, over HTTP; "+
		"port 0 takes a free one")
	flags.StringVar(&o.SecretsDir, "secrets-dir", o.SecretsDir, "directory with the Secrets that DNSClasses name, "+
		"as files NAMESPACE/NAME/KEY, instead of those of the cluster")
	flags.StringVar(&o.Service, "service", o.Service, "Service of this pod, NAME or NAMESPACE/NAME: the first NOTIFY is sent when the "+
		"Service has this pod as a ready endpoint, or after half a minute; empty: at once")
}

type Config struct {
	dnsserving.Config
	HealthListen netip.AddrPort
	Client       *rest.Config
	// Server is the API server in this process; nil if the API server is another process.
	Server *process.Server
	// SecretsDir is a directory with Secrets as files; "" if Secrets are read from the cluster.
	SecretsDir string
	// Service is the Kubernetes Service where secondaries reach this process. The first NOTIFY waits, at most half a
	// minute, until this pod is an endpoint. Zero means no wait.
	Service types.NamespacedName
	// Spans exports traces; nil for none.
	Spans    *tracing.Config
	Warnings []string
	Out      io.Writer
}

// Complete returns the configuration, or all errors of the flags together.
func (o *Options) Complete(out io.Writer) (*Config, error) {
	c := &Config{Out: out, SecretsDir: o.SecretsDir}
	var dns, health, client, service, spans error
	var namespace string
	c.Config, c.Warnings, dns = o.Options.Complete()
	c.HealthListen, health = dnsserving.ListenAddress("--health-listen", o.HealthListen, 8080)
	c.Client, namespace, client = o.Client.ProcessClient()
	c.Spans, spans = o.Traces.Complete()
	if o.Service != "" {
		c.Service, service = o.Client.Object(o.Service, namespace)
		// Without a kubeconfig the namespace is unknown, and its own error says so.
		if client == nil && len(validation.IsDNS1123Label(c.Service.Namespace))+len(validation.IsDNS1123Label(c.Service.Name)) > 0 {
			service = fmt.Errorf("--service %q: write NAME or NAMESPACE/NAME of a Service", o.Service)
		}
	}
	return c, errors.Join(dns, health, client, service, spans)
}

func NewCommand() *cobra.Command {
	return program.AddRun(&cobra.Command{
		Use:   "primary",
		Short: "serve zones of the API to secondaries",
		Long: `Serve the zones of an API to secondaries until SIGTERM: a hidden primary that answers SOA, AXFR and IXFR and sends NOTIFY.
Views are served to those that --transfer-allow lets in, the zones of each DNSClass with a block transfer to that class's
secondaries; any number of primaries serves the same. It reads as the user of the kubeconfig, or as its pod's ServiceAccount,
which needs list and watch of zones, deliveries and dnsclasses, get of dnsclasses, zones/entries and zones/changes, patch of
deliveries/notify, get of the Secrets that DNSClasses name, and with --service list of endpointslices in its namespace. A
line that begins with "ready" says when it serves.`,
		Example: `  kubizone primary --dns-listen :53 --transfer-allow 192.0.2.0/24 --transfer-to 192.0.2.53
  kubizone primary --kubeconfig ./data/kubeconfig --dns-listen 127.0.0.1:5301 --health-listen 127.0.0.1:0`,
	}, NewOptions())
}
