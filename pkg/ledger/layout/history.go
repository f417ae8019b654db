// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

package layout

import (
	"fmt"
	"strconv"
	"strings"
)

// Account returns the payer's name in history/, shares/ and archived/ for a namespace's steps: the namespace, or
// NAMESPACE@PAYER for steps caused by another namespace.
func Account(namespace, causedBy string) string {
	if causedBy == "" || causedBy == namespace {
		return namespace
	}
	return namespace + "@" + causedBy
}

// CutAccount returns the namespace of an account's steps, and the namespace that pays.
func CutAccount(account string) (namespace, payer string) {
	namespace, payer, ok := strings.Cut(account, "@")
	if !ok {
		return account, account
	}
	return namespace, payer
}

// Archived returns the key of a zone's archive, and ArchivedFor that of an account with segments of the zone.
func (k Keys) Archived(zone string) string { return k.Room("archived") + zone + "/" }

func (k Keys) ArchivedFor(zone, account string) string { return k.Archived(zone) + account }

// ArchivedName returns the key of the last removed zone of an object's name.
func (k Keys) ArchivedName(namespace, object string) string {
	return k.Archived(RemovedZones) + namespace + "/" + object
}

// ArchivedFQDN returns the key of the zone of a DNS name and view that was last removed in a namespace, ArchivedFQDNs
// the prefix for all namespaces, or for a namespace. No DNS name has a space.
func (k Keys) ArchivedFQDN(fqdn, namespace, view string) string {
	return k.ArchivedFQDNs(fqdn, namespace) + view
}

func (k Keys) ArchivedFQDNs(fqdn, namespace string) string {
	prefix := k.Archived(RemovedFQDNs) + fqdn + " "
	if namespace != "" {
		prefix += namespace + "/"
	}
	return prefix
}

// RemovedZones and RemovedFQDNs are in the place of a uid in archived/.
const (
	RemovedZones = "@"
	RemovedFQDNs = "@fqdn"
)

// LeftDelegation returns the key of a Delegation that a zone has no more. A namespace's name does not begin so.
func (k Keys) LeftDelegation(zone, of string) string { return k.LeftDelegations(zone) + of }

func (k Keys) LeftDelegations(zone string) string { return k.Archived(zone) + LeftDelegations }

// LeftDelegations begins the place of a namespace in archived/.
const LeftDelegations = "@/"

// ParseArchived returns zone and account of a key of archived/. The account is "" for the zone's archive.
func (k Keys) ParseArchived(key string) (zone, account string, ok bool) {
	rest, ok := strings.CutPrefix(key, k.Room("archived"))
	if !ok {
		return "", "", false
	}
	return strings.Cut(rest, "/")
}

// Before returns the key of the Records before the steps up to n, and BeforeOf the prefix of a namespace's keys in a
// zone.
func (k Keys) Before(namespace, zone string, n uint64) string {
	return k.BeforeOf(namespace, zone) + fmt.Sprintf("%016x", n)
}

func (k Keys) BeforeOf(namespace, zone string) string {
	return k.Room("before") + namespace + "/" + zone + "/"
}

// ParseBefore returns namespace, zone and step of a key of before/.
func (k Keys) ParseBefore(key string) (namespace, zone string, n uint64, ok bool) {
	rest, ok := strings.CutPrefix(key, k.Room("before"))
	parts := strings.Split(rest, "/")
	if !ok || len(parts) != 3 || len(parts[2]) != 16 {
		return "", "", 0, false
	}
	n, err := strconv.ParseUint(parts[2], 16, 64)
	return parts[0], parts[1], n, err == nil
}

// EveryNamespace is in the place of a namespace's name in shares/: its Share has the time at which the history began.
const EveryNamespace = "@"

// Share returns the key of an account's share of the history.
func (k Keys) Share(account string) string { return k.Room("shares") + account }

// SegmentKey is a key of history/. Time is that of the last step, in Unix seconds, so that the oldest segments of an
// account come first. Last is the number of that step in the zone's archive, which goes on when the zone comes back.
type SegmentKey struct {
	Account, Zone string
	Time          int64
	Last          uint64
}

// Segment returns a key of history/.
func (k Keys) Segment(s SegmentKey) string {
	return k.Segments(s.Account) + fmt.Sprintf("%010x/%s/%016x", max(0, s.Time), s.Zone, s.Last)
}

// Segments returns the prefix of an account's segments.
func (k Keys) Segments(account string) string { return k.Room("history") + account + "/" }

// ParseSegment parses a key of history/.
func (k Keys) ParseSegment(key string) (s SegmentKey, ok bool) {
	rest, ok := strings.CutPrefix(key, k.Room("history"))
	parts := strings.Split(rest, "/")
	if !ok || len(parts) != 4 || len(parts[1]) != 10 || len(parts[3]) != 16 {
		return s, false
	}
	at, err := strconv.ParseInt(parts[1], 16, 64)
	last, err2 := strconv.ParseUint(parts[3], 16, 64)
	return SegmentKey{parts[0], parts[2], at, last}, err == nil && err2 == nil
}
