// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

package mistakes

import (
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"kubi.zone/kubizone/pkg/dns/rdata"
)

// authorityFault returns the mistake of a CAA value, by which authorities do not do as its author means.
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

// textFault returns the mistake of a TXT. A policy's own name, such as _dmarc, decides about the form of the text. At
// other names, the text itself shows its purpose.
func textFault(owner, text string) string {
	if strings.IndexAny(text, "“”„") == 0 {
		return `begins with a typographic quote, which is part of the text: write ", or no quote`
	}
	if fault := escapeFault(text); fault != "" {
		return fault
	}
	text = rdata.Unquote(text)
	words := strings.Fields(text)
	if len(words) == 0 {
		return ""
	}
	first, last := strings.ToLower(words[0]), strings.ToLower(words[len(words)-1])
	tags := listTags(text)
	if i := slices.IndexFunc(policies, func(p policy) bool { return p.isOwner(owner) }); i >= 0 {
		return policies[i].findFault(text, tags)
	}
	switch {
	case rdata.IsSPF(text):
		return senderFault(owner, words[1:])
	// The version lost a part, as in "spf1 mx -all" or "mx -all".
	case first == "spf1", !strings.HasPrefix(first, "spf2.0") && slices.Contains(spfEnds, last):
		return `reads as an SPF policy, and receivers ignore it: begin it with "v=spf1 " (RFC 7208 §4.5)`
	case rdata.IsDMARC(text) && !hasLabel(owner, "_dmarc", "dmarc"):
		return "is a DMARC policy, and receivers ask for it only at names that begin with _dmarc: write it there (RFC 7489 §6.1)"
	case isKey(owner, tags):
		return keyFault(owner, tags)
	}
	return ""
}

