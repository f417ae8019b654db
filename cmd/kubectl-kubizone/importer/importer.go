// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

package importer

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/validation"
	"k8s.io/client-go/rest"

	"kubi.zone/kubizone/api/client/clientset/versioned"
	"kubi.zone/kubizone/cmd/kubeconfig"
	"kubi.zone/kubizone/cmd/output"
	"kubi.zone/kubizone/cmd/program"
	"kubi.zone/kubizone/pkg/client/load"
	"kubi.zone/kubizone/pkg/client/migrate"
	"kubi.zone/kubizone/pkg/dns/transfer"
	"kubi.zone/kubizone/pkg/dns/tsig"
	"kubi.zone/kubizone/pkg/kit/terminal"
)

var ErrRefused = program.No("see above")

type options struct {
	client         *kubeconfig.Options
	zone, view     string
	origin         string
	createZone     bool
	forceConflicts bool
	fromCRD        bool
	plan, prune    bool
	consent        output.Consent
	tsigKeyFile    string
}

const standardInput = "standard input"

type source struct {
	name     string
	manifest bool
	transfer *transfer.Source
}

type config struct {
	client  *rest.Config
	sources []source
	target  load.Target
	load    load.Config
}

// completeOptions returns the configuration, or all errors of flags and arguments together. Warnings are those of the
// TSIG key file.
func (o *options) completeOptions(arguments []string) (c *config, warnings []string, err error) {
	c = &config{}
	var wrong []error
	fault := func(err error) { wrong = append(wrong, err) }
	var namespace string
	c.client, namespace, err = o.client.Client()
	fault(err)

	// 1. The key. Only the first of a file signs.
	var key *transfer.Key
	if o.tsigKeyFile != "" {
		keys, warned, err := tsig.ReadKeyFile(o.tsigKeyFile)
		if err == nil {
			key = &transfer.Key{Name: keys[0].Name, Algorithm: string(keys[0].Algorithm), MAC: keys[0].MAC}
		} else {
			fault(fmt.Errorf("--tsig-key-file: %w", err))
		}
		warnings = append(warnings, warned...)
	}

	// 2. The sources, and the Zone that zone files need.
	for _, argument := range arguments {
		one, err := o.sourceOf(argument)
		if err != nil {
			fault(err)
			continue
		}
		if one.transfer != nil {
			one.transfer.Key = key
		}
		c.sources = append(c.sources, one)
	}
	zoneFile := func(s source) bool { return !s.manifest }
	switch {
	case slices.ContainsFunc(c.sources, zoneFile):
		c.target, err = o.parseTarget(namespace)
		fault(err)
		if o.fromCRD {
			fault(errors.New("--from-crd goes with manifests, not with zone files: import them separately"))
		}
	case o.fromCRD && o.namesZone():
		fault(errors.New("--zone, --view, --origin, --create-zone and --prune go with zone files and transfers; " +
			"custom resources name their own zones"))
	}
	// A key without a transfer is a mistake, such as a missing axfr://.
	if key != nil && !slices.ContainsFunc(c.sources, func(s source) bool { return s.transfer != nil }) {
		fault(fmt.Errorf("--tsig-key-file goes with transfers: name one, like %s192.0.2.53/example.org", transfer.Scheme))
	}
	c.load = load.Config{
		Client:         c.client,
		Namespace:      namespace,
		FieldManager:   load.ImportManager,
		DryRun:         o.plan,
		Prune:          o.prune,
		HowToRemove:    "import it with --prune, after a look at kubectl kubizone plan with --prune",
		ForceConflicts: o.forceConflicts,
	}
	return c, warnings, errors.Join(wrong...)
}

func (o *options) namesZone() bool {
	return o.zone != "" || o.view != "" || o.origin != "" || o.createZone || o.prune
}

