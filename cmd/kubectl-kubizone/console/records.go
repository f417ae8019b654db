// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

package console

import (
	"cmp"
	"context"
	"errors"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/fields"

	"kubi.zone/kubizone/api/kubizone/v1alpha1"
	"kubi.zone/kubizone/pkg/client/find"
	"kubi.zone/kubizone/pkg/client/overview"
	"kubi.zone/kubizone/pkg/dns/name"
)

const (
	pageRecords = 100
	maxFiltered = 500 // Records of a request of which a part of the name selects some
	maxData     = 3
)

// recordFilter selects Records by state.
type recordFilter struct {
	State    string
	selector string            // for kubectl
	lists    []fields.Selector // the same, each with an index in the server
}

var recordFilters = []recordFilter{
	{"", "", []fields.Selector{fields.Everything()}},
	{"waiting", v1alpha1.FieldRecordAdopted + "=False", []fields.Selector{
		fields.OneTermEqualSelector(v1alpha1.FieldRecordAdopted, string(metav1.ConditionFalse))}},
	{"not Ready", v1alpha1.FieldRecordReady + "!=True", overview.OpenRecords},
	{"withdrawn", v1alpha1.FieldRecordWithdrawn + "=True", []fields.Selector{
		fields.OneTermEqualSelector(v1alpha1.FieldRecordWithdrawn, string(metav1.ConditionTrue))}},
}

type recordsPage struct {
	Namespace, Name string
	Filter          *recordFilter
	Rows            []*recordRow
	// Next is the address of the next page, or "". Later is false on the first page.
	Next  string
	Later bool
	// Searching is true if the search ended early and continues at Next.
	Searching bool
	Lacks     []*lack

	namespaces []string
}

type recordRow struct {
	Namespace, Name, FQDN, Type string
	Data                        []string
	More                        int
	State                       state
	Signs                       []state
	Reason, Message             string
	Zone                        *v1alpha1.AdoptingZone
}

type recordList struct {
	namespace string
	selector  fields.Selector
}

// newRecordsPage reads the query of a page. lists has a list for each namespace and each selector of the state, in the
// order of the pages. An unknown state means all Records.
func newRecordsPage(r *reading, asked url.Values) (page *recordsPage, lists []recordList) {
	page = &recordsPage{Namespace: strings.TrimSpace(asked.Get("namespace")), Name: strings.TrimSpace(asked.Get("name")),
		Later: asked.Has("list"), namespaces: r.namespaces}
	at := slices.IndexFunc(recordFilters, func(one recordFilter) bool { return one.State == asked.Get("state") })
	page.Filter = &recordFilters[max(at, 0)]
	if page.Namespace != "" {
		page.namespaces = []string{page.Namespace}
	}
	for _, namespace := range page.namespaces {
		for _, selector := range page.Filter.lists {
			lists = append(lists, recordList{namespace, selector})
		}
	}
	return page, lists
}

// loadRecords reads the Records of a page. The server cannot select a part of a name, so a page with that filter ends
// after searchTime with the Records found so far.
func loadRecords(r *reading, request *http.Request) (any, error) {
	asked := request.URL.Query()
	page, lists := newRecordsPage(r, asked)
	at, _ := strconv.Atoi(asked.Get("list"))
	next, found := asked.Get("continue"), false
	part, began := name.ParsePart(page.Name), time.Now()
	for at = max(at, 0); at < len(lists) && len(page.Rows) < pageRecords && time.Since(began) < searchTime; {
		list, err := page.readList(request.Context(), r, lists[at], next)
		if err != nil {
			// Go on with the next list: a user of -n team-a,team-b may lack the right in team-b alone.
			page.Lacks = append(page.Lacks, lackOf(err, "list", "records", cmp.Or(lists[at].namespace, r.own)))
			at, next = at+1, ""
			continue
		}
		for i := range list.Items {
			// Both names match: the DNS name www.example.org. and the object name shop-www.
			if row := recordRowOf(&list.Items[i]); part.In(row.FQDN) || strings.Contains(row.Name, page.Name) {
				page.Rows = append(page.Rows, row)
			}
		}
		if found, next = true, list.Continue; next == "" {
			at++
		}
	}
	page.Lacks = uniqueLacks(page.Lacks)
	if n := len(page.Lacks); !found && n > 0 && page.Lacks[n-1].Reason == "" { // other errors are shown with the form
		return nil, page.Lacks[n-1]
	}
	if at < len(lists) {
		// Stopped by searchTime rather than by a full page.
		page.Searching = page.Name != "" && len(page.Rows) < pageRecords
		page.Next = r.base + "/records?" + url.Values{"namespace": {page.Namespace}, "name": {page.Name}, "state": {page.Filter.State},
			"list": {strconv.Itoa(at)}, "continue": {next}}.Encode()
	}
	return page, nil
}

