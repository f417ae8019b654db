// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

package history

import (
	"cmp"
	"context"
	"fmt"
	"io"
	"math"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/watch"

	"kubi.zone/kubizone/api/kubizone/v1alpha1"
	"kubi.zone/kubizone/cmd/output"
	"kubi.zone/kubizone/pkg/client/history"
	"kubi.zone/kubizone/pkg/dns/name"
	"kubi.zone/kubizone/pkg/dns/serial"
)

const pause = time.Second

const (
	defaultTail = 100
	maxRecords  = 3 // named in a line
)

type logOptions struct {
	*room
	since, user string
	tail        int
	follow      bool
}

func Results() map[string]any {
	return map[string]any{"ZoneChanges": v1alpha1.ZoneChanges{}, "Values": values{}, "Revert": history.Plan{}}
}

// run prints the past steps of a zone or name and, with --follow, each later step. A tenant who may not read the Zone
// gets only own steps, and cannot follow.
func (o *logOptions) run(ctx context.Context, text string, out io.Writer) error {
	moment := history.Moment{}
	if o.since != "" {
		all, err := parseMoments(o.since)
		if err != nil {
			return fmt.Errorf("--since: %w", err)
		}
		moment = all[0]
	}
	s, err := o.findSubject(ctx, text)
	if err != nil {
		return err
	}
	// --follow without --since begins with the next change.
	if !o.follow || !moment.IsZero() {
		if err := o.printPast(ctx, s, moment, out); err != nil || !o.follow {
			return err
		}
	}
	if err := needZone(&s); err != nil {
		return err
	}
	return o.followZone(ctx, s, out)
}

// printPast prints the steps after the moment or, for the zero moment, the last of --tail, with notes about steps that
// are missing. With --follow, s gets the newest serial, from which to go on.
func (o *logOptions) printPast(ctx context.Context, s history.Subject, moment history.Moment, out io.Writer) error {
	isOlder := func(x *v1alpha1.HistoryStep) bool { return !moment.IsZero() && !moment.IsBefore(x) }
	tail := max(o.tail, 0)
	if !moment.IsZero() {
		tail = math.MaxInt // with --since, all steps since then are printed
	}
	wanted := 0
	past, err := o.reader.Read(ctx, s, func(x *v1alpha1.HistoryStep) bool {
		if o.matchesStep(&s, x) {
			wanted++
		}
		// One step more than --tail shows whether older steps are left out.
		return isOlder(x) || wanted > tail
	})
	if err != nil {
		return err
	}
	narrow(&s, past)
	touches := func(x v1alpha1.HistoryStep) bool { return history.Touches(&x, s.Name) }

	// The name may have been in a zone that is deleted now.
	if !s.Name.IsZero() && !slices.ContainsFunc(past.Steps, touches) && !past.Cut {
		deleted, err := o.findDeleted(ctx, s)
		if err != nil {
			return err
		}
		if deleted != nil {
			return o.printPast(ctx, *deleted, moment, out)
		}
	}
	steps := slices.DeleteFunc(past.Steps, func(x v1alpha1.HistoryStep) bool {
		return isOlder(&x) || !o.matchesStep(&s, &x)
	})
	more := len(steps) > tail
	steps = steps[:min(len(steps), tail)]
	atName(steps, s.Name)
	// The zone may have changed since the Zone was read.
	if s.Zone != nil && o.follow {
		s.Zone.Status.Serial = int64(past.Newest)
	}
	return o.printSteps(past, steps, o.noteMissing(ctx, &s, past, moment, len(steps), more), out)
}

// noteMissing returns notes about the steps that are not among n printed steps. more is true if --tail leaves out some.
func (o *logOptions) noteMissing(ctx context.Context, s *history.Subject, past *history.Past, since history.Moment, n int,
	more bool) (notes []string) {
	if former := o.reader.DescribeFormer(ctx, *s, past); former != "" && !more {
		notes = append(notes, former)
	}
	switch {
	case more || past.Cut:
		notes = append(notes, "older changes are left out: --since tells from when on")
	case past.MayLackSince(since):
		notes = append(notes, "older changes may be missing: the history is whole since "+past.WholeSince.UTC().Format(time.RFC3339))
	case n == 0:
		notes = append(notes, o.describeNone(s))
	}
	return notes
}

