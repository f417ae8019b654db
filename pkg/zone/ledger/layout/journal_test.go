// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

package layout

import (
	"encoding/json"
	"math/rand/v2"
	"reflect"
	"strings"
	"testing"

	"kubi.zone/kubizone/pkg/dns/name"
	"kubi.zone/kubizone/pkg/zone/law"
	"kubi.zone/kubizone/pkg/zone/law/content"
	"kubi.zone/kubizone/test/must"
)

// JournalValue builds the JSON of a transaction step by step, so that its length is known. The result must equal the
// encoded transaction, and steps beyond the limit are refused and left out.
func TestJournalValue_isTheTransaction(t *testing.T) {
	owner := must.Get(name.ParseRel("www.dev"))(t)
	texts := []string{`"<>&"`, `"\\u003c"`, `"\200\"\\"`, `"plain"`, "\u2028"}
	for seed := range uint64(50) {
		rnd := rand.New(rand.NewPCG(seed, 3))
		var j JournalValue
		tx := content.Transaction{Settled: rnd.IntN(2) == 0}
		for n := range uint64(1 + rnd.IntN(5)) {
			step := content.Step{N: 7 + n, From: 4, Serial: 5, By: "<me>", Record: &content.RecordRef{Namespace: "a", Name: "b"}}
			for range rnd.IntN(4) {
				step.Added = append(step.Added, content.Row{Owner: owner, Type: 16, Data: texts[rnd.IntN(len(texts))]})
			}
			if rnd.IntN(4) == 0 {
				long := step
				long.Removed = []content.Row{{Owner: owner, Type: 16, Data: strings.Repeat("x", 1000)}}
				if octets, ok := j.Add(&long, 1000); ok || octets < 1000 {
					t.Fatalf("a step of more than 1,000 octets is taken as %d", octets)
				}
			}
			if _, ok := j.Add(&step, 1000); !ok {
				t.Fatalf("%+v is too long", step)
			}
			tx.Steps = append(tx.Steps, step)
		}
		if last := tx.Steps[len(tx.Steps)-1].N; j.Steps[0].N != 7 || j.LastStep() != last || !reflect.DeepEqual(j.Steps, tx.Steps) {
			t.Errorf("%d steps from %d to %d, want %d to %d", len(j.Steps), j.Steps[0].N, j.LastStep(), len(tx.Steps), last)
		}
		if have, want := string(j.Value(tx.Settled)), string(Encode(&tx)); have != want {
			t.Errorf("seed %d:\n%s, at once\n%s", seed, have, want)
		}
	}
}

// Encode does not escape < and other characters of HTML, so that no octet becomes six. Decoded values equal the
// originals.
func TestEncode_isPlain(t *testing.T) {
	for _, text := range []string{"", "plain", "<", `\u003c`, `\\u003c`, `"<" \\ > & \u0026`, strings.Repeat("<", 1000)} {
		value := law.CascadeMark{ID: text}
		data := Encode(value)
		var back law.CascadeMark
		if err := json.Unmarshal(data, &back); err != nil || !reflect.DeepEqual(back, value) {
			t.Errorf("%q became %s and then %q: %v", text, data, back.ID, err)
		}
		if html, err := json.Marshal(value); err != nil || len(data) > len(html) || len(data) > 2*len(text)+100 || data[len(data)-1] != '}' {
			t.Errorf("%q: %s", text, data)
		}
	}
}