// readList reads the next Records of a list. If the user may not list all namespaces, the Records of the own namespace
// take their place, and Lacks has the missing right.
func (p *recordsPage) readList(ctx context.Context, r *reading, of recordList, next string) (*v1alpha1.RecordList, error) {
	options := metav1.ListOptions{Limit: int64(pageRecords - len(p.Rows)), Continue: next, FieldSelector: of.selector.String()}
	if p.Name != "" {
		// Most Records do not match a part of a name, so a request reads more than a page shows.
		options.Limit = maxFiltered
	}
	list, err := r.api.Records(of.namespace).List(ctx, options)
	if apierrors.IsForbidden(err) && of.namespace == metav1.NamespaceAll {
		p.Lacks = append(p.Lacks, lackOf(err, "list", "records", of.namespace))
		of.namespace, p.namespaces = r.own, []string{r.own}
		list, err = r.api.Records(of.namespace).List(ctx, options)
	}
	// The version of the first page is compacted: the server returns a token for this position in the current list.
	if expired := (*apierrors.StatusError)(nil); apierrors.IsResourceExpired(err) && errors.As(err, &expired) && next != "" {
		if options.Continue = expired.ErrStatus.Continue; options.Continue != "" {
			list, err = r.api.Records(of.namespace).List(ctx, options)
		}
	}
	return list, err
}

func uniqueLacks(all []*lack) (out []*lack) {
	for _, one := range all {
		if !slices.ContainsFunc(out, func(other *lack) bool { return *one == *other }) {
			out = append(out, one)
		}
	}
	return out
}

// recordRowOf returns the row of a Record: the state of Ready or, for a Record in no zone, the reason of Adopted.
func recordRowOf(record *v1alpha1.Record) *recordRow {
	row := &recordRow{Namespace: record.Namespace, Name: record.Name, FQDN: cmp.Or(record.Status.FQDN, record.Spec.DomainName),
		Type: strings.ToUpper(record.Spec.Type), Data: find.DataOf(record), Zone: record.Status.ZoneRef}
	row.More = max(0, len(row.Data)-maxData)
	row.Data = row.Data[:len(row.Data)-row.More]
	of := overview.RecordState(record)
	row.State, row.Reason, row.Message = showState(of), of.Reason, of.Message
	if record.Status.EndsAt != nil {
		row.Signs = append(row.Signs, state{"waits", "withdrawn"})
	}
	if at := record.Spec.ExpiresAt; at != nil && record.Status.ZoneRef != nil {
		row.Signs = append(row.Signs, state{"waits", "until " + at.UTC().Format(time.RFC3339)})
	}
	return row
}

func (p *recordsPage) States() []recordFilter { return recordFilters[1:] }

func (p *recordsPage) Where() string {
	if p.namespaces[0] == metav1.NamespaceAll {
		return "all namespaces"
	}
	return "namespace " + strings.Join(p.namespaces, ", ")
}

// Commands returns the kubectl commands that list the same Records. A filter by a part of the name has no selector, so
// the commands list more.
func (p *recordsPage) Commands() (all []string) {
	for _, namespace := range p.namespaces {
		words := []string{"kubectl", "get", "records", "-n", namespace}
		if namespace == metav1.NamespaceAll {
			words = []string{"kubectl", "get", "records", "-A"}
		}
		if p.Filter.selector != "" {
			words = append(words, "--field-selector", p.Filter.selector)
		}
		all = append(all, command(words...))
	}
	return all
}

// recordsSources returns the lists to watch, nil for a page that does not follow changes.
func recordsSources(r *reading, request *http.Request) (all []source) {
	asked := request.URL.Query()
	page, lists := newRecordsPage(r, asked)
	// A later page shows the version of the first page, which does not change. A search would begin again with each
	// change.
	if page.Later || page.Name != "" {
		return nil
	}
	for _, of := range lists {
		all = append(all, source{"records", of.namespace, of.selector})
		if of.namespace == metav1.NamespaceAll && r.own != "" {
			// For a user who may not list all namespaces, the page falls back to this namespace.
			all = append(all, source{"records", r.own, of.selector})
		}
	}
	return all
}
