// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

package externaldns

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/netip"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
	"k8s.io/apimachinery/pkg/util/cache"
	"k8s.io/apimachinery/pkg/util/validation"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"

	"kubi.zone/kubizone/api/client/clientset/versioned"
	"kubi.zone/kubizone/cmd/kubeconfig"
	"kubi.zone/kubizone/cmd/kubizone/dnsserving"
	"kubi.zone/kubizone/cmd/kubizone/process"
	"kubi.zone/kubizone/cmd/program"
	"kubi.zone/kubizone/pkg/client/externaldns"
	"kubi.zone/kubizone/pkg/kit/heartbeat"
	"kubi.zone/kubizone/pkg/kit/version"
)

type Options struct {
	Client       *kubeconfig.Options
	Local        string
	Listen       string
	HealthListen string
	Mapping      externaldns.Mapping
	Search       bool
}

func NewOptions() *Options {
	return &Options{Client: kubeconfig.NewOptions(), Listen: "127.0.0.1:8888", HealthListen: ":8080", Search: true,
		Mapping: externaldns.Mapping{Owner: "default", Template: usualTemplate}}
}

const usualTemplate = "{cluster}-{namespace}"

func (o *Options) AddFlags(flags *pflag.FlagSet) {
	o.Client.AddFlagsWithoutCluster(flags)
	flags.StringVar(&o.Listen, "listen", o.Listen, "loopback address and port for external-dns, its --webhook-provider-url; "+
		"port 0 takes a free one")
	flags.StringVar(&o.HealthListen, "health-listen", o.HealthListen, "address and port of /healthz, /readyz and /metrics, over HTTP; "+
		"port 0 takes a free one")
	flags.StringVar(&o.Mapping.Owner, "owner", o.Mapping.Owner, "value of the label kubi.zone/external-dns of its Records: two "+
		"external-dns in one cluster need two")
	flags.StringVar(&o.Mapping.Default, "default-namespace", "", "namespace of endpoints that come from no object of a namespace, such "+
		"as those of nodes; absent: they are left out")
	flags.StringVar(&o.Mapping.Cluster, "cluster", "", "name of this cluster at the central Kubizone of --kubeconfig: a namespace there "+
		"is used if its label kubi.zone/cluster says so")
	flags.StringVar(&o.Mapping.Template, "namespace-template", o.Mapping.Template, "with --cluster, namespace at the central "+
		"Kubizone, with {namespace} and perhaps {cluster}")
	flags.BoolVar(&o.Search, "search", o.Search, "for a refused name, search the objects that external-dns does not name; set it to "+
		"false if external-dns filters objects or annotations (--annotation-prefix), because the search would publish those that "+
		"it leaves out")
	flags.StringVar(&o.Local, "local-kubeconfig", "", "kubeconfig of the cluster that external-dns reads, which gets the Events; absent: "+
		"with --cluster that of the pod, else that of the Records")
}

type Config struct {
	externaldns.Mapping
	Listen, HealthListen netip.AddrPort
	// Records configures the client for Records, Local the client for source objects.
	Records, Local *rest.Config
	Out            io.Writer
	Search         bool // for objects that external-dns does not name
}

// Complete returns the configuration, or all errors of the flags together.
func (o *Options) Complete(out io.Writer) (*Config, error) {
	c := &Config{Mapping: o.Mapping, Search: o.Search, Out: out}
	var wrong []error
	require := func(is bool, format string, arguments ...any) {
		if !is {
			wrong = append(wrong, fmt.Errorf(format, arguments...))
		}
	}
	isLabel := func(text string) bool { return len(validation.IsDNS1123Label(text)) == 0 }
	var noListen, noHealth, noRecords, err error
	c.Listen, noListen = dnsserving.ListenAddress("--listen", o.Listen, 8888)
	c.HealthListen, noHealth = dnsserving.ListenAddress("--health-listen", o.HealthListen, 8080)
	c.Records, _, noRecords = o.Client.ProcessClient()
	// An address that does not parse has its own error.
	require(noListen != nil || c.Listen.Addr().IsLoopback(), "--listen %s: the protocol has no authentication, so it is served on "+
		"loopback alone; run it in the pod of external-dns", o.Listen)
	require(isLabel(c.Owner), "--owner %q: it is one DNS label, in small letters", c.Owner)
	require(c.Cluster == "" || isLabel(c.Cluster), "--cluster %q: it is one DNS label, in small letters", c.Cluster)
	require(c.Cluster != "" || c.Template == usualTemplate,
		"--namespace-template: it needs --cluster, the name of this cluster at the central Kubizone")
	require(strings.Contains(c.Template, "{namespace}"), "--namespace-template %q: without {namespace} all tenants would share one; "+
		"write it, as in %s", c.Template, usualTemplate)
	// A single cluster has both the Records and the source objects, unless a flag says otherwise.
	if c.Local = c.Records; o.Local != "" || c.Cluster != "" {
		c.Local, err = clientcmd.BuildConfigFromFlags("", o.Local) // without a file the pod's configuration
		require(err == nil, "--local-kubeconfig: %w; name a readable kubeconfig of the cluster that external-dns reads", err)
	}
	return c, errors.Join(append(wrong, noListen, noHealth, noRecords)...)
}

