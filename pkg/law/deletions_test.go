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
)

// TestDeletions holds S7.5 against a twin that remembers whole contents: random Records of two namespaces come and go.
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
	there, goneBy, once := map[string]string{}, map[string]string{}, map[string]bool{}
	var bases []base
	var frozen *base
	put := func(ns, name string) {
		v, err := rdata.Parse(rdata.A, "192.0.2.1")
		if err != nil {
			t.Fatal(err)
		}
		r := law.Record{Namespace: ns, Name: name, DomainName: name + ".example.org.", Type: rdata.A, Values: []rdata.Value{v}}
		if _, refusal := w.putRecord(r); refusal == nil {
			there[name] = ns
		}
	}
	gone := func(sets map[string]bool) (n int) {
		for x := range sets {
			if there[x] == "" && goneBy[x] == "owner" {
				n++
			}
		}
		return n
	}
	for i := range 40 {
		put("owner", fmt.Sprint("n", i))
	}
	for range 300 {
		w.now = w.now.Add(time.Duration(random.IntN(20)) * time.Second)
		name := fmt.Sprint("n", random.IntN(60))
		if ns, is := there[name]; !is {
			put([]string{"owner", "a"}[random.IntN(2)], name)
			if there[name] != "" && goneBy[name] != "" {
				once[name] = true // it goes no second time: bases between are reckoned as if they had it
				delete(goneBy, name)
			}
		} else if !once[name] {
			now := w.now.Unix()
			for ns == "owner" && frozen == nil && len(bases) > 0 {
				last := bases[len(bases)-1]
				if len(last.sets) > len(there) || len(last.sets) == len(there) && gone(last.sets) > 0 {
					break
				}
				bases = bases[:len(bases)-1]
			}
			if ns == "owner" && frozen == nil && (len(bases) == 0 || now-bases[len(bases)-1].last >= 60) {
				sets := map[string]bool{}
				for x := range there {
					sets[x] = true
				}
				bases = append(bases, base{sets, now})
			}
			w.deleteRecord(object{ns, name})
			delete(there, name)
			goneBy[name] = ns
		}
		z, h := zone()
		largest := &base{}
		if frozen != nil {
			largest = frozen
		} else {
			bases = slices.DeleteFunc(bases, func(b base) bool { return w.now.Unix()-b.last >= 600 })
			for i := range bases {
				if len(bases[i].sets) > len(largest.sets) {
					largest = &bases[i]
				}
			}
		}
		gone := gone(largest.sets)
		exceeds := gone >= 10 && gone*100 > 30*len(largest.sets)
		if exceeds != (h.Held != nil) {
			t.Fatalf("at serial %d: held %v, and the twin says %d of %d are gone", z.Serial, h.Held, gone, len(largest.sets))
		}
		switch {
		case exceeds && frozen == nil:
			began++
			b := *largest
			frozen = &b
		case !exceeds && frozen != nil:
			bases, frozen = []base{{frozen.sets, w.now.Unix()}}, nil
		}
		if random.IntN(40) == 0 { // a pause, after which nothing counts unless it is held
			w.now = w.now.Add(10 * time.Minute)
		}
		if len(there) < 15 { // so that there is something to remove
			for i := range 60 {
				if name := fmt.Sprint("m", len(w.records), "x", i); len(there) < 30 {
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
