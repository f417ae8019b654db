// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

package names

import (
	"cmp"
	"context"
	"fmt"
	"strings"

	"github.com/spf13/cobra"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"kubi.zone/kubizone/api/kubizone/v1alpha1"
	"kubi.zone/kubizone/pkg/cmd/output"
	"kubi.zone/kubizone/pkg/find"
)

func newWho() *cobra.Command {
	q := newQuestion()
	return q.makeCommand(&cobra.Command{
		Use:   "who NAME|ADDRESS|PREFIX",
		Short: "find the Records of a name, an address or a prefix",
		Long: `Find the zone of a name, and the Records at the name, or else the nearest above it in the zone: of a wildcard, or a
name that claims it (S4.8). Of an address or a prefix: the Records that have it, or an address in it. All namespaces are
searched where you may list Records in all of them, else that of -n. The exit code is 1 without zone and Record.`,
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
	Nearest string        `json:"nearest,omitempty"`
	Zones   []foundZone   `json:"zones,omitempty"`
	Records []foundRecord `json:"records"`
	// Namespace is the only one searched, or "".
	Namespace string `json:"namespace,omitempty"`
}

type foundZone struct {
	Namespace string `json:"namespace"`
	Zone      string `json:"zone"`
	Name      string `json:"name"`
	View      string `json:"view,omitempty"`
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

func findRecords(ctx context.Context, s *find.Search, text string) (*answer, error) {
	result := &foundRecords{Query: text, Records: []foundRecord{}}
	var found []v1alpha1.Record
	var err error
	if prefix, ok := find.ParsePrefix(text); ok {
		found, err = s.Within(ctx, prefix)
	} else if fqdn, parsing := find.ParseName(text); parsing != nil {
		return nil, parsing
	} else {
		var zones []*v1alpha1.Zone
		found, result.Nearest, zones, err = s.Nearest(ctx, fqdn)
		for _, z := range zones {
			result.Zones = append(result.Zones, foundZone{z.Namespace, z.Name, z.Status.FQDN, z.Status.View})
		}
	}
	if err != nil {
		return nil, err
	}
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
	return &answer{kind: "Records", result: result, isNo: len(found)+len(result.Zones) == 0, text: print}, nil
}

func (f *foundRecords) printText(text *output.Text, where string) {
	for _, z := range f.Zones {
		text.Line("Zone %s (view %s) of %s/%s.", z.Name, cmp.Or(z.View, "default"), z.Namespace, z.Zone)
	}
	if len(f.Records) == 0 {
		text.Line("No Record of %s %s.", f.Query, where)
		return
	}
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
