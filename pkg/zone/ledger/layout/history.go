// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

package layout

import (
	"fmt"
	"strconv"
	"strings"
)

// Account returns the account of a namespace's steps: NAMESPACE, or NAMESPACE@CAUSE for steps caused by another.
func Account(namespace, causedBy string) string {
	if causedBy == "" || causedBy == namespace {
		return namespace
	}
	return namespace + "@" + causedBy
}

func SplitAccount(account string) (namespace, causedBy string) {
	namespace, causedBy, ok := strings.Cut(account, "@")
	if !ok {
		return account, account
	}
	return namespace, causedBy
}

func (k Keys) Archived(zone string) string { return k.Room("archived") + zone + "/" }

func (k Keys) ArchivedFor(zone, account string) string { return k.Archived(zone) + account }

func (k Keys) ArchivedName(namespace, object string) string {
	return k.Archived(RemovedZones) + namespace + "/" + object
}

// ArchivedFQDN returns the key archived/@fqdn/<fqdn> <ns>/<view>, ArchivedFQDNs its prefix for a namespace, or for all.
// No DNS name has a space.
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

// RemovedZones and RemovedFQDNs replace a uid in archived/.
const (
	RemovedZones = "@"
	RemovedFQDNs = "@fqdn"
)

// LeftDelegation returns the key archived/<uid>/@/<place>. No namespace begins with "@".
func (k Keys) LeftDelegation(zone, of string) string { return k.LeftDelegations(zone) + of }

func (k Keys) LeftDelegations(zone string) string { return k.Archived(zone) + LeftDelegations }

// LeftDelegations replaces an account in archived/.
const LeftDelegations = "@/"

// ParseArchived returns the zone and account of a key. The account is "" for the zone's archive itself.
func (k Keys) ParseArchived(key string) (zone, account string, ok bool) {
	rest, ok := strings.CutPrefix(key, k.Room("archived"))
	if !ok {
		return "", "", false
	}
	return strings.Cut(rest, "/")
}

// Before returns the key before/<ns>/<uid>/<step>, BeforeOf its prefix.
func (k Keys) Before(namespace, zone string, n uint64) string {
	return k.BeforeOf(namespace, zone) + fmt.Sprintf("%016x", n)
}

func (k Keys) BeforeOf(namespace, zone string) string {
	return k.Room("before") + namespace + "/" + zone + "/"
}

func (k Keys) ParseBefore(key string) (namespace, zone string, n uint64, ok bool) {
	rest, ok := strings.CutPrefix(key, k.Room("before"))
	parts := strings.Split(rest, "/")
	if !ok || len(parts) != 3 || len(parts[2]) != 16 {
		return "", "", 0, false
	}
	n, err := strconv.ParseUint(parts[2], 16, 64)
	return parts[0], parts[1], n, err == nil
}

// EveryNamespace replaces a namespace in shares/. This Share holds the time of the history's beginning.
const EveryNamespace = "@"

func (k Keys) Share(account string) string { return k.Room("shares") + account }

// SegmentKey is a key of history/. Time is the last step's, in Unix seconds: an account's oldest segments come first.
// Last is the step's number in the archive (Archived.Last).
type SegmentKey struct {
	Account, Zone string
	Time          int64
	Last          uint64
}

func (k Keys) Segment(s SegmentKey) string {
	return k.Segments(s.Account) + fmt.Sprintf("%010x/%s/%016x", max(0, s.Time), s.Zone, s.Last)
}

func (k Keys) Segments(account string) string { return k.Room("history") + account + "/" }

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
