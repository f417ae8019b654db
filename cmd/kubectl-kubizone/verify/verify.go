// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

package verify

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	corev1client "k8s.io/client-go/kubernetes/typed/core/v1"

	"kubi.zone/kubizone/api/client/clientset/versioned"
	"kubi.zone/kubizone/api/kubizone/v1alpha1"
	"kubi.zone/kubizone/cmd/kubeconfig"
	"kubi.zone/kubizone/cmd/output"
	"kubi.zone/kubizone/cmd/program"
	"kubi.zone/kubizone/pkg/client/verify"
	"kubi.zone/kubizone/pkg/delivery/secrets"
	"kubi.zone/kubizone/pkg/dns/transfer"
	"kubi.zone/kubizone/pkg/dns/tsig"
	"kubi.zone/kubizone/pkg/kit/terminal"
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

// Run compares a zone, NAMESPACE/NAME or NAME. The error is ErrDifferent, else ErrUnanswered.
func (o *Options) Run(ctx context.Context, text string, out, remarks io.Writer) error {
	comparison, err := o.newComparison(ctx, text, remarks)
	if err != nil {
		return err
	}
	var unrepaired error
	if o.Repair {
		// A class without a repair is no reason to skip the comparison.
		if unrepaired = requestRepair(ctx, comparison); unrepaired != nil && !errors.Is(unrepaired, ErrNotRepaired) {
			return unrepaired
		}
	}
	bar := output.StartBar(remarks, "comparing servers")
	comparison.Progress = bar.Set
	compared, err := comparison.Run(ctx)
	bar.End()
	if err != nil {
		return err
	}
	result := &page{compared}
	print := func() error { return o.format.Print(out, "Verification", compared, result.printText) }
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

// newComparison connects to the API, with the servers and keys of the flags.
func (o *Options) newComparison(ctx context.Context, text string, remarks io.Writer) (*verify.Comparison, error) {
	keys := &keyring{known: map[v1alpha1.SecretReference]*transfer.Key{}, remarks: remarks}
	if o.TSIGKeyFile != "" {
		read, warnings, err := tsig.ReadKeyFile(o.TSIGKeyFile)
		if err != nil {
			return nil, fmt.Errorf("--tsig-key-file: %w", err)
		}
		for _, warning := range warnings {
			terminal.Fprintf(remarks, "warning: %s\n", warning)
		}
		keys.key = &transfer.Key{Name: read[0].Name, Algorithm: string(read[0].Algorithm), MAC: read[0].MAC}
	}
	c := &verify.Comparison{Key: keys.key, KeyOf: keys.keyOf, Remark: func(line string) { terminal.Fprintf(remarks, "%s\n", line) }}
	for _, server := range o.Servers {
		address, err := verify.ParseAddress(server)
		if err != nil {
			return nil, fmt.Errorf("--name-server %w", err)
		}
		c.AddServer(address)
	}
	config, namespace, err := o.Client.Client()
	if err != nil {
		return nil, err
	}
	if c.Client, err = versioned.NewForConfig(config); err != nil {
		return nil, err
	}
	if c.Zone, err = o.Client.Zone(ctx, c.Client, text, namespace); err != nil {
		return nil, err
	}
	if keys.secrets = secrets.Directory(o.SecretsDir); o.SecretsDir == "" {
		core, err := corev1client.NewForConfig(config)
		if err != nil {
			return nil, err
		}
		keys.secrets = secrets.NewCluster(core)
	}
	c.Providers = providers{keys.secrets}
	return c, nil
}

// page is a Result on a terminal or in a comment of a code review.
type page struct{ *verify.Result }

// printText prints a row for each server, then the differing RRsets, the first of each server without -o wide.
func (r *page) printText(text *output.Text) {
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

func (r *page) listServers() (header []string, rows [][]string) {
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

func (r *page) printMarkdown(out io.Writer) error {
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

func Results() map[string]any { return map[string]any{"Verification": verify.Result{}} }

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
