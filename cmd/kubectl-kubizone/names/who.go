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
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"kubi.zone/kubizone/api/kubizone/v1alpha1"
	"kubi.zone/kubizone/cmd/output"
	"kubi.zone/kubizone/pkg/client/find"
	"kubi.zone/kubizone/pkg/dns/name"
	"kubi.zone/kubizone/pkg/kit/terminal"
)

func newWho() *cobra.Command {
	q := newQuestion()
	return q.makeCommand(&cobra.Command{
		Use:   "who NAME|ADDRESS|PREFIX",
		Short: "find the zone and the Records of a name, an address or a prefix",
		Long: `Find the zone of a name, and the Records at the name, or else the nearest above it in the zone: of a wildcard, or a
name that claims it (S4.8). Of an address or a prefix: the Records that have it, or an address in it, then the zone of its
reverse name, for PTR Records. The zone comes with its contact and the namespaces with a rule for the name; at the zone's own
name, with any rule. All namespaces are searched if you may list Records in all of them, else that of -n. The exit code is 1
if no Record is found, whether a zone is or not.`,
		Example:           "  kubectl kubizone who www.example.org\n  kubectl kubizone who 192.0.2.7\n  kubectl kubizone who 192.0.2.0/24",
		Args:              cobra.ExactArgs(1),
		ValidArgsFunction: q.complete(listRecords(fqdnOf)),
	}, false, func(ctx context.Context, s *find.Search, arguments []string) (*answer, error) {
		return findRecords(ctx, s, arguments[0])
	})
}

type foundRecords struct {
	Query string `json:"query"`
	// Nearest is the name above whose Records are listed instead, or "".
	Nearest string `json:"nearest,omitempty"`
	// ReverseName is the name of PTR Records for an address or a prefix.
	ReverseName string `json:"reverseName,omitempty"`
	// Zones has the zone of the name, or of ReverseName, in each view, the longest names first.
	Zones []foundZone `json:"zones,omitempty"`
	// Derived has the source of the PTR at ReverseName that a reverse zone derives, of each such zone.
	Derived   []string      `json:"derived,omitempty"`
	Records   []foundRecord `json:"records"`
	Namespace string        `json:"namespace,omitempty"`
}

type foundRecord struct {
	Namespace string   `json:"namespace"`
	Record    string   `json:"record"`
	Name      string   `json:"name"`
	View      string   `json:"view,omitempty"`
	Type      string   `json:"type"`
	TTL       *int32   `json:"ttl,omitempty"`
	Data      []string `json:"data"`
	Zone      string   `json:"zone,omitempty"`
	Ready     string   `json:"ready"`
}

type foundZone struct {
	Namespace string `json:"namespace"`
	Zone      string `json:"zone"`
	Name      string `json:"name"`
	View      string `json:"view,omitempty"`
	Contact   string `json:"contact,omitempty"`
	// Writers are the namespaces with a rule for Records at the name or, at the zone's name, with any rule. "*" is
	// every namespace.
	Writers           []string `json:"writers"`
	HiddenDelegations bool     `json:"hiddenDelegations,omitempty"`
}

// findRecords answers with the zone and the Records of a name, or of all addresses in a prefix. The answer is "no"
// without a Record.
func findRecords(ctx context.Context, s *find.Search, text string) (*answer, error) {
	result := &foundRecords{Query: text, Records: []foundRecord{}}
	var fqdn name.Name
	var err error
	prefix, isPrefix := find.ParsePrefix(text)

	// 1. The zone of the name, or of the reverse name.
	if isPrefix {
		fqdn = name.Reverse(prefix)
		result.ReverseName = fqdn.String()
	} else if fqdn, err = find.ParseName(text); err != nil {
		return nil, err
	}
	zones, err := s.Enclosing(ctx, fqdn)
	if err != nil {
		return nil, err
	}
	for i := range zones {
		zone, err := describeZone(ctx, s, &zones[i], fqdn)
		if err != nil {
			return nil, err
		}
		result.Zones = append(result.Zones, zone)
		if err := result.addDerived(ctx, s, &zones[i], fqdn); err != nil {
			return nil, err
		}
	}

	// 2. The Records.
	var found []v1alpha1.Record
	if isPrefix {
		found, err = s.Within(ctx, prefix)
	} else {
		// Without a Record at www.apps.example.org., a wildcard *.apps or a claim of apps decides about the name.
		found, result.Nearest, err = s.Nearest(ctx, fqdn, zones)
	}
	if err != nil {
		return nil, err
	}
	// The answer names the only searched namespace, as others may have Records too.
	if !s.Everywhere {
		result.Namespace = s.Namespace
	}
	for i := range found {
		r := &found[i]
		one := foundRecord{r.Namespace, r.Name, r.Status.FQDN, r.Status.View, strings.ToUpper(r.Spec.Type), r.Spec.TTL, find.DataOf(r), "",
			readyOf(r.Status.Conditions)}
		if ref := r.Status.ZoneRef; ref != nil {
			one.Zone = ref.Namespace + "/" + ref.Name
		}
		result.Records = append(result.Records, one)
	}
	where := s.Where()
	print := func(page *output.Text) { result.printText(page, where) }
	return &answer{kind: "Records", result: result, no: noIf(len(found) == 0), text: print}, nil
}