func NewCommand() *cobra.Command {
	return program.AddRun(&cobra.Command{
		Use:   "external-dns",
		Short: "webhook provider of external-dns: its endpoints become Records",
		Long: `Serve the webhook protocol of external-dns v0.22 on loopback, beside it in its pod. Each endpoint becomes a Record in the
namespace of the Service, Ingress, Route or DNSEndpoint that it comes from, if a RoleBinding there lets this ServiceAccount
write Records. What is refused is an Event of that object. docs/external-dns.md has the manifests.`,
		Example: `  kubizone external-dns --owner default
  kubizone external-dns --kubeconfig /etc/central/kubeconfig --cluster paris --namespace-template '{cluster}-{namespace}'`,
	}, NewOptions())
}

const requestTimeout = 10 * time.Second

// Run serves until ctx ends, and then returns nil.
func (c *Config) Run(ctx context.Context) error {
	shell, err := process.Open(c.HealthListen, c.Out)
	if err != nil {
		return err
	}
	defer shell.Close()
	listener, err := process.BindPort("--listen", c.Listen.String())
	if err != nil {
		return err
	}
	defer listener.Close()
	p, err := c.newProvider()
	if err != nil {
		return err
	}
	shell.Client = p.records.RESTClient()
	identity, err := process.NewIdentity()
	if err != nil {
		return err
	}
	// The Lease is in the cluster of external-dns, beside the objects.
	shell.RenewLease(heartbeat.ExternalDNS, heartbeat.PodNamespace(), identity, p.local)
	return shell.Run(ctx, func(running, _ context.Context) error {
		// external-dns must close idle connections first, after 90 s, because it exits after a POST on a closed
		// connection.
		serving := &http.Server{Handler: newHandler(running, p), ReadTimeout: answerTime, WriteTimeout: 2 * answerTime,
			IdleTimeout: 5 * time.Minute}
		stop := context.AfterFunc(running, func() { _ = serving.Close() })
		defer stop()
		shell.Printf("ready: serving external-dns on http://%s as owner %s", listener.Addr(), c.Owner)
		if err := serving.Serve(listener); !errors.Is(err, http.ErrServerClosed) {
			return err
		}
		return nil
	})
}

// newProvider returns a provider with two sets of clients: for Records at the Kubizone, and for source objects, Events
// and the Lease in the cluster of external-dns.
func (c *Config) newProvider() (*provider, error) {
	toRecords, toObjects := withoutWaiting(c.Records), withoutWaiting(c.Local)
	records, noRecords := versioned.NewForConfig(toRecords)
	central, noCentral := kubernetes.NewForConfig(toRecords)
	local, noLocal := kubernetes.NewForConfig(toObjects)
	objects, noObjects := dynamic.NewForConfig(toObjects)
	if err := errors.Join(noRecords, noCentral, noLocal, noObjects); err != nil {
		return nil, err
	}
	return &provider{Mapping: c.Mapping, search: c.Search,
		records: records.KubizoneV1alpha1(), central: central, local: local.CoordinationV1(),
		verdicts: cache.NewLRUExpireCache(maxRemembered), others: cache.NewLRUExpireCache(maxRemembered),
		reporter: &reporter{objects: objects, events: local.EventsV1(), recent: cache.NewLRUExpireCache(maxEvents)}}, nil
}

func withoutWaiting(config *rest.Config) *rest.Config {
	config = rest.CopyConfig(config)
	// Without a rate limit, requests for a tenant without budget block no worker.
	config.UserAgent, config.QPS, config.Timeout = version.UserAgent(externaldns.FieldManager), -1, requestTimeout
	config.WarningHandlerWithContext = rest.NoWarnings{}
	config.AcceptContentTypes = "application/vnd.kubernetes.protobuf,application/json" // for long lists
	config.Wrap(func(next http.RoundTripper) http.RoundTripper { return unwaiting{next} })
	return config
}

// unwaiting removes Retry-After, for which client-go would wait.
type unwaiting struct{ http.RoundTripper }

func (u unwaiting) RoundTrip(r *http.Request) (*http.Response, error) {
	response, err := u.RoundTripper.RoundTrip(r)
	if err == nil {
		response.Header.Del("Retry-After")
	}
	return response, err
}

// WrappedRoundTripper lets client-go close idle connections.
func (u unwaiting) WrappedRoundTripper() http.RoundTripper { return u.RoundTripper }
