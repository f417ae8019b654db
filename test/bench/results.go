// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"fmt"

	"kubi.zone/kubizone/test/bench/figures"
)

func addWrites(r *figures.Results, callers int, got map[string]map[string]sample) {
	for _, op := range operations {
		for _, a := range []string{armOne, armSixteen, armPlain} {
			s, ok := got[a][op]
			if !ok {
				continue
			}
			at := writeName(op, callers, a)
			r.Add(at+"/rate", "/s", s.rate)
			r.Add(at+"/p50", "ms", s.p50)
			r.Add(at+"/p99", "ms", s.p99)
			r.Add(at+"/txns", "", s.txns)
			r.Add(at+"/reads", "", s.ranges)
			r.Add(at+"/fsyncs", "", s.fsyncs)
			r.Add(at+"/wal", "B", s.bytes)
			r.Add(at+"/etcd-cpu", "µs", s.memberCPU)
			r.Add(at+"/mallocs", "", s.mallocs)
			r.Add(at+"/allocated", "B", s.allocated)
			r.Add(at+"/cpu", "µs", s.cpu)
		}
		for _, pair := range pairs {
			over, under := got[pair.over][op], got[pair.under][op]
			at := writeName(op, callers, pair.over+" ÷ "+pair.under)
			r.Add(at+"/rate", "×", over.rate/under.rate)
			r.Add(at+"/p50", "×", over.p50/under.p50)
			r.Add(at+"/cpu", "×", over.cpu/under.cpu)
		}
	}
}

var pairs = []struct{ over, under string }{{armOne, armPlain}, {armSixteen, armPlain}}

func writeName(op string, callers int, arm string) string {
	return fmt.Sprintf("%s/%d/%s", op, callers, arm)
}
