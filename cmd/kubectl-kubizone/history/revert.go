// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

package history

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"k8s.io/apimachinery/pkg/types"

	"kubi.zone/kubizone/api/kubizone/v1alpha1"
	"kubi.zone/kubizone/cmd/output"
	"kubi.zone/kubizone/cmd/program"
	"kubi.zone/kubizone/pkg/client/history"
	"kubi.zone/kubizone/pkg/dns/name"
	"kubi.zone/kubizone/pkg/kit/terminal"
)

type revertOptions struct {
	*room
	moment, name   string
	namespace      string // in a printed command, in place of -n
	plan, yes      bool
	includeManaged bool
	deleted        bool
}

// ErrChanges is returned by --plan if a revert would change something, ErrRefused if the server refuses changes.
var (
	ErrChanges = program.No("")
	ErrRefused = program.No("refused")
)

// makePlan plans the way back to --to. Without --to, the error has the command that undoes the last change of Records.
func (o *revertOptions) makePlan(ctx context.Context, zone string) (*history.Plan, error) {
	var moments []history.Moment
	if o.moment != "" {
		var err error
		if moments, err = parseMoments(o.moment); err != nil {
			return nil, fmt.Errorf("--to: %w", err)
		}
	}
	s, err := o.findSubject(ctx, zone)
	if err != nil {
		return nil, err
	}
	// Without a Zone, a tenant takes own Records back.
	if s.Zone != nil {
		if err := needZone(&s); err != nil {
			return nil, err
		}
	}
	options := history.Options{IncludeManaged: o.includeManaged, Name: s.Name}
	if s.Zone != nil {
		// A tenant's plan has only own Records anyway.
		options.Namespace = o.client.Namespace()
	}
	if o.name != "" {
		origin := s.Name
		if s.Zone != nil {
			origin = name.MustParse(s.Zone.Status.FQDN)
		}
		if options.Name, err = name.ParseIn(o.name, origin); err != nil {
			return nil, fmt.Errorf("--name: %w", err)
		}
	}
	if o.moment == "" {
		return nil, o.explainMissing(ctx, zone, s, options.Name)
	}
	return o.reader.MakePlan(ctx, s, moments[0], options)
}

// A hint undoes the user's steps with less than togetherWithin between them: kubectl delete of three Records makes
// three.
const togetherWithin = time.Minute

// explainMissing returns the error for a missing --to, with the serial before the last write of Records by its user. It
// tells of Records of the zone's namespace, or that of -n: a tenant's write hides no mistake of the owner.
func (o *revertOptions) explainMissing(ctx context.Context, zone string, s history.Subject, at name.Name) error {
	const missing = "--to is missing: write the serial before the change that you undo, or a time"
	namespace := o.client.Namespace()
	if namespace == "" && s.Zone != nil {
		namespace = s.Zone.Namespace
	}
	// A cascade and a challenge are consequences of other writes, and no mistake of a person.
	isOwn := func(x *v1alpha1.HistoryStep) bool {
		return x.Way != v1alpha1.WayCascade && x.Way != v1alpha1.WayChallenge && history.Touches(x, at) &&
			slices.ContainsFunc(x.Records, func(r v1alpha1.HistoryRecord) bool { return namespace == "" || r.Namespace == namespace })
	}
	var together []v1alpha1.HistoryStep // newest first
	past, err := o.reader.Read(ctx, s, func(x *v1alpha1.HistoryStep) bool {
		switch {
		case !isOwn(x):
			return false
		case len(together) > 0 && !isTogether(&together[len(together)-1], x):
			// The step before is another's, or too long ago: stop reading.
			return true
		}
		together = append(together, *x)
		return false
	})
	if err != nil {
		return err
	}
	if len(together) == 0 {
		if former := o.reader.DescribeFormer(ctx, s, past); former != "" {
			return errors.New(missing + "; " + former)
		}
		return errors.New(missing + "; kubectl kubizone log " + zone + " prints them")
	}
	newest, oldest := &together[0], &together[len(together)-1]
	by := history.AuthorOf(newest)
	change := "change"
	// Undoing a revert brings the mistake back, so the text names it.
	if newest.FieldManager == history.FieldManager {
		change = "change, a revert,"
	}
	text := fmt.Sprintf("The last %s of Records is serial %d", change, newest.Serial)
	if len(together) > 1 {
		text = fmt.Sprintf("The last %d changes of Records are serials %d to %d", len(together), oldest.Serial, newest.Serial)
	}
	// The command leaves later writes of others.
	if s.Zone != nil && len(past.Steps) > 0 && past.Steps[0].Serial != newest.Serial && s.Name.IsZero() {
		o.namespace = namespace
	}
	o.moment = fmt.Sprint(oldest.From)
	// Otherwise the plan would leave these Records to their writer.
	o.includeManaged = o.includeManaged ||
		slices.ContainsFunc(together, func(x v1alpha1.HistoryStep) bool { return history.IsRenewed(&x) })
	return fmt.Errorf("%s. %s, by %s at %s; this undoes it: %s", missing, text, by.User(), by.Time, o.repeatRevert(zone))
}

