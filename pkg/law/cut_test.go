// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

package law

import (
	"fmt"
	"math/rand/v2"
	"reflect"
	"testing"

	"kubi.zone/kubizone/pkg/dns/name"
	"kubi.zone/kubizone/pkg/dns/rdata"
	"kubi.zone/kubizone/pkg/law/content"
	"kubi.zone/kubizone/test/must"
)

// A parent that follows its child in steps changes few owners in each, and never names a host without the glue that
// it has before or afterwards.
func TestStepToward_keepsGlue(t *testing.T) {
	owner := func(text string) name.Rel {
		return must.Get(name.ParseRel(text))(t)
	}
	for seed := range uint64(300) {
		random := rand.New(rand.NewPCG(seed, 16))
		draw := func() *CountedCut {
			if random.IntN(5) == 0 {
				return nil
			}
			c := &CountedCut{}
			ns := content.RRset{Owner: owner("sub"), Type: rdata.NS}
			for i := range 12 {
				if random.IntN(2) == 0 {
					host := fmt.Sprintf("n%d.sub", i)
					ns.Data = append(ns.Data, host)
					c.Sets = append(c.Sets, content.RRset{Owner: owner(host), Type: rdata.A, Data: []string{fmt.Sprint(random.IntN(3))}})
				}
			}
			if len(ns.Data) == 0 {
				return nil
			}
			c.Sets = append([]content.RRset{ns}, c.Sets...)
			return c
		}
		from, all := draw(), draw()
		most := 1 + random.IntN(4)
		for steps := 0; ; steps++ {
			next := from.stepToward(all, most)
			changed := 0
			for i := range 12 {
				host := owner(fmt.Sprintf("n%d.sub", i))
				if !reflect.DeepEqual(from.setsAt(&host), next.setsAt(&host)) {
					changed++
				}
			}
			apex := owner("sub")
			for _, s := range next.setsAt(&apex) {
				changed += 1 - len(from.setsAt(&apex))
				for _, text := range s.Data {
					if host := owner(text); len(next.setsAt(&host)) == 0 && all != nil {
						t.Fatalf("seed %d, step %d: %s is named, and has no glue", seed, steps, text)
					}
				}
			}
			if changed > most {
				t.Fatalf("seed %d, step %d: %d owners changed, at most %d may", seed, steps, changed, most)
			}
			if next == all {
				break
			}
			if from = next; steps > 30 || len(next.setsAt(nil)) == 0 {
				t.Fatalf("seed %d: it does not end", seed)
			}
		}
	}
}
