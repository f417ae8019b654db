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

// scope is what the zone files of one run describe completely: a Zone and a namespace. A Record that the same field
// manager made there before, and no file has, is left over.
type scope struct {
	zone types.NamespacedName
	// readable: a file was put into the Zone, and this user may read it.
	readable bool
	wanted   map[rrset]bool
	// existing are the Records before the last file was put.
	existing *existingRecords
	// to is where the files go; nil before the first one.
	to *destination

	// paths are the files.
	paths []string
	// doubt is why the files are not complete; then nothing is left over.
	doubt string

	// refused are the writes that may succeed when left-over Records are removed.
	refused []*recordWrite
}

// what the report calls the scope.
func (s *scope) what() string { return "zone " + s.zone.String() }

// addFile adds the RRsets of a file.
func (s *scope) addFile(path string, p *plan, to *destination) {
	s.paths, s.to = append(s.paths, path), to
	for _, set := range p.sets {
		if fqdn, err := set.owner.In(to.fqdn); err == nil {
			s.wanted[rrset{fqdn.String(), set.typ}] = true
		}
	}
	switch {
	case p.unread > 0:
		s.doubt = fmt.Sprintf("%d lines of %s could not be read", p.unread, path)
	case len(p.sets) == 0:
		s.doubt = path + " has no record"
	}
}

// listRecords lists the Records that were in the Zone before the last file was put.
func (s *scope) listRecords() []*v1alpha1.Record {
	var found []*v1alpha1.Record
	for _, r := range s.existing.byName {
		if isIn(r, s.to.zone) {
			found = append(found, r)
		}
	}
	return found
}

// hasRecord reports whether a file has the RRset of a Record.
func (s *scope) hasRecord(r *v1alpha1.Record) bool {
	fqdn, err := name.Parse(r.Status.FQDN)
	if err != nil {
		fqdn, err = name.ParseIn(r.Spec.DomainName, s.to.fqdn)
	}
	typ, typErr := rdata.ParseType(r.Spec.Type)
	return err != nil || typErr != nil || s.wanted[rrset{fqdn.String(), typ}]
}
