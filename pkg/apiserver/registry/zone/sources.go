// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

package zone

import (
	"context"

	"kubi.zone/kubizone/api/kubizone/v1alpha1"
	"kubi.zone/kubizone/pkg/dns"
	"kubi.zone/kubizone/pkg/dns/name"
	"kubi.zone/kubizone/pkg/dns/rdata"
)

type recordSources struct {
	ctx     context.Context
	sources Sources
	zone    *v1alpha1.Zone
	apex    name.Name

	owner name.Name
	refs  map[value][]v1alpha1.RecordReference
}

type value struct {
	rrtype rdata.Type
	data   string
}

// sourcesOf returns the Records that define an entry. Entries come in canonical order, so the Records of a name are
// read once. On a nil receiver it returns none: the client asked for no sources.
func (o *recordSources) sourcesOf(entry dns.Entry) ([]v1alpha1.RecordReference, error) {
	if o == nil {
		return nil, nil
	}
	if entry.Name != o.owner {
		records, err := o.sources.RecordsAt(o.ctx, o.zone, entry.Name)
		if err != nil {
			return nil, err
		}
		o.owner, o.refs = entry.Name, map[value][]v1alpha1.RecordReference{}
		for _, record := range records {
			o.addRecord(record)
		}
	}
	return o.refs[value{entry.Type, entry.Data}], nil
}

// addRecord adds a Record's values to refs. A stored value that no longer parses is left out, because the zone has no
// entry of it.
func (o *recordSources) addRecord(record *v1alpha1.Record) {
	rrtype, err := rdata.ParseType(record.Spec.Type)
	if err != nil {
		return
	}
	texts := record.Spec.Values
	if record.Spec.RData != "" {
		texts = []string{record.Spec.RData}
	}
	ref := v1alpha1.RecordReference{Namespace: record.Namespace, Name: record.Name}
	seen := map[value]bool{}
	for _, text := range texts {
		parsed, err := rdata.ParseStored(rrtype, text)
		if err != nil {
			continue
		}
		data, err := parsed.Resolve(o.apex)
		if err != nil {
			continue
		}
		// "mail" and "mail.example.org." resolve to the same entry, and name the Record once.
		if key := (value{rrtype, data}); !seen[key] {
			seen[key] = true
			o.refs[key] = append(o.refs[key], ref)
		}
	}
}
