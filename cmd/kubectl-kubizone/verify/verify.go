// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

package verify

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/netip"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	corev1client "k8s.io/client-go/kubernetes/typed/core/v1"

	"kubi.zone/kubizone/api/client/clientset/versioned"
	"kubi.zone/kubizone/api/kubizone/v1alpha1"
	"kubi.zone/kubizone/cmd/kubeconfig"
	"kubi.zone/kubizone/cmd/output"
	"kubi.zone/kubizone/cmd/program"
	"kubi.zone/kubizone/pkg/client/load"
	"kubi.zone/kubizone/pkg/client/verify"
	"kubi.zone/kubizone/pkg/delivery/secrets"
	"kubi.zone/kubizone/pkg/dns/serial"
	"kubi.zone/kubizone/pkg/dns/transfer"
	"kubi.zone/kubizone/pkg/dns/tsig"
	"kubi.zone/kubizone/pkg/kit/terminal"
	"kubi.zone/kubizone/pkg/zone/lawform"
)

var (
	ErrDifferent = program.No("not every server has what the zone contains")
	// ErrUnanswered is returned if no server differs, but some did not answer.
	ErrUnanswered = errors.New("not every server could be compared: see Failed and ? above")
)

const shown = 20

type Options struct {
	Client      *kubeconfig.Options
	Servers     []string
	TSIGKeyFile string
	SecretsDir  string
	Repair      bool
	format      *output.Format
}

func NewOptions() *Options {
	return &Options{Client: kubeconfig.NewOptions(), format: &output.Format{}}
}

func (o *Options) AddFlags(flags *pflag.FlagSet) {
	o.Client.AddFlagsWithNamespace(flags)
	// kubectl's flag --server is the API server.
	flags.StringSliceVar(&o.Servers, "name-server", o.Servers, "name server to ask, ADDRESS[:PORT] or NAME[:PORT]; repeatable")
	flags.StringVar(&o.TSIGKeyFile, "tsig-key-file", o.TSIGKeyFile, "file of TSIG keys as tsig-keygen writes them; "+
		"the first one signs questions to a --name-server, and to servers of classes whose key cannot be read, "+
		"and has to sign their answers")
	flags.StringVar(&o.SecretsDir, "secrets-dir", o.SecretsDir, "directory of the Secrets that classes name, "+
		"files NAMESPACE/NAME/KEY (default: the cluster's, as far as the kubeconfig's user may read them)")
	flags.BoolVar(&o.Repair, "repair", o.Repair, "first have each class compare and repair the zone, and wait for that, two minutes at "+
		"most; needs the right to patch the Zone")
}

type Result struct {
	Zone   string `json:"zone"`
	FQDN   string `json:"fqdn"`
	View   string `json:"view,omitempty"`
	Serial uint32 `json:"serial"`
	RRsets int    `json:"rrsets"`
	// Newest is the newest serial if changes are held back, and NotDelivered the reason of the condition Settled.
	Newest       uint32 `json:"newest,omitempty"`
	NotDelivered string `json:"notDelivered,omitempty"`

	Servers []verify.Report `json:"servers"`
}

