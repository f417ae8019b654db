// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

package fleet

import (
	"errors"
	"fmt"
	"io"
	"net/netip"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/validation"
	"k8s.io/client-go/rest"

	"kubi.zone/kubizone/cmd/kubeconfig"
	"kubi.zone/kubizone/cmd/kubizone/dnsserving"
	"kubi.zone/kubizone/cmd/program"
	"kubi.zone/kubizone/pkg/bind9/fleet/render"
)

type Options struct {
	Client                     *kubeconfig.Options
	HealthListen, Lease        string
	ServerNamespaces           []string
	BINDRepository, AgentImage string
	PrimaryService             string
	KeyReaders, AgentReaders   []string
}

func NewOptions() *Options {
	return &Options{
		Client: kubeconfig.NewOptions(), HealthListen: ":8080", Lease: "kubizone-system/kubizone-fleet",
		BINDRepository: "docker.io/internetsystemsconsortium/bind9",
	}
}

func (o *Options) AddFlags(flags *pflag.FlagSet) {
	o.Client.AddFlags(flags)
	flags.StringVar(&o.HealthListen, "health-listen", o.HealthListen, "address and port of /livez, /readyz and /metrics, over HTTP; "+
		"port 0 takes a free one")
	flags.StringVar(&o.Lease, "lease", o.Lease, "NAMESPACE/NAME of the Lease by which one of several processes is elected; it marks the "+
		"objects that the fleet creates, and objects with another mark are never changed. Agents are reached from its namespace")
	flags.StringSliceVar(&o.ServerNamespaces, "server-namespace", nil, "namespace in which servers are run; repeated for more, "+
		"\"*\" for all. Bind9Clusters in others wait")
	flags.StringVar(&o.BINDRepository, "bind9-repository", o.BINDRepository, "image of BIND without its tag, which is the version, "+
		"where an object names none")
	flags.StringVar(&o.AgentImage, "agent-image", o.AgentImage, "image of kubizone, for kubizone bind-agent, where an object names none")
	flags.StringSliceVar(&o.KeyReaders, "key-reader", nil, "NAMESPACE/NAME of a ServiceAccount, of the controller or the hidden primary, "+
		"that may read the TSIG key of each cluster; repeated for more. A Role for that Secret alone is made with it")
	flags.StringSliceVar(&o.AgentReaders, "signer-agent-reader", nil, "NAMESPACE/NAME of a ServiceAccount, of the controller, "+
		"that may read the token of the agent of each signer; repeated for more. A Role for that Secret alone is made with it")
	flags.StringVar(&o.PrimaryService, "primary-service", o.PrimaryService, "NAMESPACE/NAME of the Service of the hidden primary, "+
		"from which servers transfer the zones of catalogs")
}

type Config struct {
	HealthListen   netip.AddrPort
	Client         *rest.Config
	Lease          types.NamespacedName
	Namespaces     []string
	Platform       render.Platform
	PrimaryService types.NamespacedName
	Out            io.Writer
}

// Complete returns the configuration, or all errors of the flags together.
func (o *Options) Complete(out io.Writer) (*Config, error) {
	c := &Config{Out: out}
	var wrong []error
	fault := func(flag, format string, arguments ...any) {
		wrong = append(wrong, fmt.Errorf(flag+" "+format, arguments...))
	}
	var err error
	c.HealthListen, err = dnsserving.ListenAddress("--health-listen", o.HealthListen, 8080)
	wrong = append(wrong, err)
	if c.Lease, err = parseNamespaced(o.Lease); err != nil {
		fault("--lease", "%q: %w", o.Lease, err)
	}
	// The Lease names the installation, so that two fleets in a cluster never share objects.
	c.Platform = render.Platform{
		Installation: c.Lease.Namespace + "." + c.Lease.Name, BINDRepository: o.BINDRepository, AgentImage: o.AgentImage,
		ClientNamespace: c.Lease.Namespace,
	}
	if len(validation.IsValidLabelValue(c.Platform.Installation)) > 0 {
		fault("--lease", "%q: namespace and name together must have at most 62 characters, because they are the value of a label", o.Lease)
	}
	if o.AgentImage == "" {
		fault("--agent-image", "is required: the image of this program")
	}
	if len(o.ServerNamespaces) == 0 {
		fault("--server-namespace", "is required: name the namespaces in which servers are run, or \"*\" for all")
	}
	for _, namespace := range o.ServerNamespaces {
		// All namespaces, whatever else the flag names.
		if namespace == "*" {
			c.Namespaces = []string{""}
			break
		}
		if len(validation.IsDNS1123Label(namespace)) > 0 {
			fault("--server-namespace", "%q: is no name of a namespace", namespace)
		}
		c.Namespaces = append(c.Namespaces, namespace)
	}
	for _, readers := range []struct {
		flag  string
		texts []string
		of    *[]types.NamespacedName
	}{{"--key-reader", o.KeyReaders, &c.Platform.KeyReaders}, {"--signer-agent-reader", o.AgentReaders, &c.Platform.AgentReaders}} {
		for _, text := range readers.texts {
			reader, err := parseNamespaced(text)
			if err != nil {
				fault(readers.flag, "%q: %w", text, err)
			}
			*readers.of = append(*readers.of, reader)
		}
	}
	if o.PrimaryService != "" {
		if c.PrimaryService, err = parseNamespaced(o.PrimaryService); err != nil {
			fault("--primary-service", "%q: %w", o.PrimaryService, err)
		}
	}
	c.Client, _, err = o.Client.ProcessClient()
	return c, errors.Join(append(wrong, err)...)
}

func parseNamespaced(text string) (types.NamespacedName, error) {
	namespace, name, ok := strings.Cut(text, "/")
	if !ok || namespace == "" || name == "" || strings.Contains(name, "/") {
		return types.NamespacedName{}, errors.New("write NAMESPACE/NAME")
	}
	return types.NamespacedName{Namespace: namespace, Name: name}, nil
}

func NewCommand() *cobra.Command {
	return program.AddRun(&cobra.Command{
		Use:   "fleet",
		Short: "run BIND servers for Bind9Clusters and Bind9Instances",
		Long: `Run BIND servers in the cluster for the objects of bind9.kubi.zone until SIGTERM (docs/fleet.md): it makes
Deployments, Services, Secrets and other objects of a server, keeps them up to date, and removes them with the
object. It acts as the
user of the kubeconfig, or as its pod's ServiceAccount. A line that begins with "ready" shows that it could work, one that
begins with "leading" that it does.`,
		Example: `  kubizone fleet --server-namespace dns-system --agent-image registry.example/kubizone:v0.5.0 --primary-service ` +
			`kubizone-system/kubizone-primary`,
	}, NewOptions())
}