// sourceOf returns the source in an argument: the address of a transfer, "-", a zone file or, with --from-crd, a
// manifest.
func (o *options) sourceOf(argument string) (source, error) {
	manifest := load.IsManifest(argument)
	switch {
	case strings.Contains(argument, "://"):
		from, err := transfer.ParseSource(argument)
		return source{name: argument, transfer: &from}, err
	case argument == "-":
		return source{name: standardInput, manifest: o.fromCRD}, nil
	case manifest && !o.fromCRD:
		return source{}, fmt.Errorf("%s is a manifest: kubectl apply -f writes it, with --prune --applyset it also removes objects that "+
			"the manifest lacks, and kubectl kubizone plan -f shows the changes; --from-crd converts resources of other operators",
			argument)
	}
	return source{name: argument, manifest: manifest}, nil
}

// parseTarget returns the Zone of --zone and the namespace for the Records. A Zone without a namespace is in the given
// namespace.
func (o *options) parseTarget(namespace string) (load.Target, error) {
	if o.zone == "" {
		return load.Target{}, errors.New("--zone: name the Zone that takes the records, as NAMESPACE/NAME or NAME")
	}
	zone, err := load.ParseZone(o.zone, namespace)
	if err != nil {
		return load.Target{}, fmt.Errorf("--zone %w", err)
	}
	// Without -n the Records are in the namespace of the Zone.
	if o.client.Namespace() == "" {
		namespace = zone.Namespace
	}
	if o.view != "" {
		if wrong := validation.IsDNS1123Label(o.view); len(wrong) > 0 {
			return load.Target{}, fmt.Errorf("--view %q: %s", o.view, strings.Join(wrong, ", "))
		}
	}
	target := load.Target{Zone: zone, Namespace: namespace, View: o.view, CreateZone: o.createZone}
	if o.origin != "" {
		if target.Origin, err = load.ParseOrigin(o.origin); err != nil {
			return load.Target{}, fmt.Errorf("--origin: %w", err)
		}
	}
	return target, nil
}

type imported struct {
	Counts      load.Result `json:"counts"`
	Sources     int         `json:"sources"`
	NotImported int         `json:"notImported"`
}

func (i *imported) printText(text *output.Text) {
	summary := i.Counts.String()
	if i.NotImported > 0 {
		summary += fmt.Sprintf(", %d of %d sources not imported", i.NotImported, i.Sources)
	}
	text.Line("%s", summary)
}

// run imports all sources, asks before removals, and prints the result. The error is ErrRefused if a line was refused,
// and joins the errors of sources that could not be imported.
func (c *config) run(ctx context.Context, in io.Reader, out, progress io.Writer, consent *output.Consent, format *output.Format) error {
	defer c.showProgress(progress)()
	c.load.Confirm = func(removals int) error { return consent.Ask(in, progress, removals, "Records") }
	loader, err := load.New(c.load)
	if err != nil {
		return err
	}
	total, failed := c.importAll(ctx, loader, in)
	result := &imported{total, len(c.sources), len(failed)}
	if err := format.Print(out, "Import", result, result.printText); err != nil {
		return err
	}
	incomplete := total.Incomplete()
	// A user may expect all or nothing, as from kubectl kubizone apply.
	if total.Written+total.Removed > 0 && (len(failed) > 0 || incomplete != "") {
		terminal.Fprintf(progress, "written Records stay: an import is not one transaction; kubectl kubizone apply changes up to 100 "+
			"Records in one\n")
	}
	if len(failed) == 0 && incomplete != "" {
		return fmt.Errorf("%s: %w", incomplete, ErrRefused)
	}
	return errors.Join(failed...)
}

func (c *config) showProgress(stderr io.Writer) (end func()) {
	c.load.Report = func(line string) { terminal.Fprintf(stderr, "%s\n", line) }
	if !output.IsTerminal(stderr) {
		return func() {}
	}
	bar := output.StartBar(stderr, "writing")
	c.load.Progress = func(_ string, done, of int) { bar.Set(done, of) }
	return bar.End
}

// importAll imports the sources. If an import fails, no Records are removed, because its source may have them.
func (c *config) importAll(ctx context.Context, loader *load.Loader, in io.Reader) (total load.Result, errs []error) {
	doubt := ""
	for _, s := range c.sources {
		result, err := c.importOne(ctx, loader, s, in)
		total.Add(result)
		if err != nil {
			errs = append(errs, err)
			doubt = s.name + " was not imported"
			// The server does not answer, or rejects the user: every other source would fail too.
			if load.StopsAll(ctx, err) {
				break
			}
		}
	}
	// After Ctrl-C nothing is removed.
	if ctx.Err() == nil {
		result, err := loader.Finish(ctx, doubt)
		total.Add(result)
		if err != nil {
			errs = append(errs, err)
		}
	}
	return total, errs
}

