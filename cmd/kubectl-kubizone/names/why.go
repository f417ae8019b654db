// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

package names

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"kubi.zone/kubizone/api/kubizone/v1alpha1"
	"kubi.zone/kubizone/cmd/output"
	"kubi.zone/kubizone/cmd/program"
	"kubi.zone/kubizone/pkg/apis/reasons"
	"kubi.zone/kubizone/pkg/client/find"
	"kubi.zone/kubizone/pkg/client/history"
	"kubi.zone/kubizone/pkg/client/verify"
	"kubi.zone/kubizone/pkg/client/why"
)

func newWhy() *cobra.Command {
	q, resolver := newQuestion(), ""
	command := q.makeCommand(&cobra.Command{
		Use:   "why NAME|ADDRESS|OBJECT [TYPE]",
		Short: "say why a name does not resolve, and who can mend it",
		Long: `Follow a DNS name, an address or an object from the rule that admits it, by Record, zone, serial and classes, to the
live answers of name servers, and to NS and DS at the parent. The first link that fails is printed first, with the role that can
mend it and the next step; the exit code is 1 then, or if a link waits.

NAME is a DNS name, and TYPE a type there. OBJECT is record/NAME, zone/NAME or NAMESPACE/NAME, or a name without a dot: a Record,
else a Zone. A name with a dot is a DNS name if a Record or zone has it, else an object's name; with a final dot it is always a
DNS name. A line tells of another reading. Records of all namespaces are searched if you may list them, else those of -n. Of a
name without a Record you see the namespaces with a rule for it, or the Zone that makes its data. Servers of a class are asked
if you may get the DNSClass, else the zone's NS names.`,
		Example: "  kubectl kubizone why www.example.org\n  kubectl kubizone why 192.0.2.1\n" +
			"  kubectl kubizone why -n team-a record/www --resolver 192.0.2.53",
		Args: cobra.RangeArgs(1, 2),
		ValidArgsFunction: q.complete(listRecords(func(r *v1alpha1.Record) []string {
			return []string{r.Name, r.Status.FQDN}
		})),
	}, false, func(ctx context.Context, s *find.Search, arguments []string) (*answer, error) {
		address, err := why.FindResolver(resolver)
		if err != nil {
			return nil, fmt.Errorf("--resolver: %w", err)
		}
		asked := why.Question{Text: arguments[0], Namespace: s.Namespace, Resolver: address}
		if len(arguments) > 1 {
			asked.Type = arguments[1]
		}
		chain, err := why.Ask(ctx, why.Clients{API: q.api, Ask: verify.Ask, History: &history.Reader{Client: s.API}}, asked)
		if err != nil {
			return nil, err
		}
		print := func(text *output.Text) { printChain(text, &chain) }
		return &answer{kind: "Chain", result: &chain, no: judgeChain(&chain), text: print}, nil
	})
	command.Flags().StringVar(&resolver, "resolver", resolver, "recursive server that finds the parent's servers and the zone's NS names, "+
		"ADDRESS[:PORT]; none: only servers of classes are asked (default: the first of "+why.ResolverFile+")")
	return command
}

var (
	stateNames = map[why.State]string{why.OK: "ok", why.Fails: "FAILS", why.Waits: "waits", why.Unknown: "?", why.NotAsked: "not asked"}
	roleNames  = map[reasons.Role]string{reasons.You: "you", reasons.ZoneOwner: "the zone's owner", reasons.Platform: "the platform"}
)

// judgeChain returns an error (exit code 1) for the first link that fails or waits, with its next step, or nil.
func judgeChain(c *why.Chain) error {
	if c.First == nil {
		return nil
	}
	verb := map[why.State]string{why.Fails: "fails", why.Waits: "waits"}[c.State]
	text := fmt.Sprintf("%s: %s %s", c.Question, describeLink(c.First), verb)
	if c.First.Reason != "" {
		text += " (" + c.First.Reason + ")"
	}
	if step := describeStep(c.First); step != "" {
		text += "; " + step
	}
	return program.No(text)
}

func describeLink(l *why.Link) string {
	return strings.TrimSpace(strings.ToLower(string(l.Kind)) + " " + l.Of)
}

func describeStep(l *why.Link) string {
	if l.Step == "nothing" {
		return "nothing to do: it ends by itself"
	}
	role := roleNames[l.Mends]
	if role == "" || l.Step == "" {
		return cmp.Or(role, l.Step)
	}
	return role + ": " + l.Step
}

// printChain prints the first link that fails with its next step, then each path with all links.
func printChain(text *output.Text, c *why.Chain) {
	if c.First != nil {
		first := slices.IndexFunc(c.Paths, func(p why.Path) bool { return p.State == c.State })
		text.Line("%s:", c.Paths[first].Subject.Describe())
		text.Table(nil, [][]string{rowOf(c.First, false)})
		if step := describeStep(c.First); step != "" {
			text.Paragraph("       "+step, "       ")
		}
		text.Line("")
	}
	for _, note := range c.Notes {
		text.Line("%s", note)
	}
	for i := range c.Paths {
		p := &c.Paths[i]
		if i > 0 {
			text.Line("")
		}
		// With a single path, the title is printed already.
		if c.First == nil || len(c.Paths) > 1 {
			text.Line("%s:", p.Subject.Describe())
		}
		rows := make([][]string, len(p.Links))
		for n := range p.Links {
			rows[n] = rowOf(&p.Links[n], text.IsWide())
		}
		text.Table(nil, rows)
	}
}

func rowOf(l *why.Link, wide bool) []string {
	said := l.Text
	if l.Reason != "" {
		said = l.Reason + ": " + said
	}
	row := []string{stateNames[l.State], describeLink(l), said}
	if wide {
		row = append(row, roleNames[l.Mends], l.Step)
	}
	return row
}