// isTogether reports whether two steps, the newer first, are by the same user and client within togetherWithin.
func isTogether(newer, older *v1alpha1.HistoryStep) bool {
	return newer.By == older.By && newer.FieldManager == older.FieldManager && newer.Time != nil && older.Time != nil &&
		newer.Time.Sub(older.Time.Time) < togetherWithin
}

// makeDeletedPlan plans the return of a deleted Zone, given as NAMESPACE/NAME of the former object or as a DNS name. -n
// gives the Zone another namespace.
func (o *revertOptions) makeDeletedPlan(ctx context.Context, zone string) (*history.Plan, error) {
	if o.moment != "" || o.name != "" {
		return nil, errors.New("--deleted takes a Zone back as it was at its deletion: leave --to and --name out")
	}
	namespace, err := o.connect()
	if err != nil {
		return nil, err
	}
	d := history.Deleted{Namespace: namespace, TargetNamespace: o.client.Namespace()}
	if before, after, ok := strings.Cut(zone, "/"); ok {
		d.Object = types.NamespacedName{Namespace: before, Name: after}
	} else if d.FQDN, err = name.Parse(strings.TrimSuffix(zone, ".") + "."); err != nil {
		return nil, fmt.Errorf("%q is neither NAMESPACE/NAME of a Zone nor a DNS name: %w", zone, err)
	}
	return o.reader.MakeDeletedPlan(ctx, d, history.Options{IncludeManaged: o.includeManaged})
}

// run makes the plan, prints it, asks, and writes. After a refusal in the plan nothing is written. The errors with exit
// code 1 are ErrRefused, ErrChanges with --plan, and Records of the user that do not come back.
func (o *revertOptions) run(ctx context.Context, zone string, in io.Reader, out, stderr io.Writer) error {
	makePlan := o.makePlan
	if o.deleted {
		makePlan = o.makeDeletedPlan
	}
	plan, err := makePlan(ctx, zone)
	if err != nil {
		return err
	}
	writes, document := len(plan.Changes)+len(plan.Objects), o.format.IsDocument()
	// A document is printed once, after the writes, with their outcome.
	if !document || o.plan || plan.Refused > 0 {
		if err := o.printPlan(out, plan); err != nil {
			return err
		}
	}
	switch {
	case plan.Refused > 0:
		return fmt.Errorf("%d of %d changes would be refused, as above, and nothing was begun: %w", plan.Refused, writes, ErrRefused)
	case o.plan && plan.CountMissing() > 0 && writes > 0:
		return errMissing(plan, "would not be back")
	case o.plan && writes > 0:
		return ErrChanges
	case o.plan || writes == 0 && !document:
		return errMissing(plan, "are not back")
	}
	// Nothing to write needs no question.
	if !o.yes && writes > 0 {
		if err := output.Confirm(in, stderr, "Write "+countWrites(plan, writes)+"?"); err != nil {
			return err
		}
	}
	// Run appends the Records that were refused since the plan.
	planned := len(plan.Left)
	err = o.reader.Run(ctx, plan)
	if document {
		if err := o.printPlan(out, plan); err != nil {
			return err
		}
	} else {
		text := output.NewText(out)
		for i := range plan.Left[planned:] { // refused since the plan
			text.Line("%s", describeLeft(&plan.Left[planned+i]))
		}
		if err == nil {
			text.Line("%s", describeRun(zone, plan))
		}
		if _, err := text.WriteTo(out); err != nil {
			return err
		}
	}
	if err != nil {
		return o.explainStop(zone, plan, err)
	}
	return errMissing(plan, "are not back")
}

