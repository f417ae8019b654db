// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

package law_test

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"kubi.zone/kubizone/pkg/dns/rdata"
	"kubi.zone/kubizone/pkg/law"
	"kubi.zone/kubizone/pkg/law/content"
	"kubi.zone/kubizone/test/must"
)

// TestDeletions holds S7.5 against a twin that remembers whole contents: random Records of two namespaces come and
// go, also both at one name.
func TestDeletions(t *testing.T) {
	held := 0
	for seed := range uint64(60) {
		held += runDeletions(t, rand.New(rand.NewPCG(seed, 5)))
		if t.Failed() {
			t.Fatalf("seed %d", seed)
		}
	}
	if held < 20 {
		t.Errorf("zones were held %d times: too few to show anything", held)
	}
}

// apexNS is the name of the Record of NS at the apex.
const apexNS = "apex-ns"

// base is a settled content as the twin has it: had are the names of it that stand since then or went by the zone's
// own namespace, and lost are those of them that it has not put back.
type base struct {
	size      int
	had, lost map[string]bool
	last      int64
}

func runDeletions(t *testing.T, random *rand.Rand) (began int) {
	w := newWorld()
	w.quick = true
	spec := law.ZoneSpec{Ref: law.Ref{Namespace: "owner", Name: "example"}, DomainName: "example.org.",
		ZoneSettings: makeSettings(allowEverything(), 86400, 30),
		Header:       content.Header{TTL: 360, Refresh: 86400, Retry: 7200, Expire: 3600000, NegativeResponseCache: 360}}
	if _, refusal := w.putZone(spec, true); refusal != nil {
		t.Fatal(refusal)
	}
	w.settleAll()
	zone := func() (*law.Zone, *law.Holding) {
		z := w.zones[object{"owner", "example"}].zone
		return z, w.holdingOf(z)
	}
	there := map[string][]string{} // by name: the namespaces with records there
	var bases []base               // maps are shared by copies
	var frozen *base
	counting := func() []base {
		if frozen != nil {
			return []base{*frozen}
		}
		bases = slices.DeleteFunc(bases, func(b base) bool { return w.now.Unix()-b.last >= 600 })
		return bases
	}
	other := map[string]bool{} // the names whose Records are of the other type
	put := func(ns, name string) bool {
		r := law.Record{Namespace: ns, Name: "r" + name, DomainName: name + ".example.org.", Type: rdata.A}
		text := "192.0.2.1"
		if other[name] {
			r.Type, text = rdata.TXT, "t"
		}
		if name == apexNS {
			r.DomainName, r.Type, text = "example.org.", rdata.NS, "ns.example.net."
		}
		v := must.Get(rdata.Parse(r.Type, text))(t)
		r.Values = []rdata.Value{v}
		if _, refusal := w.putRecord(r); refusal != nil {
			return false
		}
		if slices.Contains(there[name], ns) {
			return true
		}
		there[name] = append(there[name], ns)
		for _, b := range counting() {
			if ns == "owner" {
				delete(b.lost, name)
			}
		}
		return true
	}
	count := func() (n int) {
		for _, by := range there {
			if len(by) > 0 {
				n++
			}
		}
		return n
	}
	for i := range 40 {
		put("owner", fmt.Sprint("n", i))
	}
	put("owner", apexNS)
	grown := 0
	for range 400 {
		w.now = w.now.Add(time.Duration(random.IntN(20)) * time.Second)
		name, ns := fmt.Sprint("n", random.IntN(60)), []string{"owner", "a"}[random.IntN(2)]
		if random.IntN(30) == 0 {
			name, ns = apexNS, "owner"
		}
		at := slices.Index(there[name], ns)
		lost := slices.ContainsFunc(counting(), func(b base) bool { return b.lost[name] })
		switch last := len(there[name]) == 1; {
		case at >= 0 && last && !lost && name != apexNS && random.IntN(3) == 0: // an edit to another type is no deletion
			other[name] = !other[name]
			if !put(ns, name) {
				other[name] = !other[name]
			}
		case at < 0 && (len(there[name]) == 0 || random.IntN(3) == 0):
			put(ns, name)
		case at >= 0:
			now, goes := w.now.Unix(), ns == "owner" && last
			counting()
			for goes && frozen == nil && len(bases) > 0 {
				last := &bases[len(bases)-1]
				if last.size > count() || len(last.lost) > 0 {
					break
				}
				bases = bases[:len(bases)-1]
			}
			if goes && frozen == nil && (len(bases) == 0 || now-bases[len(bases)-1].last >= 60 || count() >= 2*bases[len(bases)-1].size) {
				had := map[string]bool{}
				for x, by := range there {
					if len(by) > 0 {
						had[x] = true
					}
				}
				bases = append(bases, base{len(had), had, map[string]bool{}, now})
			}
			w.deleteRecord(object{ns, "r" + name})
			there[name] = slices.Delete(there[name], at, at+1)
			for _, b := range counting() {
				switch {
				case last && goes && b.had[name]:
					b.lost[name] = true
				case last && !b.lost[name]:
					delete(b.had, name)
				}
			}
		}
		z, h := zone()
		candidates := counting()
		first := slices.IndexFunc(candidates, func(b base) bool {
			return len(b.lost) >= 10 && len(b.lost)*100 > 30*b.size || b.size >= 10 && b.lost[apexNS]
		})
		exceeds := first >= 0
		if exceeds != (h.Held != nil) {
			t.Fatalf("at serial %d: held %v, and by the twin %d of %d bases", z.Serial, h.Held, first, len(candidates))
		}
		if exceeds {
			if b := candidates[first]; w.zones[object{"owner", "example"}].excess.RRsets != b.size {
				t.Fatalf("at serial %d: held for %+v, and by the twin by a base of %d RRsets", z.Serial, *w.zones[object{"owner", "example"}].excess, b.size)
			}
		}
		switch {
		case exceeds && frozen == nil:
			began++
			b := candidates[first]
			frozen = &b
		case !exceeds && frozen != nil:
			frozen.last = w.now.Unix()
			bases, frozen = []base{*frozen}, nil
		}
		if random.IntN(40) == 0 { // a pause, after which nothing counts unless it is held
			w.now = w.now.Add(10 * time.Minute)
		}
		if random.IntN(20) == 0 && frozen == nil { // the zone grows between what goes (S7.5: that lets nothing out)
			for range random.IntN(20) {
				put([]string{"owner", "a"}[random.IntN(2)], fmt.Sprint("g", grown))
				grown++
			}
		}
		if count() < 15 { // so that there is something to remove
			for i := range 60 {
				if name := fmt.Sprint("m", len(w.records), "x", i); count() < 30 {
					put("owner", name)
				}
			}
		}
	}
	for _, line := range w.checkAll() {
		t.Error(line)
	}
	return began
}
