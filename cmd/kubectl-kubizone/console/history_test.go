// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

package console

import (
	"encoding/json"
	"fmt"
	"net/http"
	"strconv"
	"strings"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"kubi.zone/kubizone/api/kubizone/v1alpha1"
	"kubi.zone/kubizone/pkg/client/history"
)

// serveHistory answers with the steps from a.serial to 2. Each adds a value, and removes the last one's.
func (a *api) serveHistory(w http.ResponseWriter, r *http.Request) {
	if a.masked && r.URL.Query().Get("sources") == "true" {
		w.WriteHeader(http.StatusForbidden)
		_ = json.NewEncoder(w).Encode(metav1.Status{TypeMeta: metav1.TypeMeta{Kind: "Status", APIVersion: "v1"},
			Status: metav1.StatusFailure, Reason: metav1.StatusReasonForbidden, Code: http.StatusForbidden})
		return
	}
	next, err := strconv.ParseInt(r.URL.Query().Get("continue"), 10, 64)
	if err != nil {
		next = a.serial
	}
	limit, _ := strconv.Atoi(r.URL.Query().Get("limit"))
	answer := &v1alpha1.ZoneChanges{FQDN: hostile}
	for ; next > 1 && len(answer.History) < limit; next-- {
		row := func(n int64) v1alpha1.Row {
			return v1alpha1.Row{Owner: hostile, Type: "TXT", Data: fmt.Sprint(n, hostile, strings.Repeat("x", 20<<10/int(a.serial)))}
		}
		x := v1alpha1.HistoryStep{FQDN: hostile, From: next - 1, Serial: next, ContentGeneration: next, Way: v1alpha1.Way(hostile),
			Added: []v1alpha1.Row{row(next)}, Removed: []v1alpha1.Row{row(next - 1)}}
		for range a.values * min(1, max(0, 10-len(answer.History))) {
			x.Added = append(x.Added, v1alpha1.Row{})
		}
		if !a.masked {
			x.By, x.FieldManager = hostile, hostile
			x.Records = []v1alpha1.HistoryRecord{{Namespace: "team", Name: hostile}, {}, {}, {}}
		}
		answer.History = append(answer.History, x)
	}
	if next > 1 {
		answer.Metadata.Continue = fmt.Sprint(next)
	}
	w.Header().Set("Content-Type", "application/json")
	_ = json.NewEncoder(w).Encode(answer)
}

func TestHistory_readsNoMoreThanAPage(t *testing.T) {
	const path = "/zones/team/zone/history"
	for _, one := range []struct {
		what           string
		serial, values int
		masked         bool
		query          string
		requests       int
		want           []string
	}{
		{"few steps", 3, 0, false, "", 1, []string{"2, the newest first", "and 1 more</span>", "team/&lt;script", "(&lt;script"}},
		{"many", 250, 0, false, "", 2, []string{"100, the newest first", "Older changes are left out", "?from=249&amp;to=250"}},
		{"large ones", 250, maxValues / 4, false, "", 1, []string{"3, the newest first", "and 12462 more", "Older changes are left out"}},
		{"without the right to users", 250, 0, true, "", 3, []string{"by another namespace", "Users and Records of other namespaces"}},
		{"their sum", 250, 0, false, "?from=10&to=240", 5, []string{"From serial 10 to 240", "TXT 10&lt;", "TXT 240&lt;",
			"<code>kubectl kubizone revert team/zone --to 10</code>"}},
		{"what takes one back", 3, 0, false, "", 1, []string{"<code>kubectl kubizone revert team/zone --to 2</code>"}},
		{"those of a user", 250, 0, false, "?by=owned", 2, []string{"100, the newest first", "Older changes are left out",
			"value=\"owned\"", "<code>kubectl kubizone log team/zone --by owned --follow</code>"}},
		{"those of another", 250, 0, false, "?by=carol", 3, []string{"No change of the content was found"}},
		{"those of another in a long history", 3 * maxCompared, 0, false, "?by=carol", maxCompared/maxSteps + 1, []string{
			"No change of the content was found", "Older changes are left out"}},
		{"too many", 3 * maxCompared, 0, false, "?from=1&to=14000", maxCompared/maxSteps + 1 + 2, []string{
			"more than 5000 changes or 50000 values since serial 1: kubectl kubizone diff team/zone 1 14000 compares them"}},
		{"too large", 250, maxValues / 4, false, "?from=1&to=250", 2, []string{"kubectl kubizone diff team/zone 1 250 compares them"}},
		{"a serial to come", 7, 0, false, "?from=1&to=9", 2, []string{"has not reached serial 9"}},
	} {
		b := startConsole(t)
		b.api.serial, b.api.values, b.api.masked = int64(one.serial), one.values, one.masked
		b.api.requests = nil
		text := b.readPage(path + one.query)
		for _, want := range one.want {
			if !strings.Contains(text, want) {
				t.Errorf("%s: the page lacks %q:\n%.3000s", one.what, want, text[strings.Index(text, "<main"):])
			}
		}
		requests := 0
		for _, sent := range b.api.requests {
			if strings.Contains(sent, "/changes?") {
				requests++
			}
		}
		if requests != one.requests {
			t.Errorf("%s: %d requests, want %d", one.what, requests, one.requests)
		}
	}
}

// Names of values are links, of other lines are not.
func TestLinesOf_namesValues(t *testing.T) {
	row := v1alpha1.Row{Owner: "www", Type: "A", Data: "192.0.2.1"}
	x := &v1alpha1.HistoryStep{FQDN: "example.org.", Added: []v1alpha1.Row{row}, Removed: []v1alpha1.Row{row},
		TTLs: []v1alpha1.TTLChange{{Owner: "www", Type: "A", Before: "1", After: "2"}}}
	names, texts := "", ""
	for _, line := range linesOf(x) {
		names += line.Name + "|"
		texts += line.Sign + line.Name + line.Text + "\n"
	}
	want := "www.example.org.|www.example.org.||"
	if whole := strings.Join(history.Lines(x), "\n") + "\n"; names != want || texts != whole {
		t.Errorf("links %s, want %s; text\n%s, want\n%s", names, want, texts, whole)
	}
}
