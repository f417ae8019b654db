// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

package console

import (
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"slices"
	"strconv"
	"strings"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/rest"

	"kubi.zone/kubizone/api/kubizone/v1alpha1"
	"kubi.zone/kubizone/test/must"
)

// recordAPI serves lists of Records. records has the number of Records for each "NAMESPACE SELECTOR". Lists of the
// refused namespaces are forbidden, with "" for the list of all.
type recordAPI struct {
	records  map[string]int
	refused  []string
	requests []string
}

func (a *recordAPI) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	namespace, query := cutBetween(r.URL.Path, "/namespaces/", "/"), r.URL.Query()
	of := strings.TrimSpace(namespace + " " + query.Get("fieldSelector"))
	a.requests = append(a.requests, of)
	w.Header().Set("Content-Type", "application/json")
	fail := func(code int, reason metav1.StatusReason, next string) {
		w.WriteHeader(code)
		_ = json.NewEncoder(w).Encode(metav1.Status{TypeMeta: metav1.TypeMeta{Kind: "Status", APIVersion: "v1"},
			Status: metav1.StatusFailure, ListMeta: metav1.ListMeta{Continue: next}, Reason: reason, Code: int32(code), Message: "secret"})
	}
	token, expired := strings.CutPrefix(query.Get("continue"), "old-")
	switch {
	case slices.Contains(a.refused, namespace):
		fail(http.StatusForbidden, metav1.StatusReasonForbidden, "")
		return
	case expired:
		fail(http.StatusGone, metav1.StatusReasonExpired, token)
		return
	}
	at, _ := strconv.Atoi(token)
	limit, _ := strconv.Atoi(query.Get("limit"))
	list := &v1alpha1.RecordList{}
	for ; at < a.records[of] && len(list.Items) < limit; at++ {
		record := v1alpha1.Record{}
		record.Name = fmt.Sprint("r", at)
		list.Items = append(list.Items, record)
	}
	if at < a.records[of] {
		list.Continue = fmt.Sprint(at)
	}
	_ = json.NewEncoder(w).Encode(list)
}

// A page has a bounded number of Records, by the rights of the user, from lists that the server answers from an index.
func TestLoadRecords_readsAPage(t *testing.T) {
	const notReady, unknown = "status.ready=False", "status.ready=Unknown"
	two := map[string]int{"team " + notReady: 60, "team " + unknown: 70}
	for _, one := range []struct {
		what, scope, query string
		refused            []string
		records            map[string]int
		requests           string
		rows               int
		next, lacks        string
		where, err         string
	}{
		{what: "all namespaces", records: map[string]int{"": 250}, rows: pageRecords, next: "continue=100&list=0&name=&namespace=&state=",
			where: "all namespaces"},
		{what: "the last page", query: "list=0&continue=200", records: map[string]int{"": 250}, rows: 50, where: "all namespaces"},
		{what: "two lists", query: "namespace=team&state=not+Ready", records: two, requests: "team " + notReady + "|team " + unknown,
			rows: pageRecords, next: "continue=40&list=1&name=&namespace=team&state=not+Ready", where: "namespace team"},
		{what: "the rest of the second list", query: "namespace=team&state=not+Ready&list=1&continue=40", records: two,
			requests: "team " + unknown, rows: 30, where: "namespace team"},
		{what: "a list that ends with the page", query: "namespace=team&state=not+Ready", rows: pageRecords,
			records: map[string]int{"team " + notReady: pageRecords, "team " + unknown: 1}, requests: "team " + notReady,
			next: "continue=&list=1&name=&namespace=team&state=not+Ready", where: "namespace team"},
		{what: "a part of a name", query: "name=r11", records: map[string]int{"": 1200}, rows: 111, requests: "||",
			where: "all namespaces"},
		{what: "a part of no name", query: "name=www", records: map[string]int{"": 10}, where: "all namespaces"},
		{what: "those that wait", query: "namespace=team&state=waiting", requests: "team status.adopted=False", where: "namespace team"},
		{what: "withdrawn", query: "namespace=team&state=withdrawn", requests: "team status.withdrawn=True", where: "namespace team"},
		{what: "a state of nobody", query: "namespace=team&state=%3Cb%3E", requests: "team", where: "namespace team"},
		{what: "a list of nobody", query: "list=-7&namespace=team", records: map[string]int{"team": 1}, rows: 1, where: "namespace team"},
		{what: "a list after the last", query: "list=7&namespace=team", where: "namespace team"},
		{what: "a tenant", refused: []string{""}, records: map[string]int{"team": 3}, requests: "|team", rows: 3, where: "namespace team",
			lacks: "you lack the right to list records in all namespaces"},
		{what: "a tenant with the namespace's name", query: "namespace=team", refused: []string{""}, records: map[string]int{"team": 3},
			requests: "team", rows: 3, where: "namespace team"},
		{what: "no right at all", refused: []string{"", "team"}, err: "you lack the right to list records in namespace team"},
		{what: "another's namespace", query: "namespace=other", refused: []string{"", "other"},
			err: "you lack the right to list records in namespace other"},
		{what: "two namespaces, one of them refused", scope: "team,other", query: "state=not+Ready", refused: []string{"other"},
			records: two, rows: pageRecords, next: "continue=40&list=1", where: "namespace team, other"},
		{what: "the rest of them", scope: "team,other", query: "state=not+Ready&list=1&continue=40", refused: []string{"other"},
			records: two, rows: 30, where: "namespace team, other", lacks: "you lack the right to list records in namespace other"},
		{what: "a state that is no longer kept", query: "list=0&continue=old-200", records: map[string]int{"": 250}, rows: 50,
			requests: "|", where: "all namespaces"},
		{what: "a place that is no longer known", query: "list=0&continue=old-", records: map[string]int{"": 250},
			where: "all namespaces", lacks: "records could not be read: secret"},
	} {
		api := &recordAPI{records: one.records, refused: one.refused}
		r := must.Get(newReading(&rest.Config{Host: "http://api", Transport: handled{api}}, one.scope, "team"))(t)
		got, err := loadRecords(r, httptest.NewRequest(http.MethodGet, "/records?"+one.query, nil))
		if one.err != "" {
			if missing := (*lack)(nil); !errors.As(err, &missing) || missing.Error() != one.err {
				t.Errorf("%s: %v, want %s", one.what, err, one.err)
			}
			continue
		}
		page := must.Get(got, err)(t).(*recordsPage)
		lacks := ""
		for _, l := range page.Lacks {
			lacks += l.Error()
		}
		if len(page.Rows) != one.rows || (page.Next == "") != (one.next == "") || !strings.Contains(page.Next, one.next) ||
			lacks != one.lacks || page.Where() != one.where {
			t.Errorf("%s: %d rows of %s, then %s, %s", one.what, len(page.Rows), page.Where(), page.Next, lacks)
		}
		if sent := strings.Join(api.requests, "|"); one.requests != "" && sent != one.requests {
			t.Errorf("%s: asked for %s, want %s", one.what, sent, one.requests)
		}
	}
}

