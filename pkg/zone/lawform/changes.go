// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

package lawform

import (
	"errors"
	"fmt"

	"kubi.zone/kubizone/api/kubizone/v1alpha1"
	"kubi.zone/kubizone/pkg/dns"
	"kubi.zone/kubizone/pkg/dns/name"
	"kubi.zone/kubizone/pkg/dns/rdata"
	"kubi.zone/kubizone/pkg/dns/serial"
)

// Changes returns the changes of zones/changes as package dns has them, or the first entry that does not parse.
func Changes(listed []v1alpha1.ZoneChange) ([]dns.Change, error) {
	changes := make([]dns.Change, len(listed))
	for i, of := range listed {
		removed, errRemoved := readEntries(of.Removed)
		added, errAdded := readEntries(of.Added)
		if err := errors.Join(errRemoved, errAdded); err != nil {
			return nil, err
		}
		changes[i] = dns.Change{From: serial.Serial(of.From), To: serial.Serial(of.To), Removed: removed, Added: added}
	}
	return changes, nil
}

// readEntries returns entries as package dns has them. The error names the RRset.
func readEntries(listed []v1alpha1.Entry) ([]dns.Entry, error) {
	entries := make([]dns.Entry, len(listed))
	for i, one := range listed {
		owner, errName := name.Parse(one.FQDN)
		of, errType := rdata.ParseType(one.Type)
		if err := errors.Join(errName, errType); err != nil {
			return nil, fmt.Errorf("RRset \"%s %s\": %w", one.FQDN, one.Type, err)
		}
		entries[i] = dns.Entry{Name: owner, Type: of, TTL: uint32(one.TTL), Data: one.RData}
	}
	return entries, nil
}
