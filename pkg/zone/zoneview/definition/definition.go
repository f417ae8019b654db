// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

package definition

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"kubi.zone/kubizone/api/kubizone/v1alpha1"
	"kubi.zone/kubizone/pkg/dns/name"
	"kubi.zone/kubizone/pkg/dns/rdata"
	"kubi.zone/kubizone/pkg/dns/serial"
	"kubi.zone/kubizone/pkg/zone/law/content"
	"kubi.zone/kubizone/pkg/zone/law/sethash"
	"kubi.zone/kubizone/pkg/zone/zoneview"
)

// errAnother ends a read if another Zone has the name now. The watch reports the other Zone, too.
var errAnother = errors.New("another Zone has the name now")

// The types decode JSON into parsed values, such as name.Rel, so the values need no further check.
type (
	rrset struct {
		Owner name.Rel    `json:"owner"`
		Type  rdata.Type  `json:"type"`
		TTL   content.TTL `json:"ttl"`
		Data  []string    `json:"data"`
	}
	row struct {
		Owner name.Rel   `json:"owner"`
		Type  rdata.Type `json:"type"`
		Data  string     `json:"data"`
	}
	ttlChange struct {
		Owner  name.Rel     `json:"owner"`
		Type   rdata.Type   `json:"type"`
		Before *content.TTL `json:"before"`
		After  *content.TTL `json:"after"`
	}
	zoneChanges struct {
		Metadata v1alpha1.ZoneViewMeta `json:"metadata"`
		Steps    []struct {
			ContentGeneration uint64          `json:"contentGeneration"`
			Serial            serial.Serial   `json:"serial"`
			ContentState      sethash.State   `json:"contentState"`
			Time              *metav1.Time    `json:"time"`
			HeaderBefore      *content.Header `json:"headerBefore"`
			HeaderAfter       *content.Header `json:"headerAfter"`
			Removed           []row           `json:"removed"`
			Added             []row           `json:"added"`
			TTLs              []ttlChange     `json:"ttls"`
			Traceparent       string          `json:"traceparent"`
		} `json:"steps"`
	}
)

// decodeDefinition reads the answer of zones/entries as a stream, so that a large zone is in memory only once. Unknown
// fields are skipped. It compares uid and hash, but does not hash the content.
func decodeDefinition(body io.Reader, zone zoneview.Zone) (*zoneview.Snapshot, error) {
	var (
		meta       v1alpha1.ZoneViewMeta
		at         serial.Serial
		generation uint64
		hash       string
		state      sethash.State
		header     *content.Header
		snapshot   *zoneview.Snapshot
	)

	// Read the fields. The server sends the RRsets last, because a snapshot needs all others.
	fields := map[json.Token]any{
		"metadata": &meta, "serial": &at, "contentGeneration": &generation, "hash": &hash, "contentState": &state, "header": &header,
	}

	answer := json.NewDecoder(body)
	err := expectDelimiter(answer, '{')
	for err == nil && answer.More() {
		var key json.Token
		key, err = answer.Token()

		into, wanted := fields[key]
		switch {
		case err != nil:
		case key == "rrsets" && header == nil:
			err = errors.New("the answer has rrsets before its header, or no header")
		case key == "rrsets":
			if err = expectDelimiter(answer, '['); err != nil {
				break
			}
			// The snapshot pulls the RRsets out of the stream.
			snapshot = zoneview.NewSnapshot(zone, *header, at, generation, state, func(yield func(content.RRset) bool) {
				for answer.More() {
					var listed rrset
					if err = answer.Decode(&listed); err != nil || !yield(content.RRset(listed)) {
						return
					}
				}
			})
			if err == nil {
				err = expectDelimiter(answer, ']')
			}
		case wanted:
			err = answer.Decode(into)
		default:
			err = answer.Decode(new(json.RawMessage))
		}
	}

	if err == nil {
		err = expectDelimiter(answer, '}') // missing if the answer is truncated
	}

	// Check that the answer is whole, of this Zone, and fits its own hash.
	switch {
	case err != nil:
		return nil, err
	case snapshot == nil:
		return nil, errors.New("the answer has no rrsets")
	case meta.UID != zone.UID:
		return nil, fmt.Errorf("%w: uid %s, not %s", errAnother, meta.UID, zone.UID)
	case hash != snapshot.Hash():
		return nil, fmt.Errorf("%s, serial %d: %w: its header and content state make hash %s, the answer says %s", snapshot,
			snapshot.Serial(), zoneview.ErrMisfit, snapshot.Hash(), hash)
	}
	return snapshot, nil
}

func expectDelimiter(answer *json.Decoder, want json.Delim) error {
	got, err := answer.Token()
	if errors.Is(err, io.EOF) {
		return io.ErrUnexpectedEOF
	}
	if err == nil && got != want {
		err = fmt.Errorf("the answer has %v where %v belongs", got, want)
	}
	return err
}

// decodeSteps reads the answer of zones/changes. Each step begins at the serial where the one before ends, and the last
// must end at until, otherwise the error is ErrMisfit.
func decodeSteps(body io.Reader, uid string, since, until serial.Serial) ([]content.Step, error) {
	var changes zoneChanges
	if err := json.NewDecoder(body).Decode(&changes); err != nil {
		return nil, err
	}
	// The former Zone of this name was deleted, and the new one has other steps.
	if changes.Metadata.UID != uid {
		return nil, fmt.Errorf("%w: uid %s, not %s", errAnother, changes.Metadata.UID, uid)
	}
	steps, at := make([]content.Step, 0, len(changes.Steps)), since
	for _, listed := range changes.Steps {
		step := content.Step{
			N: listed.ContentGeneration, From: at, Serial: listed.Serial, State: listed.ContentState,
			HeaderBefore: listed.HeaderBefore, HeaderAfter: listed.HeaderAfter,
			Removed: rowsOf(listed.Removed), Added: rowsOf(listed.Added), Trace: listed.Traceparent,
		}
		for _, change := range listed.TTLs {
			step.TTLs = append(step.TTLs, content.TTLChange(change))
		}
		if listed.Time != nil {
			step.Time = listed.Time.Unix()
		}
		at = step.Serial
		steps = append(steps, step)
	}
	if at != until {
		return nil, fmt.Errorf("%w: the answer ends at serial %d", zoneview.ErrMisfit, at)
	}
	return steps, nil
}

func rowsOf(listed []row) []content.Row {
	var rows []content.Row
	for _, one := range listed {
		rows = append(rows, content.Row(one))
	}
	return rows
}
