// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

package mistakes

import (
	"encoding/base64"
	"fmt"
	"slices"
	"strings"

	"kubi.zone/kubizone/pkg/dns/rdata"
)

// maxLookups is the maximum number of a receiver's queries for an SPF policy (RFC 7208 §4.6.4).
const maxLookups = 10

func authorityFault(_, text string) string {
	fields := strings.Fields(text)
	if len(fields) < 2 {
		return ""
	}
	tag, value := strings.ToLower(fields[1]), strings.ToLower(strings.Trim(strings.Join(fields[2:], " "), `"`))
	domain, _, _ := strings.Cut(value, ";")
	switch {
	case !slices.Contains(caaTags, tag):
		return fmt.Sprintf("has the tag %s, which no certification authority knows: the tags are %s", fields[1],
			strings.Join(caaTags, ", "))
	case fields[0] != "0" && fields[0] != "128":
		return fmt.Sprintf("has the flags %s, of which only 128 has a meaning, critical (RFC 8659 §4.1): write 0 or 128", fields[0])
	case strings.HasPrefix(tag, "issue") && strings.Contains(domain, "://"):
		return "names a URL, and authorities look for their domain: write the domain alone"
	case tag == "iodef" && !slices.ContainsFunc(reportSchemes, func(s string) bool { return strings.HasPrefix(value, s) }):
		return `names no URL, and authorities report to one (RFC 8659 §4.4): write mailto: before an address`
	}
	return ""
}

var reportSchemes = []string{"mailto:", "http:", "https:"}

// caaTags is IANA's registry.
var caaTags = []string{"issue", "issuewild", "iodef", "issuemail", "issuevmc", "contactemail", "contactphone"}

func textFault(owner, text string) string {
	if strings.HasPrefix(text, "“") || strings.HasPrefix(text, "”") || strings.HasPrefix(text, "„") {
		return `begins with a typographic quote, which is part of the text: write ", or no quote`
	}
	text = strings.ToLower(rdata.Unquote(text))
	words := strings.Fields(text)
	switch {
	case len(words) == 0:
		return ""
	case rdata.IsSPF(text):
		return senderFault(words[1:])
	case words[0] == "spf1", !strings.HasPrefix(words[0], "spf2.0") && slices.Contains(spfEnds, words[len(words)-1]):
		return `reads as an SPF policy, and receivers ignore it: begin it with "v=spf1 " (RFC 7208 §4.5)`
	case rdata.IsDMARC(text):
		return reportFault(owner, text)
	case strings.HasPrefix(strings.ReplaceAll(text, " ", ""), "v=dkim1;"):
		return keyFault(owner, text)
	}
	return ""
}

var spfEnds = []string{"-all", "~all", "?all", "+all"}

func senderFault(terms []string) string {
	lookups := 0
	for _, term := range terms {
		term, qualified := strings.CutPrefix(term, "+")
		if term == "all" {
			if qualified {
				term = "+all"
			}
			return fmt.Sprintf("lets every host send mail of the domain (%s): end it with -all or ~all", term)
		}
		mechanism := strings.TrimLeft(term, "-~?")
		if end := strings.IndexAny(mechanism, ":=/"); end >= 0 {
			mechanism = mechanism[:end]
		}
		if slices.Contains(spfLookups, mechanism) {
			lookups++
		}
	}
	if lookups > maxLookups {
		return fmt.Sprintf("needs %d queries or more, and receivers reject it after %d (RFC 7208 §4.6.4): name fewer domains", lookups,
			maxLookups)
	}
	return ""
}

// spfLookups contains the terms of SPF that make a receiver query.
var spfLookups = []string{"include", "a", "mx", "ptr", "exists", "redirect"}

// isDMARCOwner is false for NAME._report._dmarc, which only permits reports.
func isDMARCOwner(owner string) bool {
	first, _, _ := strings.Cut(strings.ToLower(owner), ".")
	return first == "_dmarc"
}

// hasLabel reports whether owner is below any of the labels. A provider keeps policies of customers there, whose CNAMEs
// point to them.
func hasLabel(owner string, labels ...string) bool {
	all := strings.Split(strings.ToLower(owner), ".")
	return slices.ContainsFunc(all[1:], func(label string) bool { return slices.Contains(labels, label) })
}

func reportFault(owner, text string) string {
	switch {
	case isDMARCOwner(owner):
	case hasLabel(owner, "_dmarc", "dmarc"):
		return ""
	default:
		return "is a DMARC policy, and receivers ask for it only at names that begin with _dmarc: write it there (RFC 7489 §6.1)"
	}
	for tag := range strings.SplitSeq(text, ";") {
		key, value, _ := strings.Cut(tag, "=")
		if strings.TrimSpace(key) != "p" {
			continue
		}
		if value = strings.TrimSpace(value); slices.Contains(dmarcPolicies, value) {
			return ""
		}
		return fmt.Sprintf("has p=%.40s, and receivers ignore it: p is %s (RFC 7489 §6.3)", value, strings.Join(dmarcPolicies, ", "))
	}
	return `has no p, and receivers ignore it: write p=none, p=quarantine or p=reject behind "v=DMARC1;" (RFC 7489 §6.3)`
}

var dmarcPolicies = []string{"none", "quarantine", "reject"}

func keyFault(owner, text string) string {
	first, _, _ := strings.Cut(strings.ToLower(owner), ".")
	if first != "*" && !hasLabel(owner, "_domainkey", "domainkey", "dkim") {
		return "is a DKIM key, and receivers ask for it only below _domainkey: write it at SELECTOR._domainkey (RFC 6376 §3.6.2.1)"
	}
	for tag := range strings.SplitSeq(text, ";") {
		key, value, _ := strings.Cut(tag, "=")
		if strings.TrimSpace(key) != "p" {
			continue
		}
		value = strings.TrimRight(strings.Join(strings.Fields(value), ""), "=")
		if _, err := base64.RawStdEncoding.DecodeString(value); err != nil {
			return "has a p that is no base64, so receivers cannot read the key: copy it whole, without other characters (RFC 6376 §3.6.1)"
		}
	}
	return ""
}
