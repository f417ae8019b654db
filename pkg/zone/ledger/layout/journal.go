// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

package layout

import (
	"bytes"
	"encoding/json"
	"fmt"

	"kubi.zone/kubizone/pkg/zone/law/content"
)

// MaxSteps bounds the steps in a journal value, and the writes in a batch.
const MaxSteps = 64

// JournalValue builds the encoding of a content.Transaction without a Zone.
type JournalValue struct {
	buf     bytes.Buffer
	encoder *json.Encoder
	Steps   []content.Step
}

// Add appends a step and returns its octets. If they exceed the limit, Add returns false and appends nothing.
func (j *JournalValue) Add(step *content.Step, limit int) (octets int, ok bool) {
	if j.encoder == nil {
		j.encoder = json.NewEncoder(&j.buf)
		j.encoder.SetEscapeHTML(false)
		j.buf.WriteString(`{"s":[`)
	}
	before := j.buf.Len()
	if len(j.Steps) > 0 {
		j.buf.WriteByte(',')
	}
	if err := j.encoder.Encode(step); err != nil {
		panic(fmt.Sprintf("encoding %T: %v", step, err))
	}
	// The encoder has appended a newline.
	j.buf.Truncate(j.buf.Len() - 1)
	// The buffer keeps earlier steps as they are, so a batch can be closed without this step.
	if octets = j.buf.Len() - before; octets > limit {
		j.buf.Truncate(before)
		return octets, false
	}
	j.Steps = append(j.Steps, *step)
	return octets, true
}

func (j *JournalValue) LastStep() uint64 { return j.Steps[len(j.Steps)-1].N }

// Value returns the encoding. No step can be added afterwards.
func (j *JournalValue) Value(settled bool) []byte {
	j.buf.WriteByte(']')
	if settled {
		j.buf.WriteString(`,"ok":true`)
	}
	j.buf.WriteByte('}')
	return j.buf.Bytes()
}
