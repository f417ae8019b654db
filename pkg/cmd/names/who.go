// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

package names

import (
	"context"
	"fmt"
	"io"
	"net/netip"
	"slices"
	"strings"
	"text/tabwriter"

	"github.com/spf13/cobra"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/apimachinery/pkg/runtime"

	client "kubi.zone/kubizone/api/client/clientset/versioned/typed/kubizone/v1alpha1"
	"kubi.zone/kubizone/api/kubizone/v1alpha1"
	"kubi.zone/kubizone/pkg/dns/name"
	"kubi.zone/kubizone/pkg/load"
	"kubi.zone/kubizone/pkg/terminal"
)

func newWho() *cobra.Command {
	q := newQuestion()
	return q.makeCommand(&cobra.Command{
		Use:   "who NAME|ADDRESS",
		Short: "find the Records of a name or an address",
		Long: `Find the Records that stand at a name, or else the nearest above it: of a wildcard, or a name that claims it (S4.8).
Of an address: the Records that have it. All namespaces are searched where you may list Records in all of them, else that
of -n. The exit code is 1 where there is none.`,
		Example:           "  kubectl kubizone who www.example.org\n  kubectl kubizone who 192.0.2.7",
		Args:              cobra.ExactArgs(1),
		ValidArgsFunction: q.complete(listRecords(fqdnOf)),
	}, false, func(ctx context.Context, s *search, arguments []string, out io.Writer) error {
		return s.findRecords(ctx, arguments[0], out)
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

func (s *search) findRecords(ctx context.Context, text string, out io.Writer) error {
	var found []v1alpha1.Record
	var note string
	var err error
	if address, wrong := netip.ParseAddr(text); wrong == nil {
		found, err = s.findAddress(ctx, address)
	} else {
		found, note, err = s.findName(ctx, text)
	}
	if err != nil {
		return err
	}
	if len(found) == 0 {
		if _, err := terminal.Fprintf(out, "No Record of %s %s.\n", text, s.where()); err != nil {
			return err
		}
		return ErrNo
	}
	if note != "" {
		terminal.Fprintf(out, "%s\n", note)
	}
	table := tabwriter.NewWriter(out, 0, 0, 2, ' ', 0)
	terminal.Fprintf(table, "NAMESPACE\tRECORD\tNAME\tTYPE\tDATA\tZONE\n")
	for i := range found {
		r := &found[i]
		zone := "(none)"
		if ref := r.Status.ZoneRef; ref != nil {
			zone = ref.Namespace + "/" + ref.Name
		}
		terminal.Fprintf(table, "%s\t%s\t%s\t%s\t%s\t%s\n", r.Namespace, r.Name, r.Status.FQDN, strings.ToUpper(r.Spec.Type),
			strings.Join(dataOf(r), ", "), zone)
	}
	return table.Flush()
}

func dataOf(r *v1alpha1.Record) []string {
	if r.Spec.RData != "" {
		return []string{r.Spec.RData}
	}
	return r.Spec.Values
}

func (s *search) findName(ctx context.Context, text string) (found []v1alpha1.Record, note string, err error) {
	if !name.IsAbsolute(text) {
		text += "."
	}
	fqdn, err := name.Parse(text)
	if err != nil {
		return nil, "", fmt.Errorf("%q is neither an address nor a name: %w", text, err)
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
			return found, fmt.Sprintf("No Record at %s; the nearest above are at %s (S4.8):", fqdn, candidate), nil
		}
	}
	return nil, "", nil
}

func (s *search) findAddress(ctx context.Context, address netip.Addr) ([]v1alpha1.Record, error) {
	rrtype := "A"
	if address.Is6() {
		rrtype = "AAAA"
	}
	return s.listRecords(ctx, fields.Set{v1alpha1.FieldRecordType: rrtype}, func(r *v1alpha1.Record) bool {
		return slices.ContainsFunc(dataOf(r), func(text string) bool {
			value, err := netip.ParseAddr(text)
			return err == nil && value == address
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