// importOne reads a source and imports it. Refused lines are in the result. The error is set if the source cannot be
// read or has no zone.
func (c *config) importOne(ctx context.Context, loader *load.Loader, s source, in io.Reader) (load.Result, error) {
	text, err := loader.ReadText(ctx, s.name, func() ([]byte, error) {
		switch {
		case s.transfer != nil:
			return transfer.Receive(ctx, *s.transfer)
		case s.name == standardInput:
			return io.ReadAll(in)
		}
		text, err := os.ReadFile(s.name)
		if err != nil {
			err = fmt.Errorf("%w; name a file that can be read, - for standard input, or %sSERVER/ZONE", err, transfer.Scheme)
		}
		return text, err
	})
	if err != nil {
		return load.Result{}, fmt.Errorf("import %s: %w", s.name, err)
	}
	if s.manifest {
		return c.importCustomResources(ctx, loader, s.name, text)
	}
	return loader.Import(ctx, s.name, text, c.target)
}

// importCustomResources converts custom resources, applies the results, and compares the content of each Zone with the
// entries that kubizone v0 served. Each entry that the Zone lacks counts as Changed.
func (c *config) importCustomResources(ctx context.Context, loader *load.Loader, path string, text []byte) (load.Result, error) {
	objects, refused := loader.ReadObjects(path, text)
	result := load.Result{Refused: refused}
	converted, found := migrate.Convert(objects)
	for _, one := range found {
		result.Add(loader.Report(load.ObjectRefusal(path, one.Of, one.Reason, one.Fix), one.Refused))
	}
	applied, err := loader.Apply(ctx, path, converted)
	result.Add(applied)
	if err != nil || c.load.DryRun {
		return result, err // nothing was written
	}
	for _, o := range converted {
		before := migrate.ServedBefore(o)
		if before == "" {
			// Not a Zone of kubizone v0, or v0 served nothing for the Zone.
			continue
		}
		zone := types.NamespacedName{Namespace: o.GetNamespace(), Name: o.GetName()}
		missing, err := c.compareZone(ctx, zone, before)
		if err != nil {
			c.load.Report(fmt.Sprintf("zone %s cannot be compared with its custom resource: %v", zone, err))
			// A zone that could not be compared must not give exit code 0.
			missing = 1
		}
		result.Changed += missing
	}
	return result, nil
}

func (c *config) compareZone(ctx context.Context, zone types.NamespacedName, before string) (missing int, err error) {
	client, err := versioned.NewForConfig(c.client)
	if err != nil {
		return 0, err
	}
	now, err := load.OpenEntries(ctx, client, zone)
	if err != nil {
		return 0, err
	}
	defer now.Close()
	lines, missing, err := migrate.Compare(before, now)
	for _, line := range lines {
		c.load.Report(fmt.Sprintf("zone %s: %s", zone, line))
	}
	return missing, err
}

