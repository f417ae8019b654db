// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

package rules

import (
	"fmt"
	"slices"

	"kubi.zone/kubizone/pkg/apis/pattern"
	"kubi.zone/kubizone/pkg/dns/name"
	"kubi.zone/kubizone/pkg/dns/rdata"
)

type ScopeRecords struct {
	Pattern string
	Types   []string
}

// Scope contains the names and types that a key may write if a zone's rules allow them too.
type Scope []scopeEntry

type scopeEntry struct {
	pattern pattern.Pattern
	types   []rdata.Type
}

// NewScope parses the patterns and types of an UpdateKey's spec.records. An entry without types allows each type that
// needs no mention by name. The error names the field.
func NewScope(records []ScopeRecords) (Scope, error) {
	var scope Scope
	for i, r := range records {
		p, err := pattern.Parse(r.Pattern)
		if err != nil {
			return nil, fmt.Errorf("spec.records[%d].pattern: %w", i, err)
		}
		of := scopeEntry{pattern: p}
		for j, text := range r.Types {
			t, err := rdata.ParseType(text)
			if err != nil {
				return nil, fmt.Errorf("spec.records[%d].types[%d]: %w", i, j, err)
			}
			of.types = append(of.types, t)
		}
		scope = append(scope, of)
	}
	return scope, nil
}

func (s Scope) CoversName(fqdn name.Name) bool {
	return slices.ContainsFunc(s, func(of scopeEntry) bool { return of.pattern.Match(fqdn, name.Root) })
}

func (s Scope) Covers(fqdn name.Name, t rdata.Type) bool {
	return slices.ContainsFunc(s, func(of scopeEntry) bool {
		named := slices.Contains(of.types, t) || len(of.types) == 0 && !MustName(t, false)
		return named && of.pattern.Match(fqdn, name.Root)
	})
}

func (s Scope) Reaches(zone name.Name) bool {
	return slices.ContainsFunc(s, func(of scopeEntry) bool { return of.pattern.CanMatch(zone) })
}
