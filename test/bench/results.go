// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"time"
)

// Header says how a run was made.
type Header struct {
	Date    string `json:"date"`
	Go      string `json:"go"`
	CPUs    int    `json:"cpus"`
	Rounds  int    `json:"rounds"`
	Records int    `json:"records"`
	Seconds int    `json:"seconds"`
	// LoadBefore and LoadAfter are the machine's load averages over 1, 5 and 15 minutes.
	LoadBefore string `json:"loadBefore"`
	LoadAfter  string `json:"loadAfter"`
}

// Series is one figure, a value a round.
type Series struct {
	Name   string    `json:"name"`
	Unit   string    `json:"unit"`
	Values []float64 `json:"values"`
}

// Median of the rounds.
func (s *Series) Median() float64 {
	v := slices.Sorted(slices.Values(s.Values))
	if len(v)%2 == 1 {
		return v[len(v)/2]
	}
	return (v[len(v)/2-1] + v[len(v)/2]) / 2
}

// Results of a run. On disk: the header, then a line of JSON for each series.
type Results struct {
	Header Header
	Series []*Series
	index  map[string]*Series
}

func newResults(p plan) *Results {
	return &Results{
		Header: Header{Date: time.Now().UTC().Format(time.RFC3339), Go: goVersion(), CPUs: runtime.NumCPU(), Records: p.Records, LoadBefore: loadAverage()},
		index:  map[string]*Series{},
	}
}

func (r *Results) add(name, unit string, value float64) {
	s := r.index[name]
	if s == nil {
		s = &Series{Name: name, Unit: unit}
		r.index[name] = s
		r.Series = append(r.Series, s)
	}
	s.Values = append(s.Values, significant(value))
}

// median of a series; ok is false where there is none.
func (r *Results) median(name string) (value float64, ok bool) {
	s := r.index[name]
	if s == nil {
		return 0, false
	}
	return s.Median(), true
}

// addWrites adds a round of all arms, and its ratios: pairs of the same round.
func (r *Results) addWrites(callers int, got map[string]map[string]sample) {
	for _, op := range operations {
		for _, a := range []string{armOne, armSixteen, armPlain, armRaw} {
			s, ok := got[a][op]
			if !ok {
				continue
			}
			at := writeName(op, callers, a)
			r.add(at+"/rate", "/s", s.rate)
			r.add(at+"/p50", "ms", s.p50)
			r.add(at+"/p99", "ms", s.p99)
			r.add(at+"/txns", "", s.txns)
			r.add(at+"/reads", "", s.ranges)
			r.add(at+"/fsyncs", "", s.fsyncs)
			r.add(at+"/wal", "B", s.bytes)
			r.add(at+"/etcd-cpu", "µs", s.memberCPU)
			if a != armRaw {
				r.add(at+"/mallocs", "", s.mallocs)
				r.add(at+"/allocated", "B", s.allocated)
				r.add(at+"/cpu", "µs", s.cpu)
			}
		}
		for _, pair := range pairs {
			over, under := got[pair.over][op], got[pair.under][op]
			at := writeName(op, callers, pair.over+" ÷ "+pair.under)
			r.add(at+"/rate", "×", over.rate/under.rate)
			r.add(at+"/p50", "×", over.p50/under.p50)
			if pair.under != armRaw {
				r.add(at+"/cpu", "×", over.cpu/under.cpu)
			}
		}
	}
}

// pairs whose ratios are reported.
var pairs = []struct{ over, under string }{{armOne, armPlain}, {armSixteen, armPlain}, {armOne, armRaw}}

func writeName(op string, callers int, arm string) string {
	return fmt.Sprintf("%s/%d/%s", op, callers, arm)
}

func (r *Results) write(file string) error {
	f, err := os.Create(file)
	if err != nil {
		return err
	}
	defer f.Close()
	w := json.NewEncoder(f)
	if err := w.Encode(r.Header); err != nil {
		return err
	}
	for _, s := range r.Series {
		if err := w.Encode(s); err != nil {
			return err
		}
	}
	return f.Close()
}

// significant keeps four digits: the rest is noise that makes files differ.
func significant(v float64) float64 {
	out, _ := strconv.ParseFloat(strconv.FormatFloat(v, 'g', 4, 64), 64) // its own text
	return out
}

func readResults(file string) (*Results, error) {
	f, err := os.Open(file)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	d := json.NewDecoder(bufio.NewReader(f))
	r := &Results{index: map[string]*Series{}}
	if err := d.Decode(&r.Header); err != nil {
		return nil, fmt.Errorf("%s: %w", file, err)
	}
	for {
		s := &Series{}
		if err := d.Decode(s); errors.Is(err, io.EOF) {
			return r, nil
		} else if err != nil {
			return nil, fmt.Errorf("%s: %w", file, err)
		}
		if len(s.Values) > 0 {
			r.Series = append(r.Series, s)
			r.index[s.Name] = s
		}
	}
}

// finish prints the run, compares it with the kept one, and writes it.
func finish(r *Results, dir string, keep bool, out io.Writer) error {
	r.print(out)
	kept := filepath.Join(dir, "kept.jsonl")
	before, err := readResults(kept)
	if err == nil {
		compare(before, r, out)
	} else if !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return err
	}
	if err := r.write(filepath.Join(dir, "last.jsonl")); err != nil {
		return err
	}
	if keep {
		return r.write(kept)
	}
	return nil
}
