// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

package update

import (
	"slices"

	"kubi.zone/kubizone/pkg/dns/name"
	"kubi.zone/kubizone/pkg/dns/rdata"
)

// Prerequisite is a condition of a DNS UPDATE message: an RRset or a name must exist, or must not (RFC 2136 §2.4). If a
// prerequisite is not met, the message changes nothing.
type Prerequisite struct {
	Name name.Name
	// Type ANY means any RRset at the name.
	Type rdata.Type
	// Exists is false if the RRset must be absent.
	Exists bool
	// Values are all values that the RRset must have, such as "192.0.2.1". Nil allows any.
	Values []string
}

// ListPrerequisites returns the prerequisites of a checked message in order of evaluation (RFC 2136 §3.2.5).
func (m *Message) ListPrerequisites() []Prerequisite {
	var withoutValues, withValues []Prerequisite
	position := map[setKey]int{}
	for _, rr := range m.Prerequisites {
		// RFC 2136 §3.2.5 evaluates prerequisites with values last, since the RRset has to be complete.
		if rr.Class != ClassIN {
			withoutValues = append(withoutValues, Prerequisite{Name: rr.Name, Type: rr.Type, Exists: rr.Class == ClassANY})
			continue
		}
		// All values of an RRset form a single prerequisite.
		index, known := position[setKey{rr.Name, rr.Type}]
		if !known {
			index = len(withValues)
			position[setKey{rr.Name, rr.Type}] = index
			withValues = append(withValues, Prerequisite{Name: rr.Name, Type: rr.Type, Exists: true})
		}
		if !slices.Contains(withValues[index].Values, rr.Data) {
			withValues[index].Values = append(withValues[index].Values, rr.Data)
		}
	}
	return append(withoutValues, withValues...)
}