// describeNone returns that the log has no change, with the options that select changes, and why none may be kept.
func (o *logOptions) describeNone(s *history.Subject) string {
	text, selection := "no change in the history"+describeSearch(s), ""
	if o.user != "" {
		selection += " by " + o.user
	}
	if o.since != "" {
		selection += " since " + o.since
	}
	if selection != "" { // other changes may be there
		text = "no change " + strings.TrimPrefix(describeSearch(s), ": ") + selection
	}
	// The zone itself keeps no history.
	if s.Zone != nil && s.Zone.Spec.HistoryRetention != nil && s.Zone.Spec.HistoryRetention.Duration == 0 {
		text += "; spec.historyRetention 0s of the Zone keeps none"
	}
	return text
}

func describeSearch(s *history.Subject) string {
	switch {
	case s.Zone == nil:
		return fmt.Sprintf(": of %s, by Records of namespace %s", s.Name, s.Namespace)
	case s.Zone.Status.FQDN == "":
		return fmt.Sprintf(": of zone %s/%s", s.Zone.Namespace, s.Zone.Name)
	case s.Name.IsZero():
		return ": of zone " + s.Zone.Status.FQDN
	}
	return fmt.Sprintf(": of %s in zone %s (view %s)", s.Name, s.Zone.Status.FQDN, cmp.Or(s.Zone.Status.View, "default"))
}

func (o *logOptions) matchesStep(s *history.Subject, x *v1alpha1.HistoryStep) bool {
	return history.IsBy(x, o.user) && history.Touches(x, s.Name)
}

// printSteps prints steps, the newest at the end as in a log. A document has them as they are given, the newest first.
func (o *logOptions) printSteps(past *history.Past, steps []v1alpha1.HistoryStep, notes []string, out io.Writer) error {
	result := v1alpha1.ZoneChanges{FQDN: past.FQDN, View: past.View, History: steps}
	if len(steps) > 0 {
		result.Since, result.Until = steps[len(steps)-1].From, steps[0].Serial
	}
	return o.format.Print(out, "ZoneChanges", &result, func(page *output.Text) {
		for _, note := range notes {
			page.Line("; %s", note)
		}
		for _, x := range slices.Backward(steps) {
			printStep(page, &x)
		}
	})
}

func atName(steps []v1alpha1.HistoryStep, owner name.Name) {
	for i := range steps {
		steps[i] = history.AtName(&steps[i], owner)
	}
}

func printStep(page *output.Text, x *v1alpha1.HistoryStep) {
	by := history.AuthorOf(x)
	line := fmt.Sprintf("; serial %d, %s, by %s", x.Serial, by.Time, by.User())
	// Requests and cascades are the usual ways, and their user or cause says all.
	if x.Way != v1alpha1.WayRequest && x.Way != v1alpha1.WayCascade {
		line += ", " + string(x.Way)
	}
	if text := by.DescribeRecords(maxRecords); text != "" {
		line += ": Record " + text
	}
	if page.IsWide() && by.AuditID != "" {
		line += ", audit ID " + by.AuditID
	}
	page.Line("%s", line)
	for _, line := range history.Lines(x) {
		page.Line("%s", line)
	}
}

