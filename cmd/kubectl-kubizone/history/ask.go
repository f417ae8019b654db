// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

package history

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"iter"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"kubi.zone/kubizone/api/kubizone/v1alpha1"
	"kubi.zone/kubizone/cmd/output"
	"kubi.zone/kubizone/cmd/program"
	"kubi.zone/kubizone/pkg/client/history"
	"kubi.zone/kubizone/pkg/dns"
	"kubi.zone/kubizone/pkg/dns/name"
	"kubi.zone/kubizone/pkg/dns/zonefile"
)

type values struct {
	FQDN   string          `json:"fqdn"`
	Name   string          `json:"name,omitempty"`
	Serial int64           `json:"serial"`
	Since  int64           `json:"since,omitempty"`
	Values []history.Value `json:"values"`
	// Losses are the changes whose values, or which themselves, the history lacks.
	Losses []history.Loss `json:"losses,omitempty"`
}

func (v *values) printLosses(page *output.Text) {
	for i := range v.Losses {
		page.Line("; %s", v.Losses[i].String())
	}
}

func (r *room) printValues(out io.Writer, v *values, text func(*output.Text)) error {
	if v.Values == nil {
		v.Values = []history.Value{}
	}
	return r.format.Print(out, "Values", v, text)
}

// blameValues prints the present values of a name or zone, each with the newest change that added the value. A name
// without a value is a "no" (exit code 1).
func (r *room) blameValues(ctx context.Context, argument string, out io.Writer) error {
	s, now, err := r.openContent(ctx, argument)
	if err != nil {
		return err
	}
	// Read until each value has an author: for a busy zone, far from the whole history.
	past, err := r.reader.Read(ctx, s, now.HasAuthors(s.Name))
	if err != nil {
		return err
	}
	v := &values{FQDN: s.Zone.Status.FQDN, Name: s.Name.String(), Serial: int64(now.Serial), Values: past.Blame(now, s.Name)}
	if err := r.printValues(out, v, func(page *output.Text) {
		header := []string{"NAME", "TYPE", "DATA", "SERIAL", "TIME", "BY", "RECORD"}
		if page.IsWide() {
			header = append(header, "TTL", "WAY", "AUDIT ID")
		}
		var rows [][]string
		for i := range v.Values {
			x := &v.Values[i]
			at := ""
			// A value older than the history has no author.
			if x.Author.Serial > 0 {
				at = fmt.Sprint(x.Author.Serial)
			}
			row := []string{x.FQDN, x.Type, x.Data, at, x.Author.Time, x.Author.User(),
				x.Author.DescribeRecords(maxRecords)}
			if page.IsWide() {
				row = append(row, fmt.Sprint(x.TTL), string(x.Author.Way), x.Author.AuditID)
			}
			rows = append(rows, row)
		}
		if len(rows) > 0 {
			page.Table(header, rows)
		}
	}); err != nil {
		return err
	}
	if len(v.Values) == 0 {
		return program.No(fmt.Sprintf("%s has no value in zone %s; kubectl kubizone log %s prints what it had", s.Describe(), v.FQDN,
			argument))
	}
	return nil
}

// contentAt takes a content back to a moment, and returns what the history lacks on the way.
func contentAt(past *history.Past, c *history.Content, m history.Moment, at name.Name) ([]history.Loss, error) {
	steps, err := past.Since(m)
	if err != nil {
		return nil, err
	}
	for i := range steps {
		// The steps begin with the newest of the zone, and the content may be older already.
		if m.Serial != 0 && !c.Serial.Ahead(m.Serial) {
			break
		}
		if err := c.Undo(&steps[i]); err != nil {
			return nil, err
		}
	}
	return past.Losses(len(steps), at), nil
}

// checkOrder refuses a first moment with fewer steps since than the second has: for example 1h, and a serial of
// yesterday. A serial and a time have no other order.
func checkOrder(past *history.Past, first, second history.Moment) error {
	sinceFirst, err := past.Since(first)
	if err != nil {
		return err
	}
	sinceSecond, err := past.Since(second)
	if err == nil && len(sinceFirst) < len(sinceSecond) {
		err = errors.New("the second serial or time is before the first: write the older first")
	}
	return err
}

// diffValues prints the net difference between two moments of a zone, or between a moment and now. Differences and
// losses are a "no" (exit code 1).
func (r *room) diffValues(ctx context.Context, arguments []string, out io.Writer) error {
	moments, err := parseMoments(arguments[1:]...)
	if err != nil {
		return err
	}

	// 1. Read back to the older moment, from the present content.
	s, before, past, err := r.openZone(ctx, arguments[0], func(x *v1alpha1.HistoryStep) bool {
		return !slices.ContainsFunc(moments, func(m history.Moment) bool { return m.IsBefore(x) })
	})
	if err != nil {
		return err
	}

	// 2. Undo the steps down to the newer moment, and from there to the older.
	if len(moments) > 1 {
		if err := checkOrder(past, moments[0], moments[1]); err != nil {
			return err
		}
		if _, err := contentAt(past, before, moments[1], s.Name); err != nil {
			return err
		}
	}
	// A copy, because the next undo changes the content in place.
	after := before.Clone()
	losses, err := contentAt(past, before, moments[0], s.Name)
	if err != nil {
		return err
	}

	// 3. Compare both contents.
	between := past.Between(before, after)
	v := &values{FQDN: s.Zone.Status.FQDN, Name: s.Name.String(), Since: int64(before.Serial), Serial: int64(after.Serial),
		Values: between.Diff(before, after, s.Name), Losses: losses}
	if err := r.printValues(out, v, func(page *output.Text) {
		page.Line("; zone %s from serial %d to %d", v.FQDN, v.Since, v.Serial)
		v.printLosses(page)
		for i := range v.Values {
			x := &v.Values[i]
			if line := x.Op + " " + x.Line(); page.IsWide() {
				page.Line("%s ; %s", line, x.Author.String())
			} else {
				page.Line("%s", line)
			}
		}
	}); err != nil {
		return err
	}
	if len(v.Values)+len(v.Losses) > 0 {
		return program.No("")
	}
	return nil
}

