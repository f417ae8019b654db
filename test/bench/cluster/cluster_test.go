// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"bytes"
	"fmt"
	"math"
	"strconv"
	"strings"
	"testing"

	"kubi.zone/kubizone/test/bench/figures"
	"kubi.zone/kubizone/test/rig"
)

// The whole benchmark on the smallest scale. Times mean nothing here; counts do: what the servers counted is what was
// sent, by every arm and to the server it names, and a ratio is of what stands beside it.
func TestRun_countsWhatItSends(t *testing.T) {
	if testing.Short() {
		t.Skip("starts a control plane and two servers")
	}
	p := plan{Rounds: 1, Load: []load{{lone, 4}, {many, 20}}, Population: 30, Reads: 2, Records: 40}
	s := &stage{plan: p, dir: t.TempDir(), say: t.Logf}
	defer s.close()
	r := figures.New(p.Records)
	rig.SkipMissing(t, s.start(t.Context(), r))
	if err := s.rounds(t.Context(), r); err != nil {
		t.Fatal(err)
	}

	each := 0
	for _, of := range []plan{p.warming(), p} {
		for _, l := range of.Load {
			each += l.Requests
		}
	}
	for k, arms := range map[*kind]int{&records: 4, &flunders: 4, &custom: 2} {
		for verb, more := range map[string]int{"POST": p.Population, "GET": 0, "PUT": 0, "DELETE": 0} {
			if got, want := s.counted(t, *k, verb), arms*each+more; got != want {
				t.Errorf("%s %s: the server counted %d, want %d", verb, k.resource, got, want)
			}
		}
	}
	for _, a := range s.arms {
		for _, m := range measures {
			if v, _ := r.Median(a.String() + "/" + m.name); v <= 0 && !inTicks(m) {
				t.Errorf("%s: no %s", a, m.name)
			}
		}
	}
	for _, pair := range pairs {
		for _, m := range measures {
			over, _ := r.Median(pair.over + "/" + m.name)
			under, _ := r.Median(pair.under + "/" + m.name)
			if got, ok := r.Median(pair.String() + "/" + m.name); !inTicks(m) && !ok || ok && math.Abs(got/(over/under)-1) > 0.01 {
				t.Errorf("%s/%s: %v, want %v ÷ %v", pair, m.name, got, over, under)
			}
		}
	}
	ours, _ := r.Median("size/" + records.name)
	for _, k := range []kind{flunders, custom} {
		if size, _ := r.Median("size/" + k.name); size < 0.9*ours || size > 1.1*ours {
			t.Errorf("one of %s has %v octets, one of Records %v", k.name, size, ours)
		}
	}

	// Every cache was waited for until it had all that was filled in.
	if err := s.sizes(t.Context(), r); err != nil {
		t.Fatal(err)
	}
	for _, with := range []string{withPopulation, withBig} {
		for _, name := range []string{"start/" + records.name, "start/" + ratio, "resident/" + flunders.name, "resident/" + ratio} {
			if v, _ := r.Median(name + "/" + with); v <= 0 {
				t.Errorf("no %s/%s", name, with)
			}
		}
	}
	var out bytes.Buffer
	report{r}.print(&out)
	for _, want := range []string{"| Records aggregated tenant ÷ CRD direct tenant |", "a tenant's updates, direct ÷ system:masters', 16 callers | ≥ 0.8 |", "with 40 objects"} {
		if !strings.Contains(out.String(), want) {
			t.Errorf("not printed: %s", want)
		}
	}
	t.Log("\n" + out.String())
}

// inTicks are measures in hundredths of a second: so few requests may use none.
func inTicks(m measure) bool { return m.unit == "µs" }

// counted is how many requests the server of a kind answered with success.
func (s *stage) counted(t *testing.T, k kind, verb string) (n int) {
	t.Helper()
	body, err := s.to(k).client.Get().AbsPath("/metrics").DoRaw(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	for line := range strings.Lines(string(body)) {
		labels, value, _ := strings.Cut(strings.TrimSuffix(line, "\n"), "} ")
		if !strings.HasPrefix(labels, "apiserver_request_total{") || !strings.Contains(labels, fmt.Sprintf("resource=%q", k.resource)) ||
			!strings.Contains(labels, fmt.Sprintf("verb=%q", verb)) || !strings.Contains(labels, `code="2`) {
			continue
		}
		v, err := strconv.Atoi(value)
		if err != nil {
			t.Fatal(err)
		}
		n += v
	}
	return n
}
