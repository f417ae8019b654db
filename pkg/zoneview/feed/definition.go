// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

package feed

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"

	"kubi.zone/kubizone/pkg/apis/kubizone/v1alpha1"
	"kubi.zone/kubizone/pkg/dns/name"
	"kubi.zone/kubizone/pkg/dns/rdata"
	"kubi.zone/kubizone/pkg/dns/serial"
	"kubi.zone/kubizone/pkg/law/content"
	"kubi.zone/kubizone/pkg/law/sethash"
	"kubi.zone/kubizone/pkg/zoneview"
)

// errAnother: a Zone of this name answered that is not the one asked for. The watch tells of it, too.
var errAnother = errors.New("another Zone has the name now")

// readDefinition reads a ZoneEntries in the form definition one RRset at a time: a large zone is held once, not a
// second time as an answer.
func readDefinition(body io.Reader, zone zoneview.Zone) (*zoneview.Snapshot, error) {
	answer := json.NewDecoder(body)
	if err := expect(answer, json.Delim('{')); err != nil {
		return nil, err
	}
	head := map[string]json.RawMessage{}
	var snapshot *zoneview.Snapshot
	for answer.More() {
		key, err := answer.Token()
		if err != nil {
			return nil, err
		}
		if key != "rrsets" {
			var value json.RawMessage
			if err := answer.Decode(&value); err != nil {
				return nil, err
			}
			head[key.(string)] = value
			continue
		}
		if snapshot, err = readRRsets(answer, zone, head); err != nil {
			return nil, err
		}
	}
	// Without its end an answer was cut.
	if err := expect(answer, json.Delim('}')); err != nil {
		return nil, err
	}
	object, err := decoded(head)
	switch {
	case err != nil:
		return nil, err
	case snapshot == nil:
		return nil, errors.New("the answer has no rrsets")
	case object.Metadata.UID != zone.UID:
		return nil, fmt.Errorf("%w: uid %s, not %s", errAnother, object.Metadata.UID, zone.UID)
	case object.Hash != snapshot.Hash():
		return nil, fmt.Errorf("%s, serial %d: %w: its header and content state make hash %s, the answer says %s", snapshot, snapshot.Serial(), zoneview.ErrMisfit, snapshot.Hash(), object.Hash)
	}
	return snapshot, nil
}

func expect(answer *json.Decoder, want json.Delim) error {
	got, err := answer.Token()
	if errors.Is(err, io.EOF) {
		return io.ErrUnexpectedEOF
	}
	if err == nil && got != want {
		err = fmt.Errorf("the answer has %v where %v belongs", got, want)
	}
	return err
}

func decoded(head map[string]json.RawMessage) (*v1alpha1.ZoneEntries, error) {
	text, err := json.Marshal(head)
	if err != nil {
		return nil, err
	}
	object := new(v1alpha1.ZoneEntries)
	return object, json.Unmarshal(text, object)
}

// readRRsets reads the list; what it belongs to came before it.
func readRRsets(answer *json.Decoder, zone zoneview.Zone, head map[string]json.RawMessage) (*zoneview.Snapshot, error) {
	object, err := decoded(head)
	if err != nil {
		return nil, err
	}
	if object.Header == nil {
		return nil, errors.New("the answer has rrsets before its header, or no header")
	}
	header, err := headerOf(object.Header)
	if err != nil {
		return nil, err
	}
	state, err := sethash.ParseState(object.ContentState)
	if err != nil {
		return nil, err
	}
	if err := expect(answer, json.Delim('[')); err != nil {
		return nil, err
	}
	var wrong error
	snapshot := zoneview.NewSnapshot(zone, header, serial.Serial(object.Serial), uint64(object.ContentGeneration), state, func(yield func(content.RRset) bool) {
		for answer.More() {
			var listed v1alpha1.RRset
			if wrong = answer.Decode(&listed); wrong != nil {
				return
			}
			set, err := rrsetOf(listed)
			if wrong = err; wrong != nil || !yield(set) {
				return
			}
		}
	})
	if wrong != nil {
		return nil, wrong
	}
	return snapshot, expect(answer, json.Delim(']'))
}

func rrsetOf(listed v1alpha1.RRset) (content.RRset, error) {
	owner, t, err := ownerAndType(listed.Owner, listed.Type)
	if err != nil {
		return content.RRset{}, err
	}
	ttl, err := content.ParseTTL(listed.TTL)
	if err != nil {
		return content.RRset{}, fmt.Errorf("%s %s: %w", listed.Owner, listed.Type, err)
	}
	return content.RRset{Owner: owner, Type: t, TTL: ttl, Data: listed.Data}, nil
}