// errMissing returns an error with exit code 1 if the plan leaves Records of the user, and nil otherwise.
func errMissing(plan *history.Plan, state string) error {
	if n := plan.CountMissing(); n > 0 {
		return program.No(fmt.Sprintf("%d of your Records %s: left says why", n, state))
	}
	return nil
}

func nounOf(plan *history.Plan) string {
	if len(plan.Objects) > 0 {
		return "object"
	}
	return "Record"
}

// repeatRevert returns the command line of this revert, with the options that select Records.
func (o *revertOptions) repeatRevert(zone string) string {
	next := "kubectl kubizone revert " + zone
	if ns := cmp.Or(o.client.Namespace(), o.namespace); ns != "" {
		next += " -n " + ns
	}
	if o.deleted {
		next += " --deleted"
	} else {
		next += " --to " + o.moment
	}
	if o.name != "" {
		next += " --name " + o.name
	}
	if o.includeManaged {
		next += " --include-managed"
	}
	return next
}

// explainStop returns the error of a revert that stopped after some writes, with the command that goes on. --to becomes
// the time or serial of the plan, since a duration before now would have moved on.
func (o *revertOptions) explainStop(zone string, plan *history.Plan, err error) error {
	o.moment = cmp.Or(plan.Time, fmt.Sprint(plan.Serial))
	next := o.repeatRevert(zone)
	text := fmt.Sprintf("stopped after %d of %s: %v; what was written stays, and this goes on: %s", plan.Written,
		terminal.Count(len(plan.Changes)+len(plan.Objects), nounOf(plan)), err, next)
	if stopped := (history.ErrStopped{}); errors.As(err, &stopped) {
		return program.No(text)
	}
	return errors.New(text)
}

func describeRun(zone string, plan *history.Plan) string {
	text := countWrites(plan, plan.Written) + " written"
	if len(plan.Left) > 0 && plan.Deleted == nil {
		text += fmt.Sprintf("; kubectl kubizone diff %s %s prints what is left", zone, cmp.Or(plan.Time, fmt.Sprint(plan.Serial)))
	}
	return text
}

func countWrites(plan *history.Plan, n int) string { return terminal.Count(n, nounOf(plan)) }

// printPlan prints the plan: objects of a deleted Zone, changes of Records with their refusals, then the hold, gaps of
// the history, and the Records that are left.
func (o *revertOptions) printPlan(out io.Writer, plan *history.Plan) error {
	return o.format.Print(out, "Revert", plan, func(page *output.Text) {
		to := "back to serial " + fmt.Sprint(plan.Serial)
		switch {
		case plan.Deleted != nil:
			to = "deleted by " + plan.Deleted.String()
		case plan.Time != "":
			to = "back to " + plan.Time
		}
		markdown := o.format.Is(output.Markdown)
		line := page.Line
		if markdown {
			// In Markdown each line is a bullet, with the text as code.
			line = page.Bullet
			page.Line("## zone %s %s", plan.FQDN, to)
			page.Line("")
		} else {
			page.Line("zone %s %s:", plan.FQDN, to)
		}
		switch {
		case len(plan.Changes)+len(plan.Objects) > 0:
		case plan.Deleted != nil || len(plan.Left) > 0:
			line("nothing to write")
		default:
			line("nothing to write; to undo a change, give --to the serial before the serial of the change")
		}
		for i := range plan.Objects {
			x := &plan.Objects[i]
			line("+ %s %s/%s", x.Kind, x.Namespace, x.Name)
			for _, refused := range x.Refused {
				line("refused: %s %s/%s: %s", strings.ToLower(x.Kind), x.Namespace, x.Name, refused)
			}
		}
		for i := range plan.Changes {
			c := &plan.Changes[i]
			line("%s %s (record %s/%s; undoes %s)", c.Op, c.Text, c.Namespace, c.Name, c.Undoes.String())
			for _, refused := range c.Refused {
				line("refused: record %s/%s: %s", c.Namespace, c.Name, refused)
			}
			if c.After != "" {
				line("after: the change set of namespace %s", c.After)
			}
			// The revert would not last, and the user has to change the other writer first.
			if c.Again != "" {
				line("again: %s may write record %s/%s again", c.Again, c.Namespace, c.Name)
			}
		}
		if plan.Held != "" {
			line("held: %s", plan.Held)
		}
		for _, gap := range plan.Gaps {
			line("gap: %s", gap)
		}
		for i := range plan.Left {
			line("%s", describeLeft(&plan.Left[i]))
		}
	})
}

