// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

package importer

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"os/exec"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"kubi.zone/kubizone/cmd/kubeconfig"
	"kubi.zone/kubizone/cmd/output"
	"kubi.zone/kubizone/cmd/program"
	"kubi.zone/kubizone/pkg/client/lint"
	"kubi.zone/kubizone/pkg/client/load"
	"kubi.zone/kubizone/pkg/client/plan"
)

var ErrChanges = program.No("")

type Planner struct {
	options
	Files []string
	// Local refuses kustomizations with remote resources.
	Local          bool
	kustomizations []string
	selector       string
	fieldManager   string
	format         *output.Format
}

func Results() map[string]any { return map[string]any{"Plan": plan.Plan{}, "Import": imported{}} }

// runPlan prints the plan, and returns an error for the exit code: ErrChanges if an apply would change something,
// ErrRefused after a refusal, or the failure of a source.
func (o *Planner) runPlan(ctx context.Context, arguments []string, in io.Reader, out, progress io.Writer) error {
	of, failed := o.Plan(ctx, arguments, in, progress)
	if of == nil {
		// Not even a part of the plan is known.
		return failed
	}
	if err := printPlan(out, of, o.format); err != nil {
		return err
	}
	incomplete := of.Counts.Incomplete()
	switch {
	case failed != nil:
		return failed
	case incomplete != "":
		return fmt.Errorf("%s: %w", incomplete, ErrRefused)
	case of.Counts.Written+of.Counts.Removed+of.Counts.Undecided > 0:
		return ErrChanges
	}
	return nil
}

func NewPlanner() *Planner { return &Planner{options: options{client: kubeconfig.NewOptions()}} }

func (o *Planner) AddFlags(flags *pflag.FlagSet) {
	o.client.AddFlagsWithNamespace(flags)
	o.addManifestFlags(flags)
	flags.BoolVar(&o.prune, "prune", false, "with -l: remove the Zones, Delegations and Records that the manifests lack")
}

func (o *Planner) Prunes() bool { return o.prune }

// Plan dry-runs manifests, or the sources in the arguments. After an error, the plan is incomplete or nil.
func (o *Planner) Plan(ctx context.Context, arguments []string, in io.Reader, progress io.Writer) (*plan.Plan, error) {
	manifests := len(o.Files)+len(o.kustomizations) > 0
	switch {
	// Neither, or both.
	case manifests == (len(arguments) > 0):
		return nil, errors.New("name either manifests, by -f or -k, or zone files and transfers with their --zone")
	case manifests && (cmp.Or(o.zone, o.view, o.origin, o.tsigKeyFile) != "" || o.createZone || o.fromCRD):
		return nil, errors.New("--zone, --view, --origin, --create-zone, --from-crd and --tsig-key-file go with zone files and " +
			"transfers, not with -f or -k")
	// -l without --prune would have no effect, and --prune without -l would remove the objects of all teams.
	case manifests && o.prune != (o.selector != ""):
		return nil, errors.New("--prune of manifests needs -l LABEL=VALUE: the Zones, Delegations and Records with it that the " +
			"manifests lack are removed")
	case !manifests && cmp.Or(o.selector, o.fieldManager) != "":
		return nil, errors.New("-l and --field-manager go with -f and -k")
	}
	o.plan = true
	c, warnings, err := o.completeOptions(arguments)
	if err != nil {
		return nil, err
	}
	report := plan.New()
	for _, warning := range warnings {
		report.AddNote("warning", warning)
	}
	defer c.showProgress(progress)()
	c.load.Judge = lint.Refusals
	if !manifests {
		return report.Make(ctx, c.load, func(loader *load.Loader) (load.Result, []error) { return c.importAll(ctx, loader, in) })
	}
	c.load.PruneSelector = o.selector
	c.load.FieldManager, c.load.AsLastApplied = cmp.Or(o.fieldManager, "kubectl"), o.fieldManager == ""
	return report.MakeOf(ctx, c.load, func(loader *load.Loader) ([]*unstructured.Unstructured, error) {
		return o.readManifests(ctx, loader, in, report)
	})
}

