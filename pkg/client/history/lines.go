// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

package history

import (
	"cmp"
	"encoding/json"
	"iter"
	"slices"
	"strings"

	"kubi.zone/kubizone/api/kubizone/v1alpha1"
)

// eachRow yields the removed rows of a step with -1, then the added with 1.
func eachRow(x *v1alpha1.HistoryStep) iter.Seq2[int, v1alpha1.Row] {
	return func(yield func(int, v1alpha1.Row) bool) {
		for i, row := range slices.Concat(x.Removed, x.Added) {
			n := 1
			if i < len(x.Removed) {
				n = -1
			}
			if !yield(n, row) {
				return
			}
		}
	}
}

// signs has the sign of a removed and an added row in the output.
var signs = map[int]string{-1: "- ", 1: "+ "}

// Lines returns the differences of a step: - removed value, + added value, ~ changed field, ; note.
func Lines(x *v1alpha1.HistoryStep) (lines []string) {
	for n, row := range eachRow(x) {
		lines = append(lines, signs[n]+RowLine(row, x.FQDN))
	}
	for _, change := range x.TTLs {
		if text := TTLLine(change, x.FQDN); text != "" {
			lines = append(lines, "~ "+text)
		}
	}
	switch before, after := x.HeaderBefore, x.HeaderAfter; {
	case x.Zone != nil:
		lines = append(lines, "- Zone "+x.Zone.Namespace+"/"+x.Zone.Name)
	case x.Condensed:
		lines = append(lines, "; its values are no longer kept")
	case after != nil && before == nil:
		lines = append(lines, "+ "+describeHeader(after))
	case after != nil:
		lines = append(lines, headerLines(before, after)...)
	}
	return lines
}

func describeHeader(h *v1alpha1.ZoneHeader) string {
	var servers []string
	for _, server := range h.NameServers {
		servers = append(servers, strings.Join(append([]string{server.Name}, server.Addresses...), " "))
	}
	if len(servers) == 0 {
		return "Zone " + h.FQDN
	}
	return "Zone " + h.FQDN + ", name servers " + strings.Join(servers, ", ")
}

func headerLines(before, after *v1alpha1.ZoneHeader) (lines []string) {
	fields := func(h *v1alpha1.ZoneHeader) map[string]json.RawMessage {
		out := map[string]json.RawMessage{}
		if text, err := json.Marshal(h); err == nil {
			_ = json.Unmarshal(text, &out)
		}
		return out
	}
	had, has := fields(before), fields(after)
	for _, field := range []string{"fqdn", "ttl", "refresh", "retry", "expire", "negativeResponseCache", "primaryNameServer", "contact",
		"nameServers"} {
		if old, now := string(had[field]), string(has[field]); old != now {
			lines = append(lines, "~ Zone "+field+" "+cmp.Or(now, "nothing")+" instead of "+cmp.Or(old, "nothing"))
		}
	}
	return lines
}

type ttlKey struct{ owner, rrtype string }

// Sum returns the net difference of steps. Its other fields are those of the newest step, the first.
func Sum(steps []v1alpha1.HistoryStep) v1alpha1.HistoryStep {
	sum := v1alpha1.HistoryStep{}
	hidden := map[ttlKey]bool{}
	net := map[v1alpha1.Row]int{}
	ttls := map[ttlKey]v1alpha1.TTLChange{}
	for i := range slices.Backward(steps) {
		x := &steps[i]
		before, after := sum.HeaderBefore, sum.HeaderAfter
		if after == nil {
			before = x.HeaderBefore
		}
		sum = *x
		sum.HeaderBefore, sum.HeaderAfter = before, cmp.Or(x.HeaderAfter, after)
		for n, row := range eachRow(x) {
			net[row] += n
		}
		for _, change := range x.TTLs {
			k := ttlKey{change.Owner, change.Type}
			hidden[k] = hidden[k] || x.Condensed
			if older, ok := ttls[k]; ok {
				change.Before = older.Before
			}
			ttls[k] = change
		}
	}
	sum.Removed, sum.Added, sum.TTLs, sum.Condensed = nil, nil, nil, false
	for row, n := range net {
		switch {
		case hidden[ttlKey{row.Owner, row.Type}]:
		case n < 0:
			sum.Removed = append(sum.Removed, row)
		case n > 0:
			sum.Added = append(sum.Added, row)
		}
	}
	for k, change := range ttls {
		if change.Before != change.After && !hidden[k] {
			sum.TTLs = append(sum.TTLs, change)
		}
	}
	slices.SortFunc(sum.Removed, compareRows)
	slices.SortFunc(sum.Added, compareRows)
	slices.SortFunc(sum.TTLs, func(a, b v1alpha1.TTLChange) int {
		return cmp.Or(strings.Compare(a.Owner, b.Owner), strings.Compare(a.Type, b.Type))
	})
	return sum
}

func compareRows(a, b v1alpha1.Row) int {
	return cmp.Or(strings.Compare(a.Owner, b.Owner), strings.Compare(a.Type, b.Type), strings.Compare(a.Data, b.Data))
}