func describeLeft(x *history.Left) string {
	at := ""
	if x.Name != "" {
		at = " (" + x.Namespace + "/" + x.Name + ")"
	}
	return fmt.Sprintf("left: %s%s, of %s: %s", x.Text, at, x.Writer, x.Reason)
}

func newRevertCommand() *cobra.Command {
	o := &revertOptions{}
	command := &cobra.Command{
		Use:   "revert ZONE|NAME --to SERIAL|TIME, or revert ZONE --deleted",
		Short: "take the Records of a zone or a name back to a serial or time",
		Long: `Take Records back to what they were at a serial or time. The plan comes first: what comes back (+), changes back (~) and
goes (-), who wrote it, what the server refuses, and what is left with the reason. Then you are asked, and the Records are written
with your rights by change sets of one namespace each; the serial goes forward. With a refusal in the zone's namespace nothing
begins, except by another's data at the name: that Record is left, and the exit code is 1. A revert
leaves the Zone's spec alone: nameServers that were removed come back by kubectl apply of the Zone.

Left are entries of child Zones, DNSSEC and the Zone's spec, challenges, Records that are refused in other namespaces, and Records
that another writer renews: an UpdateKey, external-dns, a field manager other than kubectl and kubizone. --include-managed takes the
latter, too. -n limits the undo to that namespace's Records; if you may not read the zone, it is of your own. A repetition changes nothing.

--deleted makes a deleted Zone anew, in its namespace or that of -n, with your right to create it: the Zone, the Delegations of its
last minute, and the Records of its last ten minutes, if the same user deleted them. Records that exist join the zone by its rules.
Its serial goes on. ZONE is its DNS name, or NAMESPACE/NAME of the former object.`,
		Example: `  kubectl kubizone revert example.org --to 2026112014 --plan
  kubectl kubizone revert platform/example-org --to 2h --name www
  kubectl kubizone revert -n team-a www.example.org --to 2026-11-20T14:00 --yes
  kubectl kubizone revert -n team-a example.org --to 2h --include-managed
  kubectl kubizone revert example.org --deleted --plan`,
		Args: cobra.ExactArgs(1),
		RunE: func(command *cobra.Command, arguments []string) error {
			return o.run(command.Context(), arguments[0], command.InOrStdin(), command.OutOrStdout(), command.ErrOrStderr())
		},
	}
	o.room = newRoom(command, output.Markdown)
	o.limits = true
	flags := command.Flags()
	flags.StringVar(&o.moment, "to", "", "serial, time (UTC) such as 2006-01-02T15:04, or duration before now such as 2h")
	flags.StringVar(&o.name, "name", "", "DNS name whose Records go back, absolute or relative to the zone; absent: all")
	flags.BoolVar(&o.deleted, "deleted", false, "take a deleted Zone back")
	flags.BoolVar(&o.plan, "plan", false, "print the plan, and write nothing")
	flags.BoolVar(&o.yes, "yes", false, "write without a question")
	flags.BoolVar(&o.includeManaged, "include-managed", false, "take Records that another writer renews, too")
	return command
}