// ownerAndType read what the server wrote: names in it are canonical, and not judged anew.
func ownerAndType(owner, mnemonic string) (name.Rel, rdata.Type, error) {
	var relative name.Rel
	if err := relative.UnmarshalText([]byte(owner)); err != nil {
		return name.Rel{}, 0, fmt.Errorf("owner %q: %w", owner, err)
	}
	t, err := rdata.ParseType(mnemonic)
	if err != nil {
		return name.Rel{}, 0, fmt.Errorf("%s: %w", owner, err)
	}
	return relative, t, nil
}

func headerOf(header *v1alpha1.ZoneHeader) (content.Header, error) {
	out := content.Header{
		TTL: uint32(header.TTL), Refresh: uint32(header.Refresh), Retry: uint32(header.Retry), Expire: uint32(header.Expire),
		NegativeResponseCache: uint32(header.NegativeResponseCache), PrimaryNameServer: header.PrimaryNameServer, Contact: header.Contact,
	}
	if err := out.FQDN.UnmarshalText([]byte(header.FQDN)); err != nil {
		return content.Header{}, fmt.Errorf("header.fqdn %q: %w", header.FQDN, err)
	}
	for _, server := range header.NameServers {
		out.NameServers = append(out.NameServers, content.NameServer{Name: server.Name, Addresses: server.Addresses})
	}
	return out, nil
}

// stepsOf are the steps of an answer, each from the serial that the one before it led to.
func stepsOf(changes *v1alpha1.ZoneChanges, uid string, since, until serial.Serial) ([]content.Step, error) {
	if changes.Metadata.UID != uid {
		return nil, fmt.Errorf("%w: uid %s, not %s", errAnother, changes.Metadata.UID, uid)
	}
	steps := make([]content.Step, 0, len(changes.Steps))
	at := since
	for i, listed := range changes.Steps {
		step, err := stepOf(listed, at)
		if err != nil {
			return nil, fmt.Errorf("steps[%d]: %w", i, err)
		}
		at = step.Serial
		steps = append(steps, step)
	}
	if at != until {
		return nil, fmt.Errorf("%w: the answer ends at serial %d", zoneview.ErrMisfit, at)
	}
	return steps, nil
}

func stepOf(listed v1alpha1.ZoneStep, from serial.Serial) (content.Step, error) {
	step := content.Step{N: uint64(listed.ContentGeneration), From: from, Serial: serial.Serial(listed.Serial)}
	var err error
	if step.State, err = sethash.ParseState(listed.ContentState); err != nil {
		return content.Step{}, err
	}
	if step.HeaderBefore, err = optionalHeader(listed.HeaderBefore); err != nil {
		return content.Step{}, err
	}
	if step.HeaderAfter, err = optionalHeader(listed.HeaderAfter); err != nil {
		return content.Step{}, err
	}
	if step.Removed, err = rowsOf(listed.Removed); err != nil {
		return content.Step{}, err
	}
	if step.Added, err = rowsOf(listed.Added); err != nil {
		return content.Step{}, err
	}
	for _, change := range listed.TTLs {
		owner, t, err := ownerAndType(change.Owner, change.Type)
		if err != nil {
			return content.Step{}, err
		}
		before, err := optionalTTL(change.Before)
		if err != nil {
			return content.Step{}, err
		}
		after, err := optionalTTL(change.After)
		if err != nil {
			return content.Step{}, err
		}
		step.TTLs = append(step.TTLs, content.TTLChange{Owner: owner, Type: t, Before: before, After: after})
	}
	if listed.Time != nil {
		step.Time = listed.Time.Unix()
	}
	return step, nil
}

func optionalHeader(header *v1alpha1.ZoneHeader) (*content.Header, error) {
	if header == nil {
		return nil, nil
	}
	out, err := headerOf(header)
	return &out, err
}

func optionalTTL(text string) (*content.TTL, error) {
	if text == "" {
		return nil, nil
	}
	ttl, err := content.ParseTTL(text)
	return &ttl, err
}

func rowsOf(listed []v1alpha1.Row) ([]content.Row, error) {
	var rows []content.Row
	for _, row := range listed {
		owner, t, err := ownerAndType(row.Owner, row.Type)
		if err != nil {
			return nil, err
		}
		rows = append(rows, content.Row{Owner: owner, Type: t, Data: row.Data})
	}
	return rows, nil
}
