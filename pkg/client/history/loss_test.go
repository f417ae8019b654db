// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

package history

import (
	"encoding/json"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"kubi.zone/kubizone/api/kubizone/v1alpha1"
	"kubi.zone/kubizone/pkg/dns"
	"kubi.zone/kubizone/pkg/dns/name"
	"kubi.zone/kubizone/pkg/dns/rdata"
	"kubi.zone/kubizone/pkg/zone/law/content"
	"kubi.zone/kubizone/test/must"
)

func contentOf(at int64, rows ...v1alpha1.Row) *Content {
	c := &Content{Header: content.Header{FQDN: name.MustParse("example.org.")}, Serial: serialOf(at), generation: at,
		sets: map[rrset]*content.RRset{}, hidden: map[rrset]bool{}}
	for _, row := range rows {
		k, data, err := parseRow(row)
		if err != nil {
			panic(err)
		}
		c.sets[k] = &content.RRset{Owner: k.owner, Type: k.t, TTL: content.InheritTTL(), Data: []string{data}}
	}
	return c
}

func describeContent(c *Content) (all []string) {
	for k, set := range c.sets {
		all = append(all, fmt.Sprint(k.owner, " ", strings.Join(set.Data, " ")))
	}
	for k := range c.hidden {
		all = append(all, fmt.Sprint(k.owner, " hidden"))
	}
	slices.Sort(all)
	return all
}

// A step without values hides its RRsets, and a missing step the RRsets in conflict with older steps. Other
// names are as they were, and Losses names the hidden ones.
func TestUndo_hidesOnlyTheNamesOfLostSteps(t *testing.T) {
	row := func(owner, data string) v1alpha1.Row { return v1alpha1.Row{Owner: owner, Type: "A", Data: data} }
	step := func(at int64, ns string, removed, added []v1alpha1.Row) v1alpha1.HistoryStep {
		x := makeStep(at, "", nil, nil)
		x.Removed, x.Added = removed, added
		x.Records = []v1alpha1.HistoryRecord{{Namespace: ns}}
		return x
	}
	rows := func(all ...v1alpha1.Row) []v1alpha1.Row { return all }
	own := step(9, "dns", rows(row("www", "192.0.2.1")), nil)
	bare := step(8, "team", nil, nil)
	bare.Condensed, bare.TTLs = true, []v1alpha1.TTLChange{{Owner: "m", Type: "A"}}
	ownAgain := step(7, "dns", nil, rows(row("ftp", "192.0.2.2")))
	theirs := step(6, "team", rows(row("m", "192.0.2.6")), rows(row("m", "192.0.2.7"))) // m had another value after it
	present := rows(row("ftp", "192.0.2.2"), row("m", "192.0.2.9"), row("n", "192.0.2.5"))
	past := func(steps ...v1alpha1.HistoryStep) *Past {
		return &Past{FQDN: "example.org.", Steps: steps, Own: "dns", Newest: 9}
	}
	for what, x := range map[string]struct {
		past   *Past
		want   []string
		losses string
	}{
		"a condensed step": {past(own, bare, ownAgain, theirs, makeStep(5, "", nil, nil)),
			[]string{"m hidden", "n 192.0.2.5", "www 192.0.2.1"},
			"values before changes by namespace team from serial 7 to 8 are no longer kept: m.example.org. A"},
		"a missing step": {past(own, ownAgain, theirs, makeStep(5, "", nil, nil)), []string{"m hidden", "n 192.0.2.5", "www 192.0.2.1"},
			"changes by other namespaces between serials 7 and 8 are missing"},
		"nothing": {past(own, step(8, "team", rows(row("m", "192.0.2.7")), rows(row("m", "192.0.2.9"))), ownAgain, theirs,
			makeStep(5, "", nil, nil)), []string{"m 192.0.2.6", "n 192.0.2.5", "www 192.0.2.1"}, ""},
	} {
		c := contentOf(9, present...)
		steps := must.Get(x.past.Since(Moment{Serial: 5}))(t)
		for i := range steps {
			must.Succeed(t, c.Undo(&steps[i]))
		}
		var losses []string
		for _, l := range x.past.Losses(len(steps), name.Name{}) {
			losses = append(losses, l.String())
		}
		if got := describeContent(c); !slices.Equal(got, x.want) || strings.Join(losses, "; ") != x.losses || c.Serial != 5 {
			t.Errorf("%s: serial %d, %q, want %q; losses %q", what, c.Serial, got, x.want, losses)
		}
		after := contentOf(9, present...)
		for _, v := range x.past.Diff(c, after, name.Name{}) {
			if x.losses != "" && v.FQDN == "m.example.org." {
				t.Errorf("%s: a hidden name differs: %s %s", what, v.Op, v.Line())
			}
		}
	}
	if err := contentOf(9, row("m", "192.0.2.9")).Undo(&theirs); err == nil || !strings.Contains(err.Error(), "is not the one before") {
		t.Errorf("a step that is not the newest: %v", err)
	}
	misfit := contentOf(6, row("m", "192.0.2.6"))
	if err := misfit.Undo(&theirs); err == nil || !strings.Contains(err.Error(), "removed a value that is there") {
		t.Errorf("a value twice: %v", err)
	}
}