// Run compares a zone, NAMESPACE/NAME or NAME. The error is ErrDifferent, else ErrUnanswered.
func (o *Options) Run(ctx context.Context, text string, out, remarks io.Writer) error {
	run := &run{remarks: remarks, keys: map[v1alpha1.SecretReference]*transfer.Key{}}
	if o.TSIGKeyFile != "" {
		keys, warnings, err := tsig.ReadKeyFile(o.TSIGKeyFile)
		if err != nil {
			return fmt.Errorf("--tsig-key-file: %w", err)
		}
		for _, warning := range warnings {
			terminal.Fprintf(remarks, "warning: %s\n", warning)
		}
		run.key = &transfer.Key{Name: keys[0].Name, Algorithm: string(keys[0].Algorithm), MAC: keys[0].MAC}
	}
	for _, server := range o.Servers {
		address, err := parseAddress(server)
		if err != nil {
			return fmt.Errorf("--name-server %w", err)
		}
		run.addServer(askedServer{address: address, key: run.key})
	}
	config, namespace, err := o.Client.Client()
	if err != nil {
		return err
	}
	if run.client, err = versioned.NewForConfig(config); err != nil {
		return err
	}
	if run.id, err = o.Client.Zone(ctx, run.client, text, namespace); err != nil {
		return err
	}
	if run.secrets = secrets.Directory(o.SecretsDir); o.SecretsDir == "" {
		core, err := corev1client.NewForConfig(config)
		if err != nil {
			return err
		}
		run.secrets = secrets.NewCluster(core)
	}
	var unrepaired error
	if o.Repair {
		// A class without a repair is no reason to skip the comparison.
		if unrepaired = run.requestRepair(ctx); unrepaired != nil && !errors.Is(unrepaired, ErrNotRepaired) {
			return unrepaired
		}
	}
	result, err := run.compareAll(ctx)
	if err != nil {
		return err
	}
	print := func() error { return o.format.Print(out, "Verification", result, result.printText) }
	if o.format.Is(output.Markdown) {
		print = func() error { return result.printMarkdown(out) }
	}
	if err := print(); err != nil {
		return err
	}
	for _, server := range result.Servers {
		switch {
		case server.Equal():
		case server.State != verify.Failed && server.State != verify.Unknown:
			// A difference says more than a missing answer of another server.
			return ErrDifferent
		default:
			err = ErrUnanswered
		}
	}
	if err == nil {
		err = unrepaired
	}
	return err
}

// parseAddress returns HOST:PORT, with port 53 if the text has none.
func parseAddress(text string) (string, error) {
	if at, err := netip.ParseAddr(strings.Trim(text, "[]")); err == nil {
		return net.JoinHostPort(at.String(), "53"), nil
	}
	host, port, err := net.SplitHostPort(text)
	if err != nil {
		host, port, err = net.SplitHostPort(text + ":53")
	}
	if err != nil || host == "" || port == "" {
		return "", fmt.Errorf("%q: write 192.0.2.53, 192.0.2.53:5353, [2001:db8::53]:5353 or ns.example.org", text)
	}
	return net.JoinHostPort(host, port), nil
}

type run struct {
	client    versioned.Interface
	secrets   secrets.Reader
	id        types.NamespacedName
	key       *transfer.Key
	keys      map[v1alpha1.SecretReference]*transfer.Key
	servers   []askedServer
	providers []askedProvider
	remarks   io.Writer
}

// compareAll compares all servers with the delivered zone, one after another. The error is set if nothing can be
// compared, or after an interruption.
func (r *run) compareAll(ctx context.Context) (*Result, error) {
	object, err := r.client.KubizoneV1alpha1().Zones(r.id.Namespace).Get(ctx, r.id.Name, metav1.GetOptions{})
	if err != nil {
		return nil, err
	}
	rows, err := r.addDelivered(ctx, object)
	if err != nil {
		// No permission, or the server does not serve Deliveries.
		terminal.Fprintf(r.remarks, "the Deliveries of the zone cannot be read: %v; --name-server names servers to ask\n", err)
	}
	if len(r.servers)+len(r.providers)+len(rows) == 0 {
		return nil, fmt.Errorf("zone %s has no Delivery that lists a server: name those to ask with --name-server", r.id)
	}
	truth, err := r.readDelivered(ctx)
	if err != nil {
		return nil, err
	}
	result := &Result{Zone: r.id.String(), FQDN: truth.FQDN.String(), View: object.Status.View}
	bar := output.StartBar(r.remarks, "comparing servers")
	defer bar.End()
	for i, server := range r.servers {
		bar.Set(i, len(r.servers)+len(r.providers))
		report := server.viewOf(truth.Zone).Compare(ctx, server.address, server.key)
		// The zone has changed since the read. A server still ahead then is reported.
		if report.State == verify.Ahead {
			if truth, err = r.readDelivered(ctx); err != nil {
				return nil, err
			}
			report = server.viewOf(truth.Zone).Compare(ctx, server.address, server.key)
		}
		if server.label != "" {
			report.Server = server.label
		}
		if ctx.Err() != nil {
			return nil, r.interrupted(ctx, i)
		}
		result.Servers = append(result.Servers, report)
	}
	result.Serial, result.RRsets, result.Newest, result.NotDelivered = uint32(truth.Serial), truth.Len(), uint32(truth.newest), truth.why
	for i, one := range r.providers {
		bar.Set(len(r.servers)+i, len(r.servers)+len(r.providers))
		result.Servers = append(result.Servers, r.compareByProvider(ctx, one, object, truth.Zone))
		if ctx.Err() != nil {
			return nil, r.interrupted(ctx, len(r.servers)+i)
		}
	}
	result.Servers = append(result.Servers, rows...)
	return result, nil
}