func (f *foundRecords) addDerived(ctx context.Context, s *find.Search, z *v1alpha1.Zone, fqdn name.Name) error {
	hosts, err := s.DerivedPTR(ctx, z, fqdn)
	if len(hosts) > 0 {
		f.Derived = append(f.Derived, find.OriginOfPTR(hosts, fqdn, z))
	}
	return err
}

func describeZone(ctx context.Context, s *find.Search, z *v1alpha1.Zone, fqdn name.Name) (out foundZone, err error) {
	out = foundZone{Namespace: z.Namespace, Zone: z.Name, Name: z.Status.FQDN, View: z.Status.View, Contact: z.Spec.Contact}
	// At the zone's own name, a namespace with any rule is of interest.
	if fqdn.String() == z.Status.FQDN {
		fqdn = name.Name{}
	}
	out.Writers, out.HiddenDelegations, err = s.Writers(ctx, z, fqdn, "")
	return out, err
}

const maxCounted = 5

func (z *foundZone) printText(text *output.Text) {
	writers := "no namespace"
	if len(z.Writers) > 0 {
		writers = strings.Join(z.Writers[:min(len(z.Writers), maxCounted)], ", ")
	}
	// A rule without namespaces makes the list of others useless.
	if slices.Contains(z.Writers, find.EveryNamespace) {
		writers = "every namespace"
	} else if more := len(z.Writers) - maxCounted; more > 0 {
		writers += " and " + terminal.Count(more, "more namespace")
	}
	text.Line("Zone %s (view %s) of %s/%s: %s may write there by its rules; contact: %s", z.Name, cmp.Or(z.View, "default"), z.Namespace,
		z.Zone, writers, cmp.Or(z.Contact, "(none; ask namespace "+z.Namespace+")"))
	if z.HiddenDelegations {
		text.Line("Its Delegations are not shown: that needs the right to list delegations in namespace %s.", z.Namespace)
	}
}

func (f *foundRecords) printText(text *output.Text, where string) {
	// For an address, the Records are the answer, and the reverse zone is an addition.
	if f.ReverseName != "" {
		f.printRecords(text, where)
		if len(f.Zones) > 0 {
			text.Line("PTR Records of %s belong at %s:", f.Query, f.ReverseName)
		}
	}
	for i := range f.Zones {
		f.Zones[i].printText(text)
	}
	for _, origin := range f.Derived {
		text.Line("The PTR there is derived from %s.", origin)
	}
	if f.ReverseName == "" {
		f.printRecords(text, where)
	}
}

// printRecords prints the table of Records, or a line that there is none.
func (f *foundRecords) printRecords(text *output.Text, where string) {
	switch {
	case len(f.Records) > 0:
		f.printTable(text)
	case f.ReverseName == "" && len(f.Zones) > 0:
		text.Line("No Record of %s %s; its zone is %s", f.Query, where, f.Zones[0].Name)
	default:
		text.Line("No Record of %s %s.", f.Query, where)
	}
}

func (f *foundRecords) printTable(text *output.Text) {
	if f.Nearest != "" {
		text.Line("No Record at %s; the nearest above are at %s (S4.8):", f.Query, f.Nearest)
	}
	header := []string{"NAMESPACE", "RECORD", "NAME", "TYPE", "DATA", "ZONE"}
	if text.IsWide() {
		header = append(header, "VIEW", "TTL", "READY")
	}
	var rows [][]string
	for _, r := range f.Records {
		row := []string{r.Namespace, r.Record, r.Name, r.Type, strings.Join(r.Data, ", "), cmp.Or(r.Zone, "(none)")}
		if text.IsWide() {
			ttl := "(zone's)"
			if r.TTL != nil {
				ttl = fmt.Sprint(*r.TTL)
			}
			row = append(row, cmp.Or(r.View, "(default)"), ttl, r.Ready)
		}
		rows = append(rows, row)
	}
	text.Table(header, rows)
}

func readyOf(conditions []metav1.Condition) string {
	if c := meta.FindStatusCondition(conditions, v1alpha1.ConditionReady); c != nil {
		return string(c.Status)
	}
	return string(metav1.ConditionUnknown)
}
