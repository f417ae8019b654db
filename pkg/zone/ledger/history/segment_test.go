// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

package history

import (
	"bytes"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"reflect"
	"slices"
	"strings"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"pgregory.net/rapid"

	"kubi.zone/kubizone/api/kubizone/v1alpha1"
	"kubi.zone/kubizone/pkg/dns/name"
	"kubi.zone/kubizone/pkg/dns/rdata"
	"kubi.zone/kubizone/pkg/zone/law/content"
	"kubi.zone/kubizone/pkg/zone/ledger/layout"
	"kubi.zone/kubizone/test/must"
)

var hostile = []string{`"rec":{"ns":"other"`, `],"ok":true}`, "plain", "\u2028\"\\", "<&>", `"hb":{`}

func randomStep(rnd *rand.Rand, n uint64) content.Step {
	text := func() string { return hostile[rnd.IntN(len(hostile))] }
	step := content.Step{N: n, From: 5, Serial: 6, By: text(), Time: 1795000000 + int64(n),
		Origin: content.Origin{Manager: text(), Audit: text()}}
	owner, _ := name.ParseRel("www")
	for range rnd.IntN(3) {
		step.Added = append(step.Added, content.Row{Owner: owner, Type: rdata.TXT, Data: text()})
	}
	switch rnd.IntN(4) {
	case 0:
		step.Record = &content.RecordRef{Namespace: "team", Name: "www", UID: "u", Was: rnd.IntN(2) == 0, Left: rnd.IntN(2) == 0}
	case 1:
		step.Record = &content.RecordRef{Namespace: "team", Name: "www", UID: "u"}
		step.Others = []content.RecordRef{{Namespace: "team", Name: "ftp", UID: "v", Was: rnd.IntN(2) == 0}}
	case 2:
		after := content.Header{FQDN: name.MustParse("example.org."), Contact: text(), NameServers: []content.NameServer{{Name: text()}}}
		if step.HeaderAfter = &after; rnd.IntN(2) == 0 {
			step.HeaderBefore = &after
		}
	}
	return step
}

func segmentOf(t testing.TB, entries ...Entry) []byte {
	value, whole := encodeSegment(&Header{Zone: "u", FQDN: "example.org.", Namespace: "dns", Name: "z", Retention: 604800}, entries)
	if !whole {
		t.Fatal("the segment is not whole")
	}
	return value
}

func TestSegment_isReadAsWritten(t *testing.T) {
	rnd := rand.New(rand.NewPCG(1, 2))
	var entries []Entry
	for n := range uint64(100) {
		entries = append(entries, Entry{Step: randomStep(rnd, n+1), Was: []Was{{Name: "www", UID: "u",
			State: json.RawMessage(`{"spec":{"type":"A"}}`)}}})
	}
	s := must.Get(DecodeSegment(segmentOf(t, entries...)))(t)
	if s.Header.Zone != "u" || len(s.Entries) != 100 {
		t.Fatalf("%+v, %d entries", s.Header, len(s.Entries))
	}
	for i, e := range s.Entries {
		if !reflect.DeepEqual(e, entries[i]) {
			t.Errorf("entry %d: %+v, want %+v", i, e, entries[i])
		}
	}
	bare := must.Get(DecodeSegment(stripSegment(s)))(t)
	for i, e := range bare.Entries {
		if !bare.Header.Bare || len(e.Was)+len(e.Step.Added) > 0 || e.Step.By != entries[i].Step.By || e.Step.N != entries[i].Step.N {
			t.Errorf("condensed entry %d: %+v", i, e)
		}
	}
}

// A segment that is too long for readers is written without the former Records or, if it is still too long, without the
// changed rows too. Its header then has Bare set, and the caller learns that it is not whole.
func TestSegment_isReadableWhateverItsSize(t *testing.T) {
	long := strings.Repeat("x", maxSegment)
	row := content.Row{Owner: name.Rel{}, Type: rdata.TXT, Data: "short"}
	for _, tt := range []struct {
		name, state, row string
		bare             bool
	}{{"states", long, "short", false}, {"rows", "", long, true}} {
		row.Data = tt.row
		value, whole := encodeSegment(&Header{Zone: "u"}, []Entry{{
			Step: content.Step{N: 7, From: 5, Serial: 6, By: "ann", Added: []content.Row{row}, Time: 1795000000},
			Was:  []Was{{Name: "www", UID: "u", State: layout.Encode(tt.state)}}}})
		s := must.Get(DecodeSegment(value))(t)
		e := s.Entries[0]
		if whole || s.Header.Bare != tt.bare || len(e.Was) > 0 || len(e.Step.Added) > 0 == tt.bare || e.Step.By != "ann" || e.Step.N != 7 {
			t.Errorf("%s: whole %t, bare %t, %d states, step %.200v", tt.name, whole, s.Header.Bare, len(e.Was), e.Step)
		}
	}
}

