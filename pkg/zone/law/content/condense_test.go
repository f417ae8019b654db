// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

package content_test

import (
	"maps"
	"math/rand/v2"
	"testing"

	"kubi.zone/kubizone/pkg/dns/name"
	"kubi.zone/kubizone/pkg/dns/rdata"
	"kubi.zone/kubizone/pkg/dns/serial"
	"kubi.zone/kubizone/pkg/zone/law/content"
	"kubi.zone/kubizone/pkg/zone/law/sethash"
	"kubi.zone/kubizone/test/must"
)

// A condensed step has the same effect as its steps, without the values that were added and removed again. It can be
// condensed with later steps.
func TestCondense(t *testing.T) {
	owner := must.Get(name.ParseRel("www"))(t)
	for seed := range uint64(100) {
		random := rand.New(rand.NewPCG(seed, 1))
		rows, ttls := map[content.Row]bool{}, map[rdata.Type]content.TTL{}
		header := content.Header{TTL: 300}
		var state, began sethash.State
		var steps []content.Step
		var rowsAt map[content.Row]bool
		var headerAt content.Header
		for n := range uint64(40) {
			if n == 20 {
				steps, rowsAt, headerAt, began = nil, maps.Clone(rows), header, state
			}
			step := content.Step{N: n + 1, From: serial.Serial(n), Serial: serial.Serial(n + 1)}
			row := content.Row{Owner: owner, Type: []rdata.Type{rdata.A, rdata.TXT}[random.IntN(2)], Data: string(rune('a' + random.IntN(4)))}
			if rows[row] {
				delete(rows, row)
				step.Removed = []content.Row{row}
			} else {
				rows[row] = true
				step.Added = []content.Row{row}
			}
			before, had := ttls[row.Type]
			after, has := content.TTL{Seconds: uint32(random.IntN(2))}, false
			for x := range rows {
				has = has || x.Type == row.Type
			}
			if delete(ttls, row.Type); has {
				ttls[row.Type] = after
			}
			if had != has || had && before != after {
				change := content.TTLChange{Owner: owner, Type: row.Type}
				if had {
					change.Before = &before
				}
				if has {
					change.After = &after
				}
				step.TTLs = []content.TTLChange{change}
			}
			if random.IntN(8) == 0 {
				was := header
				header.TTL = 300 + uint32(random.IntN(2))*300
				is := header
				step.HeaderBefore, step.HeaderAfter = &was, &is
			}
			state = must.Get(state.Update(step.Elements()))(t)
			step.State = state
			steps = append(steps, step)
		}
		at := 1 + random.IntN(len(steps)-1)
		one := content.Condense(steps)
		two := content.Condense(append([]content.Step{content.Condense(steps[:at])}, steps[at:]...))
		for _, got := range []content.Step{one, two} {
			if end, err := began.Update(got.Elements()); err != nil || end != state || got.State != state || got.From != 20 || got.Serial != 40 || got.N != 40 {
				t.Fatalf("seed %d: it leads from serial %d to %d, step %d, and elsewhere: %v", seed, got.From, got.Serial, got.N, err)
			}
			back := maps.Clone(rows)
			for _, row := range got.Added {
				if !back[row] || rowsAt[row] {
					t.Fatalf("seed %d: %v is not what came", seed, row)
				}
				delete(back, row)
			}
			for _, row := range got.Removed {
				if back[row] || !rowsAt[row] {
					t.Fatalf("seed %d: %v is not what went", seed, row)
				}
				back[row] = true
			}
			if !maps.Equal(back, rowsAt) {
				t.Fatalf("seed %d: undone it leads to %v, want %v", seed, back, rowsAt)
			}
			if changed := !headerAt.Equal(header); changed != (got.HeaderBefore != nil) || changed && (!got.HeaderBefore.Equal(headerAt) || !got.HeaderAfter.Equal(header)) {
				t.Fatalf("seed %d: header from %v to %v", seed, got.HeaderBefore, got.HeaderAfter)
			}
		}
	}
}
