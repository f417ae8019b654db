// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

package names

import (
	"cmp"
	"context"
	"fmt"
	"net/netip"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/apimachinery/pkg/runtime"

	client "kubi.zone/kubizone/api/client/clientset/versioned/typed/kubizone/v1alpha1"
	"kubi.zone/kubizone/api/kubizone/v1alpha1"
	"kubi.zone/kubizone/pkg/cmd/output"
	"kubi.zone/kubizone/pkg/dns/name"
	"kubi.zone/kubizone/pkg/load"
)

func newWho() *cobra.Command {
	q := newQuestion()
	return q.makeCommand(&cobra.Command{
		Use:   "who NAME|ADDRESS|PREFIX",
		Short: "find the Records of a name, an address or a prefix",
		Long: `Find the Records that stand at a name, or else the nearest above it: of a wildcard, or a name that claims it (S4.8).
Of an address or a prefix: the Records that have it, or an address in it. All namespaces are searched where you may list
Records in all of them, else that of -n. The exit code is 1 where there is none.`,
		Example:           "  kubectl kubizone who www.example.org\n  kubectl kubizone who 192.0.2.7\n  kubectl kubizone who 192.0.2.0/24",
		Args:              cobra.ExactArgs(1),
		ValidArgsFunction: q.complete(listRecords(fqdnOf)),
	}, false, func(ctx context.Context, s *search, arguments []string) (*answer, error) {
		return s.findRecords(ctx, arguments[0])
	})
}

type search struct {
	api        client.KubizoneV1alpha1Interface
	namespace  string
	everywhere bool
}

func (s *search) where() string {
	if s.everywhere {
		return "in all namespaces"
	}
	return fmt.Sprintf("in namespace %s, the only one that was searched", s.namespace)
}

type foundRecords struct {
	Query string `json:"query"`
	// Nearest is the name above the queried one whose Records these are, or "".
	Nearest string        `json:"nearest,omitempty"`
	Records []foundRecord `json:"records"`
	// Namespace is the only one that was searched, or "".
	Namespace string `json:"namespace,omitempty"`
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

func (s *search) findRecords(ctx context.Context, text string) (*answer, error) {
	result := &foundRecords{Query: text, Records: []foundRecord{}}
	var found []v1alpha1.Record
	var err error
	if prefix, ok := parsePrefix(text); ok {
		found, err = s.findAddresses(ctx, prefix)
	} else {
		found, result.Nearest, err = s.findName(ctx, text)
	}
	if err != nil {
		return nil, err
	}
	if !s.everywhere {
		result.Namespace = s.namespace
	}
	for i := range found {
		r := &found[i]
		one := foundRecord{r.Namespace, r.Name, r.Status.FQDN, r.Status.View, strings.ToUpper(r.Spec.Type), r.Spec.TTL, dataOf(r), "",
			readyOf(r.Status.Conditions)}
		if ref := r.Status.ZoneRef; ref != nil {
			one.Zone = ref.Namespace + "/" + ref.Name
		}
		result.Records = append(result.Records, one)
	}
	where := s.where()
	print := func(page *output.Text) { result.printText(page, where) }
	return &answer{kind: "Records", result: result, isNo: len(found) == 0, text: print}, nil
}

func (f *foundRecords) printText(text *output.Text, where string) {
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

// parsePrefix reads a prefix, or an address as the prefix of that alone.
func parsePrefix(text string) (netip.Prefix, bool) {
	if prefix, err := netip.ParsePrefix(text); err == nil {
		return prefix.Masked(), true
	}
	address, err := netip.ParseAddr(text)
	return netip.PrefixFrom(address, address.BitLen()), err == nil
}

func readyOf(conditions []metav1.Condition) string {
	if c := meta.FindStatusCondition(conditions, v1alpha1.ConditionReady); c != nil {
		return string(c.Status)
	}
	return string(metav1.ConditionUnknown)
}

func dataOf(r *v1alpha1.Record) []string {
	if r.Spec.RData != "" {
		return []string{r.Spec.RData}
	}
	return r.Spec.Values
}

// findName returns the Records at a name, or else those at the nearest name above, and that name.
func (s *search) findName(ctx context.Context, text string) (found []v1alpha1.Record, nearest string, err error) {
	if !name.IsAbsolute(text) {
		text += "."
	}
	fqdn, err := name.Parse(text)
	if err != nil {
		return nil, "", fmt.Errorf("%q is neither an address, a prefix nor a name: %w", text, err)
	}
	candidates := []string{fqdn.String()}
	for at, more := fqdn.Parent(); more && at != name.Root; at, more = at.Parent() {
		candidates = append(candidates, "*."+at.String(), at.String())
	}
	for i, candidate := range candidates {
		found, err = s.listRecords(ctx, fields.Set{v1alpha1.FieldRecordFQDN: candidate}, nil)
		switch {
		case err != nil || len(found) > 0 && i == 0:
			return found, "", err
		case len(found) > 0:
			return found, candidate, nil
		}
	}
	return nil, "", nil
}

func (s *search) findAddresses(ctx context.Context, prefix netip.Prefix) ([]v1alpha1.Record, error) {
	rrtype := "A"
	if prefix.Addr().Is6() {
		rrtype = "AAAA"
	}
	return s.listRecords(ctx, fields.Set{v1alpha1.FieldRecordType: rrtype}, func(r *v1alpha1.Record) bool {
		return slices.ContainsFunc(dataOf(r), func(text string) bool {
			value, err := netip.ParseAddr(text)
			return err == nil && prefix.Contains(value)
		})
	})
}

type lister[L runtime.Object] = func(context.Context, metav1.ListOptions) (L, error)

// eachAllowed calls do for the objects of all namespaces, or if forbidden of the user's.
func eachAllowed[L, T runtime.Object](ctx context.Context, s *search, what string, list func(namespace string) lister[L],
	options metav1.ListOptions, do func(T) error) (err error) {
	if s.everywhere {
		err = load.EachItem(ctx, list(metav1.NamespaceAll), options, do)
		s.everywhere = !apierrors.IsForbidden(err)
	}
	if !s.everywhere {
		err = load.EachItem(ctx, list(s.namespace), options, do)
	}
	if err != nil {
		return fmt.Errorf("%s: %w", what, err)
	}
	return nil
}

func (s *search) eachRecord(ctx context.Context, options metav1.ListOptions, do func(*v1alpha1.Record) error) error {
	return eachAllowed(ctx, s, "records", func(in string) lister[*v1alpha1.RecordList] { return s.api.Records(in).List }, options, do)
}

func (s *search) listRecords(ctx context.Context, of fields.Set, keep func(*v1alpha1.Record) bool) (found []v1alpha1.Record, err error) {
	err = s.eachRecord(ctx, metav1.ListOptions{FieldSelector: of.String()}, func(r *v1alpha1.Record) error {
		if keep == nil || keep(r) {
			found = append(found, *r)
		}
		return nil
	})
	return found, err
}