// A page ends before the step whose states do not fit, but has at least one step.
func TestPage_endsBefore(t *testing.T) {
	of := func(n uint64) Entry { return Entry{Step: content.Step{N: n}} }
	p := &page{lastN: 5, entries: map[string][]Entry{"a": {of(2), of(4)}, "b": {of(3), of(5)}, "c": {of(1)}}}
	p.endBefore(3)
	if p.lastN != 2 || len(p.entries) != 2 || len(p.entries["a"]) != 1 || len(p.entries["c"]) != 1 {
		t.Errorf("%d, %v", p.lastN, p.entries)
	}
}

// Pack compresses the former state of a Record within a bound. A state that fits is whole. Otherwise annotations,
// labels or spec are left out, and LeftOut names exactly those.
func TestPack_saysWhatItLeavesOut(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		times := rapid.SampledFrom([]int{1, 1, 10, 100}).Draw(t, "times") // repeated text packs well
		noise := func(octets int) string {
			b := make([]byte, octets)
			rnd := rand.New(rand.NewPCG(rapid.Uint64().Draw(t, "seed"), 1))
			for i := range b {
				b[i] = byte('!' + rnd.IntN(90))
			}
			return strings.Repeat(string(b), times)
		}
		size := rapid.SampledFrom([]int{0, 10, 600, 20_000})
		r := &v1alpha1.Record{ObjectMeta: metav1.ObjectMeta{Labels: map[string]string{"l": noise(size.Draw(t, "labels"))},
			Annotations: map[string]string{"a": noise(size.Draw(t, "annotations"))}}}
		r.Spec.Values = []string{noise(size.Draw(t, "spec"))}
		packed, err := Pack(r, &r.Spec, MaxState)
		if err != nil || len(packed.Text) > MaxState || packed.Counts > MaxState {
			t.Fatalf("%d octets, count %d, %v", len(packed.Text), packed.Counts, err)
		}
		text, err := Unpack(packed.Text)
		if err != nil {
			t.Fatal(err)
		}
		if len(text) > rawParts*(MaxState+1) {
			t.Fatalf("%d octets of JSON", len(text))
		}
		var s State
		var spec v1alpha1.RecordSpec
		if err := json.Unmarshal(text, &s); err != nil {
			t.Fatal(err)
		}
		left := strings.Join(s.LeftOut, " ")
		if reflect.DeepEqual(s.Annotations, r.Annotations) == strings.Contains(left, PartAnnotations) ||
			reflect.DeepEqual(s.Labels, r.Labels) == strings.Contains(left, PartLabels) ||
			(s.Spec == nil) != strings.Contains(left, PartSpec) {
			t.Fatalf("left out %q: %.100s", left, text)
		}
		if s.Spec != nil && (json.Unmarshal(s.Spec, &spec) != nil || !reflect.DeepEqual(spec, r.Spec)) {
			t.Fatalf("spec %.100s", s.Spec)
		}
	})
}