func TestRecordRow_hasStateAndReason(t *testing.T) {
	parse := func(text string) (all []metav1.Condition) { // KIND=STATUS:REASON
		for _, one := range strings.Fields(text) {
			kind, rest, _ := strings.Cut(one, "=")
			status, reason, _ := strings.Cut(rest, ":")
			all = append(all, metav1.Condition{Type: kind, Status: metav1.ConditionStatus(status), Reason: reason, ObservedGeneration: 2})
		}
		return all
	}
	now := metav1.Now()
	for _, one := range []struct {
		want       string
		generation int64
		ends       *metav1.Time
		zone       bool
		conditions string
	}{
		{"pending Pending", 1, nil, false, ""},
		{"waiting NoEnclosingZone", 1, nil, false, "Adopted=False:NoEnclosingZone Ready=False:NotAdopted"},
		{"stalled NameHeld", 1, nil, false, "Adopted=False:NameHeld Ready=False:NotAdopted Stalled=True:NameHeld"},
		{"behind Pending", 1, nil, true, "Adopted=True:Adopted Ready=Unknown:Pending"},
		{"not current ServerUnreachable", 1, nil, true, "Adopted=True:Adopted Ready=False:ServerUnreachable"},
		{"current Delivered", 2, nil, true, "Adopted=True:Adopted Ready=True:Delivered"},
		{"pending Pending", 3, nil, true, "Adopted=True:Adopted Ready=True:Delivered"},
		{"current Delivered withdrawn", 2, &now, true, "Adopted=True:DelegationWithdrawn Ready=True:Delivered"},
	} {
		record := &v1alpha1.Record{Spec: v1alpha1.RecordSpec{DomainName: "www", Type: "a", Values: []string{"1", "2", "3", "4", "5"}},
			Status: v1alpha1.RecordStatus{EndsAt: one.ends, Conditions: parse(one.conditions)}}
		record.Generation = one.generation
		if one.zone {
			record.Status.ZoneRef, record.Status.FQDN = &v1alpha1.AdoptingZone{Namespace: "dns", Name: "org"}, "www.example.org."
		}
		row := recordRowOf(record)
		got := row.State.Word + " " + row.Reason
		for _, sign := range row.Signs {
			got += " " + sign.Word
		}
		if got != one.want || row.Type != "A" || len(row.Data) != maxData || row.More != 2 || (row.FQDN == "www") == one.zone {
			t.Errorf("%+v, want %s", row, one.want)
		}
	}
}

// The first page of a list follows changes. A later page shows the state at the time of the first page, and does not
// follow.
func TestRecords_followOnTheFirstPage(t *testing.T) {
	b := startConsole(t)
	for path, follows := range map[string]bool{"/records": true, "/records?state=waiting": true, "/records?list=0&continue=5": false,
		"/records?name=www": false} {
		text := b.readPage(path)
		if got := strings.Contains(text, "hx-sse:connect"); got != follows || strings.Contains(text, `id="live-state"`) != follows {
			t.Errorf("%s follows: %t", path, got)
		}
	}
}