// readManifests reads the manifests of -f and -k in the order of the flags. With Local, a kustomization with remote
// resources is an error.
func (o *Planner) readManifests(ctx context.Context, loader *load.Loader, in io.Reader, report *plan.Plan) ([]*unstructured.Unstructured,
	error) {
	var objects []*unstructured.Unstructured
	reader := &load.Confined{}
	read := func(path string, from func() ([]byte, error)) error {
		text, err := loader.ReadText(ctx, path, from)
		if err != nil {
			return err
		}
		objects = append(objects, report.PickObjects(loader, path, text)...)
		return nil
	}
	for _, file := range o.Files {
		zones, err := reader.EachManifest(file, in, read)
		if report.PassedOver += zones; err != nil {
			return nil, err
		}
	}
	for _, directory := range o.kustomizations {
		// A link in a branch may lead out of the repository, to a file of the job such as a token.
		if err := load.CheckLinks(directory); err != nil {
			return nil, err
		}
		if o.Local {
			if err := checkLocal(directory); err != nil {
				return nil, err
			}
		}
		if err := read(directory, func() ([]byte, error) { return buildKustomization(ctx, directory, reader) }); err != nil {
			return nil, err
		}
	}
	return objects, nil
}

// buildKustomization returns the output of kubectl kustomize. The error has the messages of kubectl, or names the limit
// that the output exceeds.
func buildKustomization(ctx context.Context, directory string, reader *load.Confined) ([]byte, error) {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	var messages strings.Builder
	build := exec.CommandContext(ctx, "kubectl", "kustomize", directory)
	build.Stderr = &messages
	out, err := build.StdoutPipe()
	if err == nil {
		err = build.Start()
	}
	if err != nil {
		return nil, fmt.Errorf("-k %s: kubectl kustomize: %w", directory, err)
	}
	text, unread := reader.ReadAll(directory, out)
	if unread != nil {
		// The rest stays unread, and kubectl would block on the full pipe.
		cancel()
	}
	if err := build.Wait(); err != nil && unread == nil {
		unread = fmt.Errorf("-k %s: kubectl kustomize: %w", directory, err)
		for line := range strings.Lines(messages.String()) {
			// A line for each message, because a terminal shows control characters escaped.
			unread = errors.Join(unread, errors.New(strings.TrimSuffix(line, "\n")))
		}
	}
	return text, unread
}

func NewPlanCommand() *cobra.Command {
	o := NewPlanner()
	command := &cobra.Command{
		Use:   "plan -f FILE | -k DIRECTORY | ZONEFILE|-|axfr://SERVER[:PORT]/ZONE...",
		Short: "print what an apply or an import would do to zones",
		Long: `Have the server decide about all that manifests (-f, -k) or zone files would write, and keep none of it. The answer has
zone by zone what is added (+), changed (~) and removed (-), by Records and by Zones (SOA, NS, glue), whether that would hold the
zone (S7.5) and which classes are told; then what is refused, what other namespaces lose, and the server's warnings.

Everything is decided against what is there now: objects of manifests one by one, zone files by change
sets. What rests on another object of the same plan, as a Record in a Zone that it makes, is marked "after:" with
that, and not guessed.

Manifests are applied as by the client that applied each object last (--field-manager: as by another one). With --prune -l they
lack what is removed. Objects of kinds that are not Kubizone's are passed over. Zone files are imported as kubectl kubizone import does,
with its flags.`,
		Example: `  kubectl kubizone plan -f dns/
  kubectl kubizone plan -k overlays/production -o markdown
  kubectl kubizone plan -f dns/ --prune -l app.kubernetes.io/instance=dns
  kubectl kubizone plan example.org.zone --zone platform/example-org --prune`,
		Args: cobra.ArbitraryArgs,
		RunE: func(command *cobra.Command, arguments []string) error {
			return o.runPlan(command.Context(), arguments, command.InOrStdin(), command.OutOrStdout(), command.ErrOrStderr())
		},
	}
	o.format = output.AddFormat(command, output.Markdown)
	o.addFlags(command.Flags())
	o.addManifestFlags(command.Flags())
	return command
}

func (o *Planner) addManifestFlags(flags *pflag.FlagSet) {
	flags.StringSliceVarP(&o.Files, "filename", "f", nil, "files and directories of manifests (.yaml, .yml, .json); - is standard input")
	flags.StringSliceVarP(&o.kustomizations, "kustomize", "k", nil, "directories that kubectl kustomize builds manifests of")
	flags.StringVarP(&o.selector, "selector", "l", "", "with --prune: the label of the objects that the manifests have")
	flags.StringVar(&o.fieldManager, "field-manager", "", "apply manifests as this field manager does, by server-side apply; "+
		"absent: as the client that applied each object last")
}