// A typical change takes at most 250 octets in etcd if it is alone in its segment, and half of that among others.
func TestSegment_octetsOfAChange(t *testing.T) {
	uuid := func(rnd *rand.Rand) string {
		return fmt.Sprintf("%08x-%04x-4%03x-a%03x-%012x", rnd.Uint32(), rnd.IntN(1<<16), rnd.IntN(1<<12), rnd.IntN(1<<12), rnd.Uint64()>>16)
	}
	entryAt := func(rnd *rand.Rand, n uint64, kind string) Entry {
		record := fmt.Sprintf("web-%d", rnd.IntN(1000))
		owner, _ := name.ParseRel(record + ".apps")
		row := content.Row{Owner: owner, Type: rdata.A, Data: fmt.Sprintf("10.%d.%d.%d", rnd.IntN(256), rnd.IntN(256), rnd.IntN(256))}
		step := content.Step{N: n, From: 2026112700, Serial: 2026112701, By: "system:serviceaccount:team-a:deployer", Time: 1795812345,
			Origin: content.Origin{Manager: "kubectl-client-side-apply", Audit: uuid(rnd)},
			Record: &content.RecordRef{Namespace: "team-a", Name: record, UID: uuid(rnd), Was: kind != "create", Left: kind == "delete"}}
		ttl := content.InheritTTL()
		switch kind {
		case "create":
			step.Added, step.TTLs = []content.Row{row}, []content.TTLChange{{Owner: owner, Type: rdata.A, After: &ttl}}
		case "delete":
			step.Removed, step.TTLs = []content.Row{row}, []content.TTLChange{{Owner: owner, Type: rdata.A, Before: &ttl}}
		default:
			after := row
			after.Data = "10.0.0.1"
			step.Removed, step.Added = []content.Row{row}, []content.Row{after}
		}
		e := Entry{Step: step}
		if kind != "create" {
			labels := map[string]string{"app.kubernetes.io/managed-by": "Helm", "app": record}
			r := &v1alpha1.Record{ObjectMeta: metav1.ObjectMeta{Labels: labels}}
			r.Spec = v1alpha1.RecordSpec{DomainName: record + ".apps.example.org.", Type: "A", RData: row.Data}
			e.Was = []Was{{Name: record, UID: step.Record.UID, State: must.Get(Unpack(must.Get(Pack(r, &r.Spec, MaxState))(t).Text))(t)}}
		}
		return e
	}
	key := layout.Keys{Prefix: "/registry/kubizone"}.Segment(layout.SegmentKey{Account: "team-a",
		Zone: "0f8fad5b-d9cb-469f-a165-70867728950e", Time: 1795812345, Last: 77})
	for _, kind := range []string{"create", "update", "delete"} {
		rnd := rand.New(rand.NewPCG(1, 1))
		alone := len(segmentOf(t, entryAt(rnd, 1, kind)))
		var entries []Entry
		for n := range uint64(50) {
			entries = append(entries, entryAt(rnd, n+1, kind))
		}
		among := (len(key) + len(segmentOf(t, entries...))) / 50
		t.Logf("%s: %d octets alone (key %d), %d among 50", kind, alone, len(key), among)
		if alone > 250 || among > 125 {
			t.Errorf("%s: %d octets alone and %d among 50", kind, alone, among)
		}
	}
}

func TestLevelOf(t *testing.T) {
	for _, row := range []struct {
		octets []int64
		most   int64
		want   int64
	}{
		{nil, 10, 0}, {[]int64{1, 2, 3}, 6, 0}, {[]int64{1, 2, 30}, 10, 7}, {[]int64{5, 5, 5}, 9, 3}, {[]int64{100, 1}, 0, 1},
	} {
		if got := levelOf(row.octets, row.most); got != row.want {
			t.Errorf("%v to %d: %d, want %d", row.octets, row.most, got, row.want)
		}
	}
	rapid.Check(t, func(t *rapid.T) {
		octets, most := rapid.SliceOf(rapid.Int64Range(0, 1000)).Draw(t, "octets"), rapid.Int64Range(1000, 5000).Draw(t, "most")
		level, sum := levelOf(slices.Clone(octets), most), int64(0)
		for _, o := range octets {
			if level > 0 {
				o = min(o, level)
			}
			sum += o
		}
		if sum > most || level > 0 && sum < most-int64(len(octets)) {
			t.Fatalf("level %d of %v makes %d, most %d", level, octets, sum, most)
		}
	})
}

// A damaged segment causes an error, and its decoding takes bounded memory.
func FuzzDecodeSegment(f *testing.F) {
	f.Add(segmentOf(f, Entry{Step: randomStep(rand.New(rand.NewPCG(1, 1)), 1)}))
	f.Add(deflate([]byte{segmentVersion}, bytes.Repeat([]byte{' '}, 1<<20)))
	f.Add([]byte{segmentVersion})
	f.Fuzz(func(t *testing.T, data []byte) {
		s, err := DecodeSegment(data)
		if (s == nil) == (err == nil) || s != nil && len(s.Entries) == 0 {
			t.Fatalf("%v, %v", s, err)
		}
	})
}
