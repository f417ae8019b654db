// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

package server

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"sync"

	"kubi.zone/kubizone/pkg/delivery/webhook/protocol"
	"kubi.zone/kubizone/pkg/dns/name"
	"kubi.zone/kubizone/pkg/dns/rdata"
)

// Shared is a Backend for zones with other writers. A file records the data that this server writes, before and after
// each write. An RRset with other data is another writer's, so a write is a conflict (409), and a removal leaves the
// data. A write of the same data makes this server the owner.
type Shared struct {
	Backend

	mu        sync.Mutex // guards the fields below
	file      *os.File
	notedData map[rrsetID][][]string // data of this server, as in the file
	zoneLocks map[name.Name]*sync.Mutex
}

var _ Backend = (*Shared)(nil)

type rrsetID struct {
	zone, owner name.Name
	t           rdata.Type
}

// note is a line of the file: the possible data of an RRset of this server, old and new during a write. An RRset's last
// line counts.
type note struct {
	Zone string     `json:"zone"`
	Name string     `json:"name"`
	Type string     `json:"type"`
	Data [][]string `json:"data"`
}

// NewShared reads or creates the file at path, and compacts the file to a line for each RRset. No other process may use
// the file.
func NewShared(backend Backend, path string) (*Shared, error) {
	s := &Shared{Backend: backend, notedData: map[rrsetID][][]string{}, zoneLocks: map[name.Name]*sync.Mutex{}}
	text, err := os.ReadFile(path)
	if err != nil && !errors.Is(err, os.ErrNotExist) {
		return nil, err
	}
	notes := map[rrsetID][][]string{}
	for n, line := range bytes.SplitAfter(text, []byte{'\n'}) {
		if !bytes.HasSuffix(line, []byte{'\n'}) {
			break // incomplete: the server crashed before the write to the zone
		}
		var entry note
		if err := json.Unmarshal(line, &entry); err != nil {
			return nil, fmt.Errorf("%s: line %d is no note of this server", path, n+1)
		}
		id, err := entry.id()
		if err != nil {
			return nil, fmt.Errorf("%s: line %d: %w", path, n+1, err)
		}
		notes[id] = entry.Data
	}
	newFile, err := os.CreateTemp(filepath.Dir(path), filepath.Base(path)+".*")
	if err != nil {
		return nil, err
	}
	s.file = newFile
	if err = s.writeNotes(notes); err == nil {
		err = os.Rename(newFile.Name(), path)
	}
	if err != nil {
		return nil, errors.Join(err, newFile.Close(), os.Remove(newFile.Name()))
	}
	return s, nil
}

func (line note) id() (rrsetID, error) {
	zone, err := name.Parse(line.Zone)
	if err != nil {
		return rrsetID{}, err
	}
	owner, err := name.Parse(line.Name)
	if err != nil {
		return rrsetID{}, err
	}
	t, err := rdata.ParseType(line.Type)
	return rrsetID{zone, owner, t}, err
}

func (s *Shared) hasNoted(id rrsetID, data [][]string) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.EqualFunc(s.notedData[id], data, slices.Equal)
}

