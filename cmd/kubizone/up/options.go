// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

package up

import (
	"errors"
	"fmt"
	"io"
	"net"
	"net/netip"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
	"k8s.io/apimachinery/pkg/util/validation"

	"kubi.zone/kubizone/cmd/kubizone/delivering"
	"kubi.zone/kubizone/cmd/kubizone/dnsserving"
	"kubi.zone/kubizone/cmd/kubizone/tracing"
	"kubi.zone/kubizone/pkg/bind9/signing"
	"kubi.zone/kubizone/pkg/client/load"
)

type Options struct {
	dnsserving.Options
	DataDir string
	// QuotaBytes is the size of the store above which etcd rejects writes, and has no flag; 0 means the default.
	QuotaBytes    int64
	Listen        string
	Load          []string
	LoadNamespace string
	// AllowInlineSecrets accepts secrets in a DNSClass's spec.
	AllowInlineSecrets bool
	ACME               bool
	SecretsDir         string
	Traces             tracing.Options
	// Verbosity is -v; above 3 etcd logs.
	Verbosity int
}

func NewOptions() *Options {
	return &Options{
		Options:       dnsserving.NewOptions(),
		DataDir:       "kubizone-data",
		Listen:        "127.0.0.1:7443",
		LoadNamespace: "default",
	}
}

func (o *Options) AddFlags(flags *pflag.FlagSet) {
	o.Options.AddFlags(flags)
	flags.StringVar(&o.DataDir, "data-dir", o.DataDir, "directory of all data: etcd, certificates, the kubeconfig; created if missing")
	flags.StringVar(&o.Listen, "listen", o.Listen, "address and port of the API; port 0 takes a free one")
	flags.StringArrayVar(&o.Load, "load", o.Load, "PATH, VIEW=PATH or [VIEW=]NAME=PATH of manifests, a zone file or a directory of both, "+
		"loaded through the API before it is ready; NAME, with a dot in it, is the zone of a file that does not say it (example.org.zone "+
		"and db.example.org need none); repeatable")
	flags.StringVar(&o.LoadNamespace, "load-namespace", o.LoadNamespace, "namespace of the objects made from zone files, "+
		"and of manifests that name none")
	flags.BoolVar(&o.AllowInlineSecrets, "allow-inline-secrets", o.AllowInlineSecrets, "admit DNSClasses with a secret in the class, "+
		"which every user who may read classes sees: for tests")
	o.Traces.AddFlags(flags)
	flags.BoolVar(&o.ACME, "acme", o.ACME, "serve the group acme.kubi.zone, a DNS-01 webhook solver for cert-manager")
	flags.StringVar(&o.SecretsDir, "secrets-dir", o.SecretsDir, "directory of the Secrets that DNSClasses name, "+
		"as files NAMESPACE/NAME/KEY; a change is seen within seconds (default: secrets in --data-dir, if it exists)")
}

type Config struct {
	dnsserving.Config
	DataDir            string
	QuotaBytes         int64
	Listen             netip.AddrPort
	Load               []load.Source
	LoadNamespace      string
	AllowInlineSecrets bool
	ACME               bool
	SecretsDir         string
	Retries            delivering.Retries
	ParentServers      signing.ParentServers
	Spans              *tracing.Config // nil: no traces
	Warnings           []string
	Verbosity          int
	Out                io.Writer
}

// Complete returns the configuration, or all errors of the flags together (U1).
func (o *Options) Complete(out io.Writer) (*Config, error) {
	c := &Config{DataDir: o.DataDir, QuotaBytes: o.QuotaBytes,
		LoadNamespace: o.LoadNamespace, AllowInlineSecrets: o.AllowInlineSecrets, ACME: o.ACME,
		SecretsDir: o.SecretsDir, Verbosity: o.Verbosity, Out: out, ParentServers: signing.LookupParentServers(
			net.DefaultResolver)}
	var wrong []error
	fault := func(err error) { wrong = append(wrong, err) }

	if o.DataDir == "" {
		fault(errors.New("--data-dir: must not be empty; name a directory that this user may write"))
	}
	var err error
	c.Listen, err = dnsserving.ListenAddress("--listen", o.Listen, 7443)
	fault(err)
	retries, err := delivering.ReadRetries()
	fault(err)
	c.Retries = retries
	spans, err := o.Traces.Complete()
	fault(err)
	if o.SecretsDir == "" {
		// The default directory may come later, and may be absent.
		c.SecretsDir = filepath.Join(o.DataDir, "secrets")
	} else {
		if info, err := os.Stat(o.SecretsDir); err != nil {
			fault(fmt.Errorf("--secrets-dir: %w; name a directory with files NAMESPACE/NAME/KEY", err))
		} else if !info.IsDir() {
			fault(fmt.Errorf("--secrets-dir %s: is no directory; name one with files NAMESPACE/NAME/KEY", o.SecretsDir))
		}
	}

	var warnings []string
	c.Config, warnings, err = o.Options.Complete()
	fault(err)
	c.Spans = spans
	c.Warnings = append(c.Warnings, warnings...)

	// Files are parsed later, and a missing file is reported now, before etcd starts.
	for _, text := range o.Load {
		source, err := load.ParseSource(text)
		if err == nil {
			_, err = source.Files()
		}
		if err != nil {
			fault(fmt.Errorf("--load: %w", err))
			continue
		}
		c.Load = append(c.Load, source)
	}

	if broken := validation.IsDNS1123Label(o.LoadNamespace); len(broken) > 0 {
		fault(fmt.Errorf("--load-namespace %q: %s", o.LoadNamespace, strings.Join(broken, ", ")))
	}
	for _, source := range c.Load {
		// DNS views without zones are no mistake, and loaded views without DNS mostly are.
		if source.View != "" && !slices.Contains(o.DNSViews, source.View) {
			c.Warnings = append(c.Warnings, fmt.Sprintf("view %s is loaded but not served by DNS: add --dns-view %s to serve it",
				source.View, source.View))
		}
	}
	return c, errors.Join(wrong...)
}

func NewCommand(verbosity *int) *cobra.Command {
	options := NewOptions()
	command := &cobra.Command{
		Use:   "up",
		Short: "run everything in one process: API, etcd, views and the hidden primary",
		Long: `Run everything in one process until Ctrl-C: the API server with its own etcd in --data-dir, and a hidden primary
that secondaries transfer zones from. The administrator's kubeconfig is in the data directory. A line that begins with
"ready" says when it serves.`,
		Example: `  kubizone up --data-dir ./data --load artifacts/examples
  kubizone up --data-dir ./data --load root=root.zone --dns-view "" --dns-view root --transfer-to 192.0.2.53`,
		Args: cobra.NoArgs,
		RunE: func(command *cobra.Command, _ []string) error {
			options.Verbosity = *verbosity
			config, err := options.Complete(command.OutOrStdout())
			if err != nil {
				return err
			}
			return config.Run(command.Context())
		},
	}
	options.AddFlags(command.Flags())
	return command
}