func (r *run) interrupted(ctx context.Context, done int) error {
	return fmt.Errorf("interrupted: %d of %d servers were compared, and nothing was changed (%w)", done, len(r.servers)+len(r.providers),
		context.Cause(ctx))
}

func (a askedServer) viewOf(truth *verify.Zone) *verify.Zone {
	switch {
	case a.guest:
		return truth.Guest()
	case a.signed:
		return truth.Signed()
	}
	return truth
}

type deliveredZone struct {
	*verify.Zone
	newest serial.Serial
	why    string
}

// readDelivered returns the zone as servers should have it: the present entries, and for a held or unsettled zone
// without the changes after status.settledSerial.
func (r *run) readDelivered(ctx context.Context) (*deliveredZone, error) {
	text, err := load.OpenEntries(ctx, r.client, r.id)
	if err != nil {
		return nil, err
	}
	defer text.Close()
	zone, err := verify.Read(text)
	if err != nil {
		return nil, fmt.Errorf("entries of zone %s: %w", r.id, err)
	}
	// Read the Zone after the entries, so that an older settledSerial proves that the entries are held back.
	zones := r.client.KubizoneV1alpha1()
	object, err := zones.Zones(r.id.Namespace).Get(ctx, r.id.Name, metav1.GetOptions{})
	if err != nil {
		return nil, err
	}
	settled := serial.Serial(object.Status.SettledSerial)
	// Everything is delivered.
	if settled == 0 || !zone.Serial.Ahead(settled) {
		return &deliveredZone{Zone: zone}, nil
	}
	var answer v1alpha1.ZoneChanges
	// Undo the undelivered changes, by the journal.
	if err := zones.RESTClient().Get().Namespace(r.id.Namespace).Resource("zones").Name(r.id.Name).SubResource("changes").
		Param("since", settled.String()).Param("until", zone.Serial.String()).Do(ctx).Into(&answer); err != nil {
		return nil, fmt.Errorf("zone %s is not settled, and its delivered content is unknown: changes since serial %s: %w", r.id,
			settled, err)
	}
	changes, err := lawform.Changes(answer.Changes)
	if err != nil {
		return nil, fmt.Errorf("changes of zone %s: %w", r.id, err)
	}
	d := &deliveredZone{Zone: zone.Undo(settled, changes), newest: zone.Serial}
	if condition := meta.FindStatusCondition(object.Status.Conditions, v1alpha1.ConditionSettled); condition != nil {
		d.why = condition.Reason
	}
	return d, nil
}

// printText prints a row for each server, then the differing RRsets, the first of each server without -o wide.
func (r *Result) printText(text *output.Text) {
	view := ""
	if r.View != "" {
		view = " in view " + r.View
	}
	undelivered := ""
	if r.Newest != 0 {
		undelivered = fmt.Sprintf("; the zone is at serial %d, which is not delivered: %s, as its condition Settled says", r.Newest,
			r.NotDelivered)
	}
	text.Line("zone %s%s of %s: serial %d, %d RRsets%s", r.FQDN, view, r.Zone, r.Serial, r.RRsets, undelivered)
	text.Table(r.listServers())
	for _, s := range r.Servers {
		lines := listFaults(s)
		for i, line := range lines {
			if i == shown && !text.IsWide() {
				text.Line("%s: and %d more; -o wide has all", s.Server, len(lines)-i)
				break
			}
			text.Line("%s: %s", s.Server, line)
		}
	}
}