// A revert of the zone's own Records needs own steps alone. A Record of another namespace is left, if steps of its
// namespace may be missing before the oldest known step.
func TestPlanRevert_needsOwnStepsAlone(t *testing.T) {
	own, theirs := makeRecord("dns", "www", "www", "192.0.2.1"), makeRecord("team", "m", "m", "192.0.2.7")
	past := &Past{FQDN: "example.org.", Own: "dns", Newest: 9, Steps: []v1alpha1.HistoryStep{
		makeStep(9, v1alpha1.EffectRemoved, own, nil), makeStep(8, v1alpha1.EffectRemoved, theirs, nil), makeStep(3, "", nil, nil)}}
	plan := must.Get(PlanRevert(past, Subject{Zone: &v1alpha1.Zone{}}, Moment{Serial: 3}, Present{}, Options{}))(t)
	want := []string{"+ dns/www www.example.org.", "left team/m m.example.org. of carol (kubectl-edit): older changes by its namespace " +
		"may be missing; write it by hand", "left / unknown names of other namespaces: its changes between serials 3 and 7 are missing"}
	if got := describePlan(plan); !slices.Equal(got, want) {
		t.Errorf("%q\nwant %q", got, want)
	}
}

// A reading holds other namespaces' steps up to a number of octets. Steps beyond count as missing, and own steps are
// read to the end.
func TestRead_holdsOwnStepsBeyondItsRoom(t *testing.T) {
	const steps = 40
	var all []v1alpha1.HistoryStep
	for n := int64(steps); n > 0; n-- {
		x := makeStep(n, v1alpha1.EffectAdded, nil, makeRecord("team", "m", "m", "192.0.2.1"))
		if n%10 == 1 {
			x = makeStep(n, v1alpha1.EffectAdded, nil, makeRecord("dns", "www", "www", "192.0.2.1"))
		}
		all = append(all, x)
	}
	client := serveAnswers(t, func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		from := 0
		_, _ = fmt.Sscan(r.URL.Query().Get("continue"), &from)
		answer := &v1alpha1.ZoneChanges{FQDN: "example.org.", History: all[from : from+5]}
		if from+5 < steps {
			answer.Metadata.Continue = fmt.Sprint(from + 5)
		}
		_ = json.NewEncoder(w).Encode(answer)
	})
	zone := &v1alpha1.Zone{ObjectMeta: metav1.ObjectMeta{Namespace: "dns", Name: "zone"},
		Status: v1alpha1.ZoneStatus{FQDN: "example.org.", Serial: steps}}
	past := must.Get((&Reader{Client: client, Page: 5, others: 5 * octetsOf(&all[0])}).Read(t.Context(),
		Subject{Zone: zone, Namespace: "dns"}, nil))(t)
	own := 0
	for i := range past.Steps {
		if past.Steps[i].Records[0].Namespace == "dns" {
			own++
		}
	}
	if own != 4 || len(past.Steps) != 9 || !past.Ended || past.Cut {
		t.Errorf("%d own steps of %d, ended %t, cut %t", own, len(past.Steps), past.Ended, past.Cut)
	}
	steps2 := must.Get(past.Since(Moment{Serial: 1}))(t)
	if losses := past.Losses(len(steps2), name.Name{}); len(losses) != 1 || losses[0].Since != 1 || losses[0].Serial != 35 {
		t.Errorf("%+v", losses)
	}
}

// One change set wrote two names. A name's step has its own values and Record, and the number of the others.
func TestAtName_hasTheRecordsOfTheName(t *testing.T) {
	moved := makeRecord("team", "b", "b", "192.0.2.2")
	x := makeStep(3, v1alpha1.EffectAdded, nil, makeRecord("team", "a", "a", "192.0.2.1"))
	x.Records[0].Owner = "a"
	x.Added = append(x.Added, v1alpha1.Row{Owner: "c", Type: "A", Data: "192.0.2.2"})
	x.Removed = []v1alpha1.Row{{Owner: "b", Type: "A", Data: "192.0.2.2"}}
	x.TTLs = []v1alpha1.TTLChange{{Owner: "a", Type: "A", After: "60"}, {Owner: "c", Type: "A", After: "60"}}
	x.Records = append(x.Records, v1alpha1.HistoryRecord{Namespace: "team", Name: "b", Owner: "c", Before: stateOf(moved)})
	for at, want := range map[string]string{
		"a.example.org.": "[+ a.example.org. A 192.0.2.1] team/a and 1 other Record",
		"b.example.org.": "[- b.example.org. A 192.0.2.2] team/b and 1 other Record",
		"c.example.org.": "[+ c.example.org. A 192.0.2.2] team/b and 1 other Record",
		"d.example.org.": "[] ",
		"":               "[- b.example.org. A 192.0.2.2 + a.example.org. A 192.0.2.1 + c.example.org. A 192.0.2.2] team/a, team/b",
	} {
		var owner name.Name
		if at != "" {
			owner = name.MustParse(at)
		}
		one := AtName(&x, owner)
		by := AuthorOf(&one)
		if got := fmt.Sprint(Lines(&one), " ", by.DescribeRecords(3)); got != want {
			t.Errorf("%s: %q, want %q", at, got, want)
		}
	}
}