// escapeFault returns the fault of a policy as zone files and octoDNS write it, "v=DMARC1\; p=none". Unquoted text
// has no escapes (S5.3).
func escapeFault(text string) string {
	before, _, found := strings.Cut(text, `\;`)
	if !found || strings.HasPrefix(text, `"`) || !strings.Contains(before, "=") {
		return ""
	}
	return fmt.Sprintf(`has \; as a zone file, and unquoted text keeps the backslash, so receivers read %.40q and ignore the policy: `+
		`write ; alone`, before+`\`)
}

type tag struct{ key, value string }

// listTags splits a policy such as "v=DMARC1; p=none". Keys are in lower case, values as written.
func listTags(text string) (tags []tag) {
	for part := range strings.SplitSeq(text, ";") {
		key, value, found := strings.Cut(part, "=")
		if found {
			tags = append(tags, tag{strings.ToLower(strings.TrimSpace(key)), strings.TrimSpace(value)})
		}
	}
	return tags
}

func valueOf(tags []tag, key string) (value string, found bool) {
	i := slices.IndexFunc(tags, func(t tag) bool { return t.key == key })
	if i < 0 {
		return "", false
	}
	return tags[i].value, true
}

// policy describes the texts that receivers of mail read at names with a label.
type policy struct {
	what, labels, version, rfc string
	// required is the tag of each valid text. Receivers ignore a text without the tag.
	required string
	// means has the right values of a tag as a text. matches is a pattern of them, in lower case.
	values map[string]tagValues
}

type tagValues struct {
	matches *regexp.Regexp
	means   string
}

func matching(pattern, means string) tagValues {
	return tagValues{regexp.MustCompile("^(" + pattern + ")$"), means}
}

var (
	handling  = matching("none|quarantine|reject", "none, quarantine or reject")
	alignment = matching("r|s", "r or s")
	// A URI may have a maximum size, as in mailto:a@example.org!10m.
	reportURIs = matching(`[a-z][a-z0-9+.-]*:[^ ,]+(\s*,\s*[a-z][a-z0-9+.-]*:[^ ,]+)*`, "URIs, as mailto:ADDRESS")
)

var policies = []policy{
	{"a DMARC policy", "_dmarc.", "DMARC1", "RFC 7489 §6.3", "p", map[string]tagValues{
		"p": handling, "sp": handling, "np": handling, "adkim": alignment, "aspf": alignment, "rua": reportURIs, "ruf": reportURIs,
		"pct": matching("[0-9]{1,2}|100", "0 to 100"), "fo": matching("[01ds](:[01ds])*", "0, 1, d or s"),
		"ri": matching("[0-9]{1,10}", "seconds"),
	}},
	{"an MTA-STS policy", "_mta-sts.", "STSv1", "RFC 8461 §3.1", "id", map[string]tagValues{
		"id": matching("[a-z0-9]{1,32}", "letters and digits, at most 32"),
	}},
	{"a TLS reporting policy", "_smtp._tls.", "TLSRPTv1", "RFC 8460 §3", "rua", map[string]tagValues{
		"rua": matching(`(mailto|https):[^ ,]+(\s*,\s*(mailto|https):[^ ,]+)*`, "mailto: or https: URIs"),
	}},
}

func (p *policy) isOwner(owner string) bool {
	return strings.HasPrefix(strings.ToLower(owner)+".", p.labels)
}

// findFault returns the mistake of a text at the policy's owner. Versions are case-sensitive, and tags may have any
// order behind the version.
func (p *policy) findFault(text string, tags []tag) string {
	if len(tags) == 0 || tags[0] != (tag{"v", p.version}) {
		return fmt.Sprintf(`does not begin with "v=%s;", and receivers ignore it as %s: begin it so (%s)`, p.version, p.what, p.rfc)
	}
	for part := range strings.SplitSeq(text, ";") { // as in rua=mailto:a@example.org; mailto:b@example.org
		if part = strings.TrimSpace(part); part != "" && !strings.Contains(part, "=") {
			return fmt.Sprintf("has %.40q, which is no TAG=VALUE, and receivers ignore it or all of the policy: remove it, or "+
				"separate URIs by a comma (%s)", part, p.rfc)
		}
	}
	// Each tag once, and with a value from the policy's RFC.
	written := map[string]bool{}
	for _, t := range tags {
		if written[t.key] {
			return fmt.Sprintf("has %.40s twice, and receivers ignore one or all of the policy: write it once, and separate URIs "+
				"by a comma (%s)", t.key, p.rfc)
		}
		written[t.key] = true
		if values, known := p.values[t.key]; known && !values.matches.MatchString(strings.ToLower(t.value)) {
			return fmt.Sprintf("has %s=%.40s, and receivers ignore the tag or all of the policy: %s is %s (%s)", t.key, t.value, t.key,
				values.means, p.rfc)
		}
	}
	if _, found := valueOf(tags, p.required); !found {
		return fmt.Sprintf(`has no %s, and receivers ignore it: write %s=, %s, behind "v=%s;" (%s)`, p.required, p.required,
			p.values[p.required].means, p.version, p.rfc)
	}
	return ""
}

// isDMARCOwner is false for NAME._report._dmarc, which only permits reports.
func isDMARCOwner(owner string) bool { return policies[0].isOwner(owner) }

// hasLabel reports whether owner is below any of the labels. A provider keeps policies of customers there, whose CNAMEs
// point to them.
func hasLabel(owner string, labels ...string) bool {
	all := strings.Split(strings.ToLower(owner), ".")
	return slices.ContainsFunc(all[1:], func(label string) bool { return slices.Contains(labels, label) })
}

// associationFault returns the unassigned number in a TLSA or SMIMEA (RFC 6698 §7, RFC 8162 §2). 255 is for private
// use.
func associationFault(_, text string) string {
	fields := strings.Fields(text)
	for i, number := range []struct {
		name string
		last uint64
	}{{"usage", 3}, {"selector", 1}, {"matching type", 2}} {
		if i >= len(fields) {
			return ""
		}
		if n, err := strconv.ParseUint(fields[i], 10, 8); err == nil && n > number.last && n != 255 {
			return fmt.Sprintf("has the %s %d, which is not assigned, so clients ignore it: write 0 to %d (RFC 6698 §7)", number.name, n,
				number.last)
		}
	}
	return ""
}

// protocolFault returns the unknown protocol in an HTTPS, as h22 in "1 . alpn=h22". An SVCB may name any protocol.
func protocolFault(_, text string) string {
	for field := range strings.FieldsSeq(text) {
		list, isALPN := strings.CutPrefix(strings.ToLower(field), "alpn=")
		if !isALPN {
			continue
		}
		for id := range strings.SplitSeq(strings.Trim(list, `"`), ",") {
			if !httpProtocols.MatchString(id) {
				return fmt.Sprintf("has the protocol %.40s in alpn, which no client of HTTPS knows: write h2, h3 or http/1.1 (RFC 9460 "+
					"§7.1)", id)
			}
		}
	}
	return ""
}

// httpProtocols has IANA's identifiers of HTTP over TLS, and drafts such as h3-29.
var httpProtocols = regexp.MustCompile(`^(http/1\.[01]|h2|h3|h3-[0-9]+|h3-q[0-9]+)$`)
