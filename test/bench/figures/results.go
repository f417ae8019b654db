// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

package figures

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

type Header struct {
	Date    string `json:"date"`
	Go      string `json:"go"`
	CPUs    int    `json:"cpus"`
	Rounds  int    `json:"rounds"`
	Records int    `json:"records"`
	Seconds int    `json:"seconds"`
	// Load averages are over 1, 5 and 15 minutes.
	LoadBefore string `json:"loadBefore"`
	LoadAfter  string `json:"loadAfter"`
}

type Series struct {
	Name   string    `json:"name"`
	Unit   string    `json:"unit"`
	Values []float64 `json:"values"`
}

func (s *Series) Median() float64 {
	v := slices.Sorted(slices.Values(s.Values))
	if len(v)%2 == 1 {
		return v[len(v)/2]
	}
	return (v[len(v)/2-1] + v[len(v)/2]) / 2
}

type Results struct {
	Header Header
	Series []*Series
	index  map[string]*Series
}

func New(records int) *Results {
	return &Results{
		Header: Header{Date: time.Now().UTC().Format(time.RFC3339), Go: runtime.Version(), CPUs: runtime.NumCPU(), Records: records, LoadBefore: LoadAverage()},
		index:  map[string]*Series{},
	}
}

func (r *Results) Add(name, unit string, value float64) {
	s := r.index[name]
	if s == nil {
		s = &Series{Name: name, Unit: unit}
		r.index[name] = s
		r.Series = append(r.Series, s)
	}
	s.Values = append(s.Values, roundDigits(value))
}

func (r *Results) Median(name string) (value float64, ok bool) {
	s := r.index[name]
	if s == nil {
		return 0, false
	}
	return s.Median(), true
}

func (r *Results) Write(file string) error {
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

func roundDigits(v float64) float64 {
	out, _ := strconv.ParseFloat(strconv.FormatFloat(v, 'g', 4, 64), 64)
	return out
}

func Read(file string) (*Results, error) {
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

// Finish compares the run with dir/kept.jsonl, and writes dir/last.jsonl; with keep also dir/kept.jsonl.
func (r *Results) Finish(dir string, keep bool, out io.Writer) error {
	kept := filepath.Join(dir, "kept.jsonl")
	before, err := Read(kept)
	if err == nil {
		compareRuns(before, r, out)
	} else if !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return err
	}
	if err := r.Write(filepath.Join(dir, "last.jsonl")); err != nil {
		return err
	}
	if keep {
		return r.Write(kept)
	}
	return nil
}