// showContent prints the zone file of a zone at a moment, of one name if the argument names a name in the zone. Losses
// are comments at the begin.
func (r *room) showContent(ctx context.Context, argument string, out io.Writer) error {
	zone, at, ok := strings.Cut(argument, "@")
	if !ok {
		return fmt.Errorf("%q: write ZONE@SERIAL, or ZONE@TIME", argument)
	}
	moments, err := parseMoments(at)
	if err != nil {
		return err
	}
	s, c, past, err := r.openZone(ctx, zone, reaches(moments[0]))
	var losses []history.Loss
	if err == nil {
		losses, err = contentAt(past, c, moments[0], s.Name)
	}
	if err != nil {
		return err
	}
	// A zone may have a million entries: the zone file is written entry by entry.
	takes := func(yield func(dns.Entry) bool) {
		// The zone file of a name has only its entries.
		for e := range c.Entries() {
			if (s.Name.IsZero() || e.Name == s.Name) && !yield(e) {
				return
			}
		}
	}
	v := &values{FQDN: s.Zone.Status.FQDN, Name: s.Name.String(), Serial: int64(c.Serial), Losses: losses}
	if !r.format.IsDocument() {
		page := output.NewText(out)
		v.printLosses(page)
		if _, err := page.WriteTo(out); err != nil {
			return err
		}
		return writeFile(out, takes)
	}
	for e := range takes {
		v.Values = append(v.Values, history.Value{FQDN: e.Name.String(), TTL: e.TTL, Type: e.Type.String(), Data: e.Data})
	}
	return r.printValues(out, v, nil)
}

// writeFile escapes line breaks within an entry, which no valid server sends.
func writeFile(out io.Writer, entries iter.Seq[dns.Entry]) error {
	buffered := bufio.NewWriter(out)
	escape := strings.NewReplacer("\n", `\010`, "\r", `\013`)
	for e := range entries {
		var line strings.Builder
		if _, err := zonefile.Write(&line, slices.Values([]dns.Entry{e})); err != nil {
			return err
		}
		_, _ = buffered.WriteString(escape.Replace(strings.TrimSuffix(line.String(), "\n")) + "\n")
	}
	return buffered.Flush()
}

func newBlameCommand() *cobra.Command {
	var r *room
	command := &cobra.Command{
		Use:   "blame NAME|ZONE",
		Short: "print who made each value of a name",
		Long: `Print the values that a DNS name, or a whole zone, has now: for each the newest change that added it, with serial, time,
user and field manager, or the cause, and the Record. -o wide adds TTL, way and the ID in audit logs. A value without a user is
older than the history, or of a namespace whose users you may not see.`,
		Example: "  kubectl kubizone blame www.example.org\n  kubectl kubizone blame platform/example-org -o wide",
		Args:    cobra.ExactArgs(1),
		RunE: func(command *cobra.Command, arguments []string) error {
			return r.blameValues(command.Context(), arguments[0], command.OutOrStdout())
		},
	}
	r = newRoom(command)
	return command
}

func newDiffCommand() *cobra.Command {
	var r *room
	command := &cobra.Command{
		Use:   "diff ZONE|NAME SERIAL|TIME [SERIAL|TIME]",
		Short: "print how a zone differs from an earlier serial or time",
		Long: `Print what was removed (-) and added (+) between two serials or times of a zone, or between one and now. What came and
went in between is not shown; kubectl kubizone log shows it. Lines after "; " name what the history no longer keeps. A time is in
UTC, such as 2006-01-02T15:04, or a duration before now, such as 24h. -o wide adds who made each difference. The exit code is 1 if
there are differences, or may be.`,
		Example: "  kubectl kubizone diff example.org 24h\n  kubectl kubizone diff platform/example-org 2026112014 2026112015",
		Args:    cobra.RangeArgs(2, 3),
		RunE: func(command *cobra.Command, arguments []string) error {
			return r.diffValues(command.Context(), arguments, command.OutOrStdout())
		},
	}
	r = newRoom(command)
	return command
}

func newShowCommand() *cobra.Command {
	var r *room
	command := &cobra.Command{
		Use:   "show ZONE@SERIAL|TIME",
		Short: "print a zone as it was, as a zone file",
		Long: `Print the zone file of a zone at an earlier serial or time: its present content, with the changes since undone. Comments name
what the history no longer keeps, which is left out. ZONE is
the DNS name of the zone or a name in it, or the Zone object, NAME or NAMESPACE/NAME.`,
		Example: "  kubectl kubizone show example.org@2026112014\n  kubectl kubizone show platform/example-org@24h",
		Args:    cobra.ExactArgs(1),
		RunE: func(command *cobra.Command, arguments []string) error {
			return r.showContent(command.Context(), arguments[0], command.OutOrStdout())
		},
	}
	r = newRoom(command)
	return command
}