// followZone prints each change of the zone after s.Zone.Status.Serial, until ctx ends. A server ends each watch after
// a time, so the next watch goes on after the last printed serial.
func (o *logOptions) followZone(ctx context.Context, s history.Subject, out io.Writer) error {
	last := s.Zone.Status.Serial
	for ctx.Err() == nil {
		events, err := o.api.KubizoneV1alpha1().RESTClient().Get().Namespace(s.Zone.Namespace).Resource("zones").Name(s.Zone.Name).
			SubResource("changes").Param("since", strconv.FormatInt(last, 10)).Param("watch", "true").Watch(ctx)
		if err == nil {
			last, err = o.printEvents(ctx, s, last, events.ResultChan(), out)
			events.Stop()
		}
		switch {
		case ctx.Err() != nil:
			return nil
		case err != nil:
			return fmt.Errorf("changes of zone %s/%s after serial %d: %w; --since %d --follow goes on there", s.Zone.Namespace,
				s.Zone.Name, last, err, last)
		}
		select {
		case <-ctx.Done():
		case <-time.After(pause):
		}
	}
	return nil
}

// printEvents prints at each event of a watch the changes after a serial, and returns the newest serial. The end of a
// watch is no error, because the next request shows whether the server answers.
func (o *logOptions) printEvents(ctx context.Context, s history.Subject, printedSerial int64, events <-chan watch.Event, out io.Writer) (
	int64, error) {
	for event := range events {
		if event.Type == watch.Error {
			return printedSerial, apierrors.FromObject(event.Object)
		}
		changes, ok := event.Object.(*v1alpha1.ZoneChanges)
		if !ok || !serial.Serial(changes.Until).Ahead(serial.Serial(printedSerial)) {
			continue // printed after an earlier event
		}
		moment := history.Moment{Serial: serial.Serial(printedSerial)}
		past, err := o.reader.Read(ctx, s, reaches(moment))
		if err != nil {
			return printedSerial, err
		}
		steps := slices.DeleteFunc(past.Steps, func(step v1alpha1.HistoryStep) bool { return !moment.IsBefore(&step) })
		// The serial moves on with each step, also with those that the user has not selected.
		if len(steps) > 0 {
			printedSerial = steps[0].Serial
		}
		steps = slices.DeleteFunc(steps, func(step v1alpha1.HistoryStep) bool { return !o.matchesStep(&s, &step) })
		if len(steps) == 0 {
			continue
		}
		atName(steps, s.Name)
		if err := o.printSteps(past, steps, nil, out); err != nil {
			return printedSerial, err
		}
	}
	return printedSerial, nil
}

func NewLogCommand() *cobra.Command {
	o := &logOptions{}
	command := &cobra.Command{
		Use:     "log NAME|OBJECT",
		Aliases: []string{"changes"},
		Short:   "print who changed a zone or a name, when and by what",
		Long: `Print the changes of a zone, the newest last: for each serial the time, the user and field manager, or the cause, and the
values that were removed (-) and added (+). NAME is the DNS name of a zone, or in a zone. OBJECT is zone/NAME, record/NAME,
NAMESPACE/NAME, or a name without a dot: a Zone, else a Record, also a deleted one. Users of other namespaces are shown if you may
list the Records of all namespaces; if you may not read the zone, your own namespace's changes are.`,
		Example: `  kubectl kubizone log example.org --since 24h
  kubectl kubizone log record/www -n team-a
  kubectl kubizone log www.example.org --by alice
  kubectl kubizone log platform/example-org --follow`,
		Args: cobra.ExactArgs(1),
		RunE: func(command *cobra.Command, arguments []string) error {
			return o.run(command.Context(), arguments[0], command.OutOrStdout())
		},
	}
	o.room = newRoom(command)
	flags := command.Flags()
	flags.StringVar(&o.since, "since", "",
		"serial, time (UTC), or duration before now after which changes are printed; absent: the last of --tail")
	flags.StringVar(&o.user, "by", "", "changes of users or field managers with this text in their name")
	flags.IntVar(&o.tail, "tail", defaultTail, "number of changes without --since")
	flags.BoolVarP(&o.follow, "follow", "f", false, "print changes as they come, until interrupted")
	return command
}

func NewCommands() []*cobra.Command {
	return []*cobra.Command{NewLogCommand(), newBlameCommand(), newDiffCommand(), newShowCommand(), newRevertCommand()}
}