func (r *Result) listServers() (header []string, rows [][]string) {
	for _, s := range r.Servers {
		foreign := fmt.Sprint(len(s.Foreign))
		if s.By == verify.ByQuestions || s.By == verify.ByRequests {
			foreign = "?" // foreign RRsets were not queried
		}
		row := []string{s.Server, string(s.State), fmt.Sprint(s.Serial), fmt.Sprint(len(s.Missing)), foreign,
			fmt.Sprint(len(s.Differing)), s.By}
		switch s.State {
		case verify.Failed:
			row = []string{s.Server, string(s.State), "-", "-", "-", "-", "-"}
		case verify.Unknown:
			row = []string{s.Server, "?", "?", "?", "?", "?", s.By}
		}
		rows = append(rows, row)
	}
	return []string{"SERVER", "STATE", "SERIAL", "MISSING", "FOREIGN", "DIFFERING", "BY"}, rows
}

func (r *Result) printMarkdown(out io.Writer) error {
	text := output.NewText(nil)
	header, rows := r.listServers()
	text.Markdown(header, rows)
	for _, s := range r.Servers {
		for _, line := range listFaults(s) {
			text.Bullet("%s: %s", s.Server, line)
		}
	}
	_, err := text.WriteTo(out)
	return err
}

func Results() map[string]any { return map[string]any{"Verification": Result{}} }

// listFaults returns a line for each differing RRset, after the error.
func listFaults(r verify.Report) []string {
	var lines []string
	if r.Error != "" {
		lines = append(lines, r.Error)
	}
	for _, set := range r.Missing {
		lines = append(lines, "missing "+formatRRset(set))
	}
	for _, set := range r.Foreign {
		lines = append(lines, "foreign "+formatRRset(set))
	}
	for _, both := range r.Differing {
		if both.Server.Name == "" { // the server's data is unknown
			lines = append(lines, "differs from the zone's "+formatRRset(both.Zone))
			continue
		}
		lines = append(lines, fmt.Sprintf("differs %s, the zone has %d %s", formatRRset(both.Server), both.Zone.TTL,
			strings.Join(both.Zone.Data, ", ")))
	}
	return lines
}

func formatRRset(set verify.RRset) string {
	return fmt.Sprintf("%s %s: %d %s", set.Name, set.Type, set.TTL, strings.Join(set.Data, ", "))
}

func NewCommand() *cobra.Command {
	options := NewOptions()
	command := &cobra.Command{
		Use:   "verify ZONE",
		Short: "compare what name servers answer with what a zone contains",
		Long: `Ask name servers for a zone and print where each stands against what is delivered of it (status.settledSerial): its
serial, and the RRsets that are missing, foreign or different. Servers are those of the zone's Deliveries, each asked with
the key that its class knows it by, and those of --name-server. With --repair the classes are asked first to compare the
zone and to mend what differs. A server that does not hand out the zone is asked for each RRset. The exit code is 1 when
anything differs, 2 when nothing does but a server could not be compared. ZONE is the DNS name of the zone,
or the Zone object, NAME or NAMESPACE/NAME.`,
		Example: `  kubectl kubizone verify example.org --name-server 192.0.2.53 --name-server 198.51.100.53:5353
  kubectl kubizone verify platform/example-org --tsig-key-file transfer.key -o json
  kubectl kubizone verify platform/example-org --repair`,
		Args: cobra.ExactArgs(1),
		RunE: func(command *cobra.Command, arguments []string) error {
			return options.Run(command.Context(), arguments[0], command.OutOrStdout(), command.ErrOrStderr())
		},
	}
	options.format = output.AddFormat(command, output.Markdown)
	options.AddFlags(command.Flags())
	return command
}