func NewCommand() *cobra.Command {
	o := &options{client: kubeconfig.NewOptions()}
	var format *output.Format
	command := &cobra.Command{
		Use:   "import FILE|-|axfr://SERVER[:PORT]/ZONE...",
		Short: "bring zone files and transfers into zones",
		Long: `Write the records of zone files, or of zones that other servers transfer by AXFR, into a Zone: one Record for each
RRset, through the API, as the user of the kubeconfig. The same import again writes nothing. Records are written by
change sets of up to 100, and those that are written stay if others are refused: an import is not one transaction.
kubectl kubizone apply changes up to 100 Records in one.

A refused line is reported with its reason and the next step, and the exit code is 1. A source that cannot be read or
has no zone is reported, the others are imported, and the exit code is 2. A file that begins with "@ IN SOA" gets its
origin from --origin, the Zone, or its own name (example.org.zone, db.example.org).

SOA and name servers are fields of the Zone: where the file differs, the report has the command that sets them. A Zone
without name servers gets those of the file as a Record. The records go into the namespace of -n, which may be another
one than the Zone's; without it, into the Zone's.

kubectl kubizone plan, with the same arguments, prints what would change. Records of an earlier import that no source has any
more are reported, and removed with --prune. If that holds the zone (S7.5), the report has the command that lets it
through, and the exit code is 1.

All sources go into one Zone. Manifests of Zones and Records are written by kubectl apply.

With --from-crd, the sources are manifests (.yaml, .yml, .json) of custom resources of kubizone v0, or of bindy
(bindy.firestoned.io), external-dns (DNSEndpoint of externaldns.k8s.io), external-dns-management (dns.gardener.cloud) and
the operator with DNSRecords (dns.homelab.mortenolsen.pro), which become Zones, Records and DNSClasses. A field that is not
carried over is reported with the next step.`,
		Example: `  kubectl kubizone import example.org.zone --zone platform/example-org
  kubectl kubizone import example.org.zone --zone platform/example-org --create-zone
  kubectl kubizone import example.org.zone --zone platform/example-org --prune
  kubectl kubizone import axfr://192.0.2.53/example.org --zone platform/example-org --tsig-key-file transfer.key
  kubectl get zones,records -A -o yaml | kubectl kubizone import - --from-crd --server https://127.0.0.1:7443 --token "$TOKEN"
  kubectl get dnsentries.dns.gardener.cloud -A -o yaml | kubectl kubizone plan - --from-crd`,
		Args: cobra.MinimumNArgs(1),
		RunE: func(command *cobra.Command, arguments []string) error {
			if o.plan {
				plan := &Planner{options: *o, format: format}
				return plan.runPlan(command.Context(), arguments, command.InOrStdin(), command.OutOrStdout(), command.ErrOrStderr())
			}
			c, warnings, err := o.completeOptions(arguments)
			for _, warning := range warnings {
				terminal.Fprintf(command.ErrOrStderr(), "warning: %s\n", warning)
			}
			if err != nil {
				return err
			}
			return c.run(command.Context(), command.InOrStdin(), command.OutOrStdout(), command.ErrOrStderr(), &o.consent, format)
		},
	}
	format = output.AddFormat(command)
	o.addFlags(command.Flags())
	command.Flags().BoolVar(&o.plan, "plan", false, "print what would change, as kubectl kubizone plan with these arguments, and "+
		"write nothing")
	o.consent.AddFlag(command.Flags())
	return command
}

func (o *options) addFlags(flags *pflag.FlagSet) {
	o.client.AddFlagsWithNamespace(flags)
	flags.StringVar(&o.zone, "zone", "", "NAMESPACE/NAME or NAME of the Zone object that takes the records of a zone file or transfer")
	flags.StringVar(&o.origin, "origin", "", "origin of relative names of a zone file before its first $ORIGIN; default: "+
		"the name of the Zone, or if it does not exist yet, that of a file like NAME.zone or db.NAME")
	flags.StringVar(&o.view, "view", "", "view of the Zone, or of the one that --create-zone makes; empty is the default view")
	flags.BoolVar(&o.createZone, "create-zone", false, "make the Zone of the SOA if it does not exist, "+
		"and import NS at the apex as Records")
	flags.BoolVar(&o.prune, "prune", false, "remove the Records that an earlier import of zone files made and no source has any more, "+
		"in their Zone and namespace; never a Record with fields of another field manager, nor a Zone")
	flags.BoolVar(&o.forceConflicts, "force-conflicts", false, "overwrite changes of other field managers since the last import")
	flags.BoolVar(&o.fromCRD, "from-crd", false, "the sources are manifests of custom resources of kubizone v0.1 to v0.4, "+
		"bindy.firestoned.io, externaldns.k8s.io or dns.gardener.cloud: convert them; what v0 served is compared with the "+
		"content of each zone")
	flags.StringVar(&o.tsigKeyFile, "tsig-key-file", "", "file of TSIG keys as tsig-keygen writes them; "+
		"the first signs requests for transfers, and has to sign the answers")
}
