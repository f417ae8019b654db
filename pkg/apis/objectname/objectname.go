// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

package objectname

import (
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"regexp"
	"slices"
	"strings"

	"kubi.zone/kubizone/pkg/dns/name"
	"kubi.zone/kubizone/pkg/dns/rdata"
)

const (
	maxObjectName = 253
	digestLength  = 10
)

var (
	plainLabel = regexp.MustCompile(`^[a-z0-9]([-a-z0-9]*[a-z0-9])?$`)
	digested   = regexp.MustCompile(`--[0-9a-f]{10}$`)
	notAllowed = regexp.MustCompile(`[^-a-z0-9]+`)
)

// OfZone returns two names for a Zone object: the readable "example.org" or "root" and, if that is taken, a name with a
// digest of name and view.
func OfZone(fqdn name.Name, view string) [2]string {
	readable, unambiguous := joinLabels(fqdn.Labels(), "root")
	id := view + "|" + fqdn.String()
	long := cutToFit(readable, "--"+digest(id))
	if !unambiguous || readable == "root" && fqdn != name.Root || len(readable) > maxObjectName {
		return [2]string{long, long}
	}
	return [2]string{readable, long}
}

// OfRecord returns two names for a Record object: "www-a.example.org" and, if that is taken, a name with a digest. If
// the first is too long, or may belong to another RRset, both names are the second.
func OfRecord(owner name.Rel, rrtype rdata.Type, zone string) [2]string {
	kind := strings.ToLower(rrtype.String())
	labels := owner.Labels()
	readable, unambiguous := joinLabels(labels, "apex")
	if n := len(labels); n > 0 {
		// Otherwise another RRset could have the same readable name.
		isShared := readable == "apex" || strings.Contains(kind, "-") || slices.ContainsFunc(labels[:n-1], endsInType)
		unambiguous = unambiguous && !isShared
	}
	suffix := "-" + kind + "." + zone
	long := suffix
	if len(long) > maxObjectName/2 {
		long = "-" + kind + "." + digest(zone)
	}
	long = cutToFit(readable, "--"+digest(owner.String()+"|"+rrtype.String()+"|"+zone)+long)
	if !unambiguous || len(readable)+len(suffix) > maxObjectName {
		return [2]string{long, long}
	}
	return [2]string{readable + suffix, long}
}

// updatePrefix distinguishes Records made by updates (RFC 2136) from imported Records.
const updatePrefix = "dyn--"

func OfUpdate(owner name.Rel, t rdata.Type, zone string) string {
	return ofOther(updatePrefix, owner, t, zone)
}

const externalPrefix = "ext--"

// OfExternal returns the name of the Record for an RRset and an owner of external-dns. The name fqdn is relative to the
// root.
func OfExternal(fqdn name.Rel, t rdata.Type, owner string) string {
	return ofOther(externalPrefix, fqdn, t, owner)
}

func ofOther(prefix string, owner name.Rel, t rdata.Type, zone string) string {
	text := prefix + OfRecord(owner, t, zone)[0]
	if len(text) > maxObjectName {
		return cutToFit(text, "--"+digest(owner.String()+"|"+t.String()+"|"+zone))
	}
	return text
}

func joinLabels(labels []string, none string) (text string, exact bool) {
	if len(labels) == 0 {
		return none, true
	}
	exact = true
	var words []string
	for _, label := range labels {
		exact = exact && plainLabel.MatchString(label) && !digested.MatchString(label)
		if word := wordOf(label); word != "" {
			words = append(words, word)
		}
	}
	return cmp.Or(strings.Join(words, "."), "record"), exact
}

// wordOf returns a label as a part of an object's name, or "" if it has no letter or digit.
func wordOf(label string) string {
	if label == "*" {
		return "wildcard"
	}
	return strings.Trim(notAllowed.ReplaceAllString(label, "-"), "-")
}

func cutToFit(text, suffix string) string {
	if longest := maxObjectName - len(suffix); longest < len(text) {
		text = text[:longest]
	}
	return strings.TrimRight(text, "-.") + suffix
}

func digest(id string) string {
	sum := sha256.Sum256([]byte(id))
	return hex.EncodeToString(sum[:])[:digestLength]
}

func endsInType(label string) bool {
	i := strings.LastIndexByte(label, '-')
	_, err := rdata.ParseType(label[i+1:])
	return i >= 0 && err == nil
}