func (s *Shared) writeNotes(notes map[rrsetID][][]string) error {
	var text bytes.Buffer
	for id, data := range notes {
		if s.hasNoted(id, data) {
			continue
		}
		line, err := protocol.Marshal(note{id.zone.String(), id.owner.String(), id.t.String(), data})
		if err != nil {
			return err
		}
		text.Write(append(line, '\n'))
	}
	if text.Len() == 0 {
		return nil
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	_, err := io.Copy(s.file, &text)
	if err == nil {
		err = s.file.Sync()
	}
	if err != nil {
		return fmt.Errorf("a write cannot be noted: %w", err)
	}
	for id, data := range notes {
		if s.notedData[id] = data; len(data) == 0 {
			delete(s.notedData, id)
		}
	}
	return nil
}

func (s *Shared) Apply(ctx context.Context, zone name.Name, sets []protocol.RRset) []error {
	s.mu.Lock()
	lock := s.zoneLocks[zone]
	if lock == nil {
		lock = new(sync.Mutex)
		s.zoneLocks[zone] = lock
	}
	s.mu.Unlock()
	lock.Lock()
	defer lock.Unlock()
	results := make([]error, len(sets))
	// An RRset given twice is written twice, because a write depends on the present RRset.
	for begin := 0; begin < len(sets); {
		end, seen := begin, map[rrsetID]bool{}
		for end < len(sets) && !seen[idOf(sets[end])] {
			seen[idOf(sets[end])] = true
			end++
		}
		s.applySets(ctx, zone, sets[begin:end], results[begin:end])
		begin = end
	}
	return results
}

func idOf(set protocol.RRset) rrsetID { return rrsetID{set.Zone, set.Name, set.Type} }

func (s *Shared) applySets(ctx context.Context, zone name.Name, sets []protocol.RRset, results []error) {
	// 1. Read the present data, and drop the sets of other writers.
	before, after := map[rrsetID][][]string{}, map[rrsetID][][]string{}
	var allowed, former []protocol.RRset
	var places []int
	for i, set := range sets {
		present, err := s.Backend.Read(ctx, zone, set.Name, set.Type)
		if err != nil {
			results[i] = err
			continue
		}
		s.mu.Lock()
		written := s.notedData[idOf(set)]
		s.mu.Unlock()
		if results[i] = permitWrite(&set, respell(present, written, [][]string{set.Data}), present.TTL, written); results[i] != nil {
			continue
		}
		id, data, presentData := idOf(set), sorted(set.Data), sorted(present.Data)
		switch {
		case len(sets[i].Data) == 0:
			before[id], after[id] = written, nil // other data is not ours
		case len(presentData) == 0 || slices.Equal(presentData, data):
			before[id], after[id] = [][]string{data}, [][]string{data}
		default:
			before[id], after[id] = [][]string{presentData, data}, [][]string{data} // either may be present until the write
		}
		allowed, former, places = append(allowed, set), append(former, present), append(places, i)
	}
	// 2. Record the possible data before the write, for a restart after a crash.
	if err := s.writeNotes(before); err != nil {
		for _, i := range places {
			results[i] = err
		}
		return
	}
	// 3. Write.
	var applied []error
	if conditional, is := s.Backend.(Conditional); is {
		applied = conditional.ApplyWhere(ctx, zone, allowed, former)
	} else {
		applied = s.Backend.Apply(ctx, zone, allowed)
	}
	for n, err := range applied {
		if results[places[n]] = err; err != nil {
			delete(after, idOf(allowed[n]))
		}
	}
	// 4. Record the successful writes.
	if err := s.writeNotes(after); err != nil {
		for _, i := range places {
			results[i] = errors.Join(results[i], err) // the client will repeat the request
		}
	}
}

// respell returns the data in the spelling of the first equal version, because a Backend may split a TXT differently.
func respell(present protocol.RRset, versions ...[][]string) []string {
	for _, data := range slices.Concat(versions...) {
		if slices.Equal(Meaning(present.Type, data), Meaning(present.Type, present.Data)) {
			return data
		}
	}
	return present.Data
}

// Meaning returns the data sorted, with the strings of each text joined.
func Meaning(t rdata.Type, data []string) []string {
	if t == rdata.TXT {
		data = slices.Clone(data)
		for i, value := range data {
			if text, err := protocol.JoinStrings(value); err == nil {
				data[i] = rdata.QuoteText(text)
			}
		}
	}
	return sorted(data)
}

// permitWrite returns an error if the write would replace data of another client: the present data in the zone is none
// of the versions that this server noted. If only some values are another client's, a removal becomes a write of these
// values.
func permitWrite(set *protocol.RRset, present []string, ttl uint32, noted [][]string) error {
	present = sorted(present)
	if len(present) == 0 {
		return nil
	}
	owned := slices.ContainsFunc(noted, func(data []string) bool { return slices.Equal(data, present) })
	if len(set.Data) > 0 {
		if owned || slices.Equal(sorted(set.Data), present) {
			return nil
		}
		return CoexistError("%s %s: the data there are another client's, and this server keeps them; remove them there, or write the same "+
			"data into the zone", set.Name, set.Type)
	}
	if owned {
		return nil
	}
	foreign := slices.DeleteFunc(slices.Clone(present), func(value string) bool {
		return slices.ContainsFunc(noted, func(data []string) bool { return slices.Contains(data, value) })
	})
	switch len(foreign) {
	case len(present): // all are others'
		return protocol.Refuse(protocol.CodeRecordNotFound, "%s %s: the data there are another client's, and are kept",
			set.Name, set.Type)
	case 0: // all are ours
		return nil
	}
	set.Data, set.TTL = foreign, ttl
	return nil
}

func sorted(data []string) []string {
	return slices.Compact(slices.Sorted(slices.Values(data)))
}
