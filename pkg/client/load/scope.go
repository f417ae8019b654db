// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

package load

import (
	"fmt"

	"k8s.io/apimachinery/pkg/types"

	"kubi.zone/kubizone/api/kubizone/v1alpha1"
	"kubi.zone/kubizone/pkg/dns/name"
	"kubi.zone/kubizone/pkg/dns/rdata"
)

// scope is a Zone and a namespace whose Records the loaded zone files describe completely. A Record there that no file
// has is left over.
type scope struct {
	zone types.NamespacedName
	// readable is true if a file was written into the Zone and the user may read the Zone.
	readable     bool
	wantedRRsets map[rrset]bool
	existing     *existingRecords
	destination  *destination // of the last file

	paths []string
	// doubt says why the files may be incomplete, for example "2 lines of PATH could not be read", or "". With a doubt
	// no Record counts as left over.
	doubt string

	refusedWrites []*recordWrite // to try again with the removals, which may free their names
}

func (s *scope) what() string { return "zone " + s.zone.String() }

func (s *scope) addFile(path string, p *plan, to *destination) {
	s.paths, s.destination = append(s.paths, path), to
	for _, set := range p.sets {
		if fqdn, err := set.owner.In(to.fqdn); err == nil {
			s.wantedRRsets[rrset{fqdn.String(), set.typ}] = true
		}
	}
	switch {
	case p.unread > 0:
		s.doubt = fmt.Sprintf("%d lines of %s could not be read", p.unread, path)
	case len(p.sets) == 0:
		s.doubt = path + " has no record"
	}
}

func (s *scope) listRecords() []*v1alpha1.Record {
	var found []*v1alpha1.Record
	for _, r := range s.existing.byName {
		if isIn(r, s.destination.zone) {
			found = append(found, r)
		}
	}
	return found
}

func (s *scope) hasRecord(r *v1alpha1.Record) bool {
	fqdn, err := name.Parse(r.Status.FQDN)
	if err != nil {
		fqdn, err = name.ParseIn(r.Spec.DomainName, s.destination.fqdn)
	}
	typ, typErr := rdata.ParseType(r.Spec.Type)
	return err != nil || typErr != nil || s.wantedRRsets[rrset{fqdn.String(), typ}]
}

func (l *Loader) zoneScope(zone types.NamespacedName, namespace string) *scope {
	key := zone.String() + " " + namespace
	s := l.scopes[key]
	if s == nil {
		s = &scope{zone: zone, wantedRRsets: make(map[rrset]bool)}
		l.scopes[key] = s
		l.scopeOrder = append(l.scopeOrder, s)
	}
	return s
}
