// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

package law_test

import (
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"kubi.zone/kubizone/pkg/dns/rdata"
	"kubi.zone/kubizone/pkg/law"
	"kubi.zone/kubizone/pkg/law/content"
)

// TestDeletions holds S7.5 against a twin that remembers whole contents: random Records of two namespaces come and go, also both at one name.
func TestDeletions(t *testing.T) {
	held := 0
	for seed := range uint64(60) {
		held += deletions(t, rand.New(rand.NewPCG(seed, 5)))
		if t.Failed() {
			t.Fatalf("seed %d", seed)
		}
	}
	if held < 20 {
		t.Errorf("zones were held %d times: too few to show anything", held)
	}
}

// base is a settled content as the twin has it.
type base struct {
	sets map[string]bool
	turn int
	last int64
}

func deletions(t *testing.T, random *rand.Rand) (began int) {
	w := newWorld()
	w.quick = true
	spec := law.ZoneSpec{Ref: law.Ref{Namespace: "owner", Name: "example"}, DomainName: "example.org.", Grace: 86400, MaxDeletePercent: 30,
		Header: content.Header{TTL: 360, Refresh: 86400, Retry: 7200, Expire: 3600000, NegativeResponseCache: 360}, Rules: generous()}
	if _, refusal := w.putZone(spec, true); refusal != nil {
		t.Fatal(refusal)
	}
	w.settle()
	zone := func() (*law.Zone, *law.Holding) {
		z := w.zones[object{"owner", "example"}].zone
		return z, w.holding(z)
	}
	there, lost, once := map[string][]string{}, map[string]int{}, map[string]bool{} // by name: the namespaces with records there; the step at which the zone's own emptied it; that it did
	gone := map[string]bool{}
	var bases []base
	var frozen *base
	put := func(ns, name string) {
		v, err := rdata.Parse(rdata.A, "192.0.2.1")
		if err != nil {
			t.Fatal(err)
		}
		r := law.Record{Namespace: ns, Name: name, DomainName: name + ".example.org.", Type: rdata.A, Values: []rdata.Value{v}}
		if _, refusal := w.putRecord(r); refusal != nil {
			return
		}
		there[name] = append(there[name], ns)
		if _, is := lost[name]; is && ns == "owner" || !is && gone[name] {
			once[name] = true // it goes no second time: bases between are reckoned as if they had it
			delete(lost, name)
		}
		delete(gone, name)
	}
	count := func() (n int) {
		for _, by := range there {
			if len(by) > 0 {
				n++
			}
		}
		return n
	}
	removed := func(b *base) (n int) {
		for x := range b.sets {
			if at, is := lost[x]; is && at > b.turn {
				n++
			}
		}
		return n
	}
	for i := range 40 {
		put("owner", fmt.Sprint("n", i))
	}
	grown := 0
	for turn := range 400 {
		w.now = w.now.Add(time.Duration(random.IntN(20)) * time.Second)
		name, ns := fmt.Sprint("n", random.IntN(60)), []string{"owner", "a"}[random.IntN(2)]
		at := slices.Index(there[name], ns)
		switch last := len(there[name]) == 1; {
		case at < 0 && (len(there[name]) == 0 || random.IntN(3) == 0):
			put(ns, name)
		case at >= 0 && !(last && once[name]):
			now, goes := w.now.Unix(), ns == "owner" && last
			for goes && frozen == nil && len(bases) > 0 {
				last := &bases[len(bases)-1]
				if len(last.sets) > count() || removed(last) > 0 {
					break
				}
				bases = bases[:len(bases)-1]
			}
			if goes && frozen == nil && (len(bases) == 0 || now-bases[len(bases)-1].last >= 60 || count() >= 2*len(bases[len(bases)-1].sets)) {
				sets := map[string]bool{}
				for x, by := range there {
					sets[x] = len(by) > 0
				}
				maps.DeleteFunc(sets, func(_ string, is bool) bool { return !is })
				bases = append(bases, base{sets, turn, now})
			}
			w.deleteRecord(object{ns, name})
			there[name] = slices.Delete(there[name], at, at+1)
			if gone[name] = last; goes {
				lost[name] = turn + 1
			}
		}
		z, h := zone()
		candidates := bases
		if frozen != nil {
			candidates = []base{*frozen}
		} else {
			bases = slices.DeleteFunc(bases, func(b base) bool { return w.now.Unix()-b.last >= 600 })
			candidates = bases
		}
		first := slices.IndexFunc(candidates, func(b base) bool {
			gone := removed(&b)
			return gone >= 10 && gone*100 > 30*len(b.sets)
		})
		exceeds := first >= 0
		if exceeds != (h.Held != nil) {
			t.Fatalf("at serial %d: held %v, and by the twin %d of %d bases", z.Serial, h.Held, first, len(candidates))
		}
		if exceeds {
			if b := candidates[first]; h.Held.RRsets != len(b.sets) {
				t.Fatalf("at serial %d: held by a base of %d RRsets, and by the twin of %d", z.Serial, h.Held.RRsets, len(b.sets))
			}
		}
		switch {
		case exceeds && frozen == nil:
			began++
			b := candidates[first]
			frozen = &b
		case !exceeds && frozen != nil:
			bases, frozen = []base{{frozen.sets, frozen.turn, w.now.Unix()}}, nil
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
	for _, line := range w.check() {
		t.Error(line)
	}
	return began
}