// A reading for the authors of a name's values ends at the oldest of them.
func TestHasAuthors_endsAtTheLastAuthor(t *testing.T) {
	row := func(owner, data string) v1alpha1.Row { return v1alpha1.Row{Owner: owner, Type: "A", Data: data} }
	c := contentOf(9, row("www", "192.0.2.1"), row("ftp", "192.0.2.2"))
	steps := []v1alpha1.HistoryStep{{Added: []v1alpha1.Row{row("ftp", "192.0.2.2")}}, {Added: []v1alpha1.Row{row("www", "192.0.2.9")}},
		{Added: []v1alpha1.Row{row("www", "192.0.2.1")}}, {Added: []v1alpha1.Row{row("www", "192.0.2.1")}}}
	for at, want := range map[string]int{"www.example.org.": 3, "ftp.example.org.": 1, "none.example.org.": 1} {
		isLast, read := c.HasAuthors(name.MustParse(at)), 0
		for i := range steps {
			if read++; isLast(&steps[i]) {
				break
			}
		}
		if read != want {
			t.Errorf("%s: %d steps read, want %d", at, read, want)
		}
	}
	if c.HasAuthors(name.Name{}) != nil || c.HasAuthors(name.MustParse("example.org.")) != nil {
		t.Error("the apex ends early")
	}
}

// The addresses of a name server in the Zone's spec are values of the host: a change of them is in the log of the host,
// and its author is the step that made the value, even if a later step changed the spec elsewhere.
func TestAtName_ofAHostOfTheSpec(t *testing.T) {
	header := func(ttl int64, addresses ...string) *v1alpha1.ZoneHeader {
		return &v1alpha1.ZoneHeader{FQDN: "example.org.", TTL: ttl, NameServers: []v1alpha1.NameServer{
			{Name: "ns1", Addresses: addresses}, {Name: "ns2", Addresses: []string{"192.0.2.2"}}}}
	}
	first, second := header(60, "192.0.2.1", "192.0.2.9"), header(60, "192.0.2.3", "192.0.2.9")
	steps := []v1alpha1.HistoryStep{
		{Serial: 3, By: "carol", HeaderBefore: second, HeaderAfter: header(90, "192.0.2.3", "192.0.2.9")},
		{Serial: 2, By: "bob", HeaderBefore: first, HeaderAfter: second},
		{Serial: 1, By: "alice", HeaderAfter: first}}
	for i := range steps {
		steps[i].FQDN = "example.org."
	}
	for at, want := range map[string]string{
		"ns1.example.org.": "[2: - ns1.example.org. A 192.0.2.1 + ns1.example.org. A 192.0.2.3 " +
			"1: + ns1.example.org. A 192.0.2.1 + ns1.example.org. A 192.0.2.9]",
		"ns2.example.org.": "[1: + ns2.example.org. A 192.0.2.2]",
		"www.example.org.": "[]",
	} {
		got := []string{}
		for i := range steps {
			if owner := name.MustParse(at); Touches(&steps[i], owner) {
				one := AtName(&steps[i], owner)
				got = append(append(got, fmt.Sprint(one.Serial, ":")), Lines(&one)...)
			}
		}
		if fmt.Sprint(got) != want {
			t.Errorf("%s: %q, want %q", at, fmt.Sprint(got), want)
		}
	}
	past := &Past{FQDN: "example.org.", Steps: steps}
	for removed, of := range map[bool]map[string]string{false: {"192.0.2.3": "bob", "192.0.2.9": "alice"}, true: {"192.0.2.1": "bob"}} {
		for data, want := range of {
			by := past.findAuthors(removed)(dns.Entry{Name: name.MustParse("ns1.example.org."), Type: rdata.A, Data: data})
			if by.By != want {
				t.Errorf("removed %t: %s is by %q, want %q", removed, data, by.By, want)
			}
		}
	}
}
